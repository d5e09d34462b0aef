//! What client threads publish while they run: totals since the start, each thread's in its own cache lines, and
//! latencies in buckets.

use crate::client::Queries;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Totals of one thread since the start of the warm-up; only that thread writes them. It has two cache lines of its
/// own, because processors prefetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Slot {
    completed: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    others: AtomicU64,
    restarts: AtomicU64,
    reconnects: AtomicU64,
    counted: AtomicU64,
}

/// Totals of one thread or of all threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) completed: u64,
    pub(super) queries: Queries,
    pub(super) restarts: u64,
    pub(super) reconnects: u64,
    pub(super) counted: u64,
}

impl Slot {
    #[inline]
    pub(super) fn publish(&self, totals: &Totals) {
        self.completed.store(totals.completed, Ordering::Relaxed);
        self.reads.store(totals.queries.read, Ordering::Relaxed);
        self.writes.store(totals.queries.write, Ordering::Relaxed);
        self.others.store(totals.queries.other, Ordering::Relaxed);
        self.restarts.store(totals.restarts, Ordering::Relaxed);
        self.reconnects.store(totals.reconnects, Ordering::Relaxed);
        self.counted.store(totals.counted, Ordering::Relaxed);
    }

    pub(super) fn completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed)
    }

    pub(super) fn add_to(&self, all: &mut Totals) {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        all.completed += of(&self.completed);
        all.queries += Queries { read: of(&self.reads), write: of(&self.writes), other: of(&self.others) };
        all.restarts += of(&self.restarts);
        all.reconnects += of(&self.reconnects);
        all.counted += of(&self.counted);
    }
}

/// Logarithm of the number of buckets per doubling: latencies are within 1.6%, about as precise as sysbench.
const PER_DOUBLING_BITS: u32 = 6;
/// Nanoseconds; shorter latencies are counted as this.
const LEAST_NS: u64 = 1 << 9;
/// Doublings above [`LEAST_NS`]: up to 18 minutes.
const DOUBLINGS: u32 = 31;
const BUCKETS: usize = (DOUBLINGS as usize) << PER_DOUBLING_BITS;

/// Latencies of one thread since the start, in buckets that only it writes. Counters may overflow: only differences are
/// used.
#[derive(Debug)]
pub(super) struct Buckets(Vec<AtomicU32>);

impl Buckets {
    pub(super) fn new() -> Self {
        Self((0..BUCKETS).map(|_| AtomicU32::new(0)).collect())
    }

    #[inline]
    pub(super) fn add(&self, latency_ns: u64) {
        let bucket = &self.0[bucket_of(latency_ns)];
        // Only this thread writes it, so no atomic read-modify-write is needed.
        bucket.store(bucket.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    fn add_to(&self, all: &mut [u32]) {
        for (sum, own) in all.iter_mut().zip(&self.0) {
            *sum = sum.wrapping_add(own.load(Ordering::Relaxed));
        }
    }
}

fn bucket_of(latency_ns: u64) -> usize {
    let ns = latency_ns.max(LEAST_NS);
    let doubling = ns.ilog2();
    let part = (ns >> (doubling - PER_DOUBLING_BITS)) as usize & ((1 << PER_DOUBLING_BITS) - 1);
    let bucket = (((doubling - LEAST_NS.ilog2()) as usize) << PER_DOUBLING_BITS) + part;
    bucket.min(BUCKETS - 1)
}

fn middle_ms(bucket: usize) -> f64 {
    let doubling = (bucket >> PER_DOUBLING_BITS) as i32;
    let part = (bucket & ((1 << PER_DOUBLING_BITS) - 1)) as f64 + 0.5;
    LEAST_NS as f64 * 2f64.powi(doubling) * (1.0 + part / f64::from(1 << PER_DOUBLING_BITS)) / 1e6
}

/// The bucket counts at the last reading.
#[derive(Debug)]
pub(super) struct Looked(Vec<u32>);

impl Looked {
    pub(super) fn new() -> Self {
        Self(vec![0; BUCKETS])
    }

    /// The percentile of all threads' latencies since the last reading, milliseconds; `None` without latencies.
    pub(super) fn percentile(&mut self, threads: &[Buckets], percentile: f64) -> Option<f64> {
        let mut now = vec![0; BUCKETS];
        threads.iter().for_each(|buckets| buckets.add_to(&mut now));
        let before = std::mem::replace(&mut self.0, now);
        let since = || self.0.iter().zip(&before).map(|(now, before)| u64::from(now.wrapping_sub(*before)));
        let all: u64 = since().sum();
        let rank = ((percentile / 100.0 * all as f64).ceil() as u64).clamp(1, all.max(1));
        let mut seen = 0;
        let bucket = since().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(middle_ms(bucket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_threads_share_no_cache_line() {
        let slots = [Slot::default(), Slot::default()];
        let address = |slot: usize| std::ptr::from_ref(&slots[slot].completed).addr();
        assert!(address(1) - address(0) >= 128);
    }

    #[test]
    fn totals_of_threads_add_up() {
        let (one, two) = (Slot::default(), Slot::default());
        let queries = Queries { read: 1, write: 2, other: 3 };
        one.publish(&Totals { completed: 5, queries, restarts: 7, reconnects: 9, counted: 4 });
        two.publish(&Totals { completed: 10, queries, restarts: 1, reconnects: 1, counted: 2 });
        let mut all = Totals::default();
        [&one, &two].into_iter().for_each(|slot| slot.add_to(&mut all));
        let queries = Queries { read: 2, write: 4, other: 6 };
        assert_eq!(all, Totals { completed: 15, queries, restarts: 8, reconnects: 10, counted: 6 });
    }

    #[test]
    fn percentiles_are_those_of_the_latencies_since_the_last_look() {
        let threads = [Buckets::new(), Buckets::new()];
        let mut looked = Looked::new();
        assert_eq!(looked.percentile(&threads, 95.0), None);
        for (percentile, shift) in [(50.0, 0), (95.0, 4), (99.0, 9)] {
            for number in 1..=1000_u64 {
                threads[number as usize % 2].add((number * 1000) << shift);
            }
            let expected = percentile / 100.0 * f64::from(1_u32 << shift);
            let found = looked.percentile(&threads, percentile).unwrap();
            assert!((found / expected - 1.0).abs() < 0.017, "p{percentile}: {found} of {expected}");
        }
        assert_eq!(looked.percentile(&threads, 99.0), None, "nothing since");
        threads[0].add(0);
        threads[0].add(u64::MAX);
        assert!(looked.percentile(&threads, 1.0).unwrap() < 0.001);
        threads[0].add(u64::MAX);
        assert!(looked.percentile(&threads, 50.0).unwrap() > 1e6, "the longest are counted as the longest there is");
    }
}
