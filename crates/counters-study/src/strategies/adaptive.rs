//! Stripes that multiply under contention, after Java's `LongAdder` (Doug Lea,
//! `java.util.concurrent.atomic.Striped64`): one value until two threads collide on it, then 2, 4, 8 and more stripes,
//! up to the number of CPUs. A thread that collides moves to another stripe.

use super::counting::{Counting, Plan};
use crate::workload::Error;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use tare_counters::cpus;

/// Level k holds the stripes from 2^k on (level 0 the first two), so that stripes stay in place while their number
/// grows.
const LEVELS: usize = 10;

pub(crate) struct Adaptive {
    max_width: usize,
}

#[repr(align(64))]
pub(crate) struct Stripe(AtomicU64);

type Levels = [OnceLock<Box<[Stripe]>>; LEVELS];

pub(crate) struct Striped {
    base: AtomicU64,
    /// Stripes in use, a power of two; 0 before the first collision.
    width: AtomicUsize,
    levels: OnceLock<Box<Levels>>,
}

impl Striped {
    fn stripes(&self) -> impl Iterator<Item = &Stripe> {
        self.levels.get().into_iter().flat_map(|levels| levels.iter().filter_map(OnceLock::get)).flatten()
    }

    /// Allocates stripes up to `width`, unless another thread did.
    #[cold]
    fn grow(&self, width: usize) {
        let levels = self.levels.get_or_init(|| Box::new([const { OnceLock::new() }; LEVELS]));
        let level = (width / 2).ilog2() as usize;
        let stripes = if level == 0 { 2 } else { width / 2 };
        levels[level].get_or_init(|| (0..stripes).map(|_| Stripe(AtomicU64::new(0))).collect());
        self.width.fetch_max(width, Ordering::Release);
    }

    #[inline]
    fn stripe(&self, stripe: usize) -> Option<&AtomicU64> {
        let level = stripe.max(1).ilog2() as usize;
        let first = if level == 0 { 0 } else { 1 << level };
        self.levels.get()?[level].get()?.get(stripe - first).map(|stripe| &stripe.0)
    }
}

/// Tries once to add 1; returns false when another thread changed the value meanwhile.
#[inline]
fn attempt(value: &AtomicU64) -> bool {
    let seen = value.load(Ordering::Relaxed);
    value.compare_exchange(seen, seen + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
}

impl Counting for Adaptive {
    type Cell = Striped;
    /// The thread's probe, whose low bits select its stripe.
    type Local = usize;

    fn new(_: &Plan) -> Result<Self, Error> {
        Ok(Self { max_width: cpus::possible().next_power_of_two().clamp(2, 1 << LEVELS) })
    }

    fn cell(&self) -> Self::Cell {
        Striped { base: AtomicU64::new(0), width: AtomicUsize::new(0), levels: OnceLock::new() }
    }

    fn enter(&self, thread: usize) -> usize {
        // Fibonacci hashing (Knuth 6.4), made odd so that the xorshift below never stays at 0.
        thread.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
    }

    #[inline]
    fn increment(&self, probe: &mut usize, cell: &Self::Cell, _: usize) {
        if cell.width.load(Ordering::Acquire) == 0 {
            if attempt(&cell.base) {
                return;
            }
            cell.grow(2);
        }
        let mut collisions = 0;
        loop {
            let width = cell.width.load(Ordering::Acquire);
            if cell.stripe(*probe & (width - 1)).is_some_and(attempt) {
                return;
            }
            collisions += 1;
            if collisions == 2 && width < self.max_width {
                cell.grow(2 * width);
            }
            // Marsaglia's xorshift64, with which Striped64 moves to another stripe.
            *probe ^= *probe << 13;
            *probe ^= *probe >> 7;
            *probe ^= *probe << 17;
        }
    }

    fn sum(&self, cell: &Self::Cell, _: usize) -> u64 {
        cell.base.load(Ordering::Relaxed) + cell.stripes().map(|stripe| stripe.0.load(Ordering::Relaxed)).sum::<u64>()
    }

    fn stored(&self, cell: &Self::Cell, _: usize, each: &mut dyn FnMut(usize, usize)) {
        each(std::ptr::from_ref(cell).addr(), size_of::<Striped>());
        cell.stripes().for_each(|stripe| each(std::ptr::from_ref(stripe).addr(), size_of::<Stripe>()));
    }

    fn bytes_of(&self, _: &Plan, cell: &Self::Cell) -> u64 {
        let levels = if cell.levels.get().is_some() { size_of::<Levels>() } else { 0 };
        (size_of::<Striped>() + levels + cell.stripes().count() * size_of::<Stripe>()) as u64
    }
}
