//! Data shared by the controller and the client threads: the phase, which threads read, and what they publish while
//! they run: totals since the start, each thread's in its own cache lines, and latencies in buckets. A run may end
//! after a number of transactions: threads share these counters; runs without a limit do not use them.

use crate::client::Queries;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A part of a sample; the whole sample unless clients rest around samples. Each part has its own number, so that a
/// client that got no CPU time during a whole part still notices that it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) sample: u32,
    pub(super) part: u32,
}

impl Part {
    fn encode(self) -> u64 {
        u64::from(self.sample) << 31 | u64::from(self.part)
    }

    fn decode(code: u64) -> Self {
        Self { sample: (code >> 31) as u32, part: (code & 0x7fff_ffff) as u32 }
    }
}

/// The phase of the run that client threads see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Connected, waiting for the start.
    Hold,
    /// Sending, unrecorded, before the first sample.
    Warmup,
    /// Sending nothing, before the first sample of a load that rests.
    Rest,
    /// Recording.
    Measure(Part),
    /// Sending, unrecorded, after the part; nothing at all in a load that rests.
    Pause(Part),
    /// Threads end after the transaction they are in.
    Stop,
}

impl Phase {
    fn encode(self) -> u64 {
        match self {
            Self::Hold => 0,
            Self::Warmup => 1,
            Self::Rest => 2,
            Self::Measure(part) => 4 + 2 * part.encode(),
            Self::Pause(part) => 5 + 2 * part.encode(),
            Self::Stop => u64::MAX,
        }
    }

    fn decode(code: u64) -> Self {
        match code {
            0 => Self::Hold,
            1 => Self::Warmup,
            u64::MAX => Self::Stop,
            2 => Self::Rest,
            _ if code.is_multiple_of(2) => Self::Measure(Part::decode((code - 4) / 2)),
            _ => Self::Pause(Part::decode((code - 5) / 2)),
        }
    }
}

/// A number in two cache lines of its own, because processors prefetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Alone(AtomicU64);

/// Nanoseconds since the start of the warm-up, written before the phase that needs them is announced.
#[derive(Debug, Default)]
pub(super) struct Moment(AtomicU64);

impl Moment {
    pub(super) fn set(&self, ns: u64) {
        self.0.store(ns, Ordering::Relaxed);
    }

    pub(super) fn ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The phase, read by all threads and written by the controller a few times per run, and counters per thread, written
/// only by that thread.
#[derive(Debug)]
pub(super) struct Shared {
    phase: Alone,
    pub(super) first_sample: Moment,
    /// Start of the latest sample.
    pub(super) sample_start: Moment,
    /// End of the latest sample, announced by its pause.
    pub(super) sample_end: Moment,
    slots: Vec<Slot>,
    /// One per thread; empty if [`super::LoadSettings::intervals`] is not set.
    latencies: Vec<Buckets>,
    /// `None` if the run ends only by time.
    pub(super) events: Option<Events>,
}

impl Shared {
    /// With `latencies`, every thread also publishes its latencies during the run.
    pub(super) fn new(threads: usize, latencies: bool, events: Option<u64>) -> Self {
        Self {
            phase: Alone::default(),
            first_sample: Moment::default(),
            sample_start: Moment::default(),
            sample_end: Moment::default(),
            slots: (0..threads).map(|_| Slot::default()).collect(),
            latencies: (0..if latencies { threads } else { 0 }).map(|_| Buckets::new()).collect(),
            events: events.map(Events::new),
        }
    }

    #[inline]
    pub(super) fn phase(&self) -> Phase {
        // Acquire pairs with the release in `announce`: a thread that sees a pause also sees its sample's end.
        Phase::decode(self.phase.0.load(Ordering::Acquire))
    }

    pub(super) fn announce(&self, phase: Phase) {
        self.phase.0.store(phase.encode(), Ordering::Release);
    }

    #[inline]
    pub(super) fn publish(&self, thread: usize, totals: &Totals) {
        self.slots[thread].publish(totals);
    }

    #[inline]
    pub(super) fn publish_latency(&self, thread: usize, latency_ns: u64) {
        if let Some(buckets) = self.latencies.get(thread) {
            buckets.add(latency_ns);
        }
    }

    /// Transactions completed by all threads since the start, as published by them.
    pub(super) fn completed(&self) -> u64 {
        self.slots.iter().map(Slot::completed).sum()
    }

    /// Totals of all threads since the start, as published by them.
    pub(super) fn totals(&self) -> Totals {
        let mut all = Totals::default();
        self.slots.iter().for_each(|slot| slot.add_to(&mut all));
        all
    }

    pub(super) fn threads(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn latencies(&self) -> &[Buckets] {
        &self.latencies
    }
}

/// The limit, the number of transactions begun, and the number completed.
#[derive(Debug)]
pub(super) struct Events {
    most: u64,
    taken: AtomicU64,
    done: AtomicU64,
}

impl Events {
    pub(super) fn new(most: u64) -> Self {
        Self { most, taken: AtomicU64::new(0), done: AtomicU64::new(0) }
    }

    /// Takes one transaction to begin; false if all are taken.
    pub(super) fn take(&self) -> bool {
        // Cannot overflow: each thread asks at most once more and then waits.
        self.taken.fetch_add(1, Ordering::Relaxed) < self.most
    }

    /// Whether no transaction is left to begin.
    pub(super) fn all_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.most
    }

    /// Counts one taken transaction as completed; true for the last one of the run.
    pub(super) fn is_last(&self) -> bool {
        self.done.fetch_add(1, Ordering::Relaxed) + 1 == self.most
    }
}

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

    fn add_to(&self, all: &mut Totals) {
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
    fn add(&self, latency_ns: u64) {
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
    fn every_phase_comes_back_as_it_was_announced() {
        let shared = Shared::new(1, false, None);
        assert_eq!(shared.phase(), Phase::Hold);
        use Phase::{Measure, Pause, Rest, Stop, Warmup};
        let [first, next] = [(0, 0), (7, 1)].map(|(sample, part)| Part { sample, part });
        for phase in [Warmup, Rest, Measure(first), Pause(first), Measure(next), Pause(next), Stop] {
            shared.announce(phase);
            assert_eq!(shared.phase(), phase);
        }
    }

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
