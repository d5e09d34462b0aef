//! Data shared by the controller and the client threads: the phase, which threads read, and counters, which they write.

use super::events::Events;
use super::live::{Buckets, Slot, Totals};
use std::sync::atomic::{AtomicU64, Ordering};

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

/// The phase, read by all threads and written by the controller a few times per run, and counters per thread, written
/// only by that thread.
#[derive(Debug)]
pub(super) struct Shared {
    phase: Alone,
    /// Start of the first sample, nanoseconds since the start of the warm-up; written before it is announced.
    first_sample_ns: AtomicU64,
    /// Start of the latest sample, in the same units; written before it is announced.
    sample_start_ns: AtomicU64,
    /// End of the latest sample, in the same units; written before its pause is announced.
    sample_end_ns: AtomicU64,
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
            first_sample_ns: AtomicU64::new(0),
            sample_start_ns: AtomicU64::new(0),
            sample_end_ns: AtomicU64::new(0),
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

    pub(super) fn set_first_sample_ns(&self, first_sample_ns: u64) {
        self.first_sample_ns.store(first_sample_ns, Ordering::Relaxed);
    }

    pub(super) fn first_sample_ns(&self) -> u64 {
        self.first_sample_ns.load(Ordering::Relaxed)
    }

    pub(super) fn set_sample_start_ns(&self, sample_start_ns: u64) {
        self.sample_start_ns.store(sample_start_ns, Ordering::Relaxed);
    }

    pub(super) fn sample_start_ns(&self) -> u64 {
        self.sample_start_ns.load(Ordering::Relaxed)
    }

    pub(super) fn set_sample_end_ns(&self, sample_end_ns: u64) {
        self.sample_end_ns.store(sample_end_ns, Ordering::Relaxed);
    }

    pub(super) fn sample_end_ns(&self) -> u64 {
        self.sample_end_ns.load(Ordering::Relaxed)
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
}
