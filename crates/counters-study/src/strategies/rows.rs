//! One row of counters per thread, which only that thread writes; a read sums the rows. A thread that ends adds its row
//! to the totals.

use super::counting::{Counting, Plan};
use crate::workload::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tare_counters::{CounterSet, cpus};

type Row = Arc<[AtomicU64]>;

pub(crate) struct ThreadRow {
    counters: usize,
    books: Mutex<Books>,
}

struct Books {
    totals: Vec<u64>,
    live: Vec<Row>,
}

impl ThreadRow {
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counting for ThreadRow {
    type Cell = ();
    type Local = Row;

    fn planned_bytes_per_counter(plan: &Plan) -> u64 {
        ((plan.threads as u64).saturating_add(1)).saturating_mul(size_of::<u64>() as u64)
    }

    fn new(plan: &Plan) -> Result<Self, Error> {
        let books = Books { totals: vec![0; plan.counters], live: Vec::new() };
        Ok(Self { counters: plan.counters, books: Mutex::new(books) })
    }

    fn cell(&self) {}

    fn enter(&self, _: usize) -> Row {
        let row: Row = (0..self.counters).map(|_| AtomicU64::new(0)).collect();
        self.books().live.push(Arc::clone(&row));
        row
    }

    #[inline]
    fn increment(&self, row: &mut Row, (): &(), counter: usize) {
        // There is only one writer, so a load and a store lose nothing.
        let value = &row[counter];
        value.store(value.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    fn leave(&self, row: Row) {
        let mut books = self.books();
        books.live.retain(|live| !Arc::ptr_eq(live, &row));
        books.totals.iter_mut().zip(row.iter()).for_each(|(total, part)| *total += part.load(Ordering::Relaxed));
    }

    fn sum(&self, (): &(), counter: usize) -> u64 {
        let books = self.books();
        books.totals[counter] + books.live.iter().map(|row| row[counter].load(Ordering::Relaxed)).sum::<u64>()
    }

    fn stored(&self, (): &(), counter: usize, each: &mut dyn FnMut(usize, usize)) {
        let books = self.books();
        books.live.iter().for_each(|row| each(std::ptr::from_ref(&row[counter]).addr(), size_of::<u64>()));
    }
}

pub(crate) struct Own(CounterSet);

impl Counting for Own {
    type Cell = ();
    type Local = ();

    fn planned_bytes_per_counter(_: &Plan) -> u64 {
        (cpus::possible() * size_of::<u64>()) as u64
    }

    fn new(plan: &Plan) -> Result<Self, Error> {
        Ok(Self(CounterSet::new(plan.counters)?))
    }

    fn cell(&self) {}

    fn enter(&self, _: usize) {}

    #[inline]
    fn increment(&self, (): &mut (), (): &(), counter: usize) {
        self.0.increment(counter);
    }

    fn sum(&self, (): &(), counter: usize) -> u64 {
        self.0.sum(counter)
    }

    fn stored(&self, (): &(), counter: usize, each: &mut dyn FnMut(usize, usize)) {
        self.0.addresses(counter).for_each(|address| each(address, size_of::<u64>()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_live_rows_and_folded_ones_once_each() {
        let rows = ThreadRow::new(&Plan { counters: 2, threads: 2, seed: 0 }).unwrap();
        let [mut one, mut two] = [rows.enter(0), rows.enter(1)];
        rows.increment(&mut one, &(), 1);
        rows.increment(&mut two, &(), 1);
        assert_eq!((rows.sum(&(), 0), rows.sum(&(), 1)), (0, 2));
        rows.leave(one);
        rows.increment(&mut two, &(), 1);
        assert_eq!(rows.sum(&(), 1), 3);
        rows.leave(two);
        assert_eq!(rows.sum(&(), 1), 3);
    }
}
