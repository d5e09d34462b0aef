//! Computes the figures of an interval from two readings of the threads' totals.

use super::live::{Looked, Totals};
use super::observer::{Interval, RunPhase};
use super::phase::Shared;
use super::settings::Intervals;
use std::time::Instant;

/// The last reading, and the settings of the intervals.
pub(super) struct IntervalClock<'a> {
    requested: Intervals,
    shared: &'a Shared,
    at: Instant,
    totals: Totals,
    latencies: Looked,
}

impl<'a> IntervalClock<'a> {
    pub(super) fn new(requested: Intervals, shared: &'a Shared, start: Instant) -> Self {
        let mut latencies = Looked::new();
        // Excludes what happened before this stage.
        latencies.percentile(shared.latencies(), requested.percentile);
        Self { requested, shared, at: start, totals: shared.totals(), latencies }
    }

    /// The interval that ends with this second, if any.
    pub(super) fn look(&mut self, stage: RunPhase, second: u64, now: Instant) -> Option<Interval> {
        if !second.is_multiple_of(self.requested.every_s) {
            return None;
        }
        let before = std::mem::replace(&mut self.totals, self.shared.totals());
        let length_s = now.duration_since(std::mem::replace(&mut self.at, now)).as_secs_f64();
        let totals = &self.totals;
        let per_s = |now: u64, before: u64| (now - before) as f64 / length_s;
        Some(Interval {
            stage,
            second,
            threads: self.shared.threads(),
            tps: per_s(totals.completed, before.completed),
            reads_per_s: per_s(totals.queries.read, before.queries.read),
            writes_per_s: per_s(totals.queries.write, before.queries.write),
            others_per_s: per_s(totals.queries.other, before.queries.other),
            latency_ms: self.latencies.percentile(self.shared.latencies(), self.requested.percentile),
            restarts_per_s: per_s(totals.restarts, before.restarts),
            reconnects_per_s: per_s(totals.reconnects, before.reconnects),
            counted_per_s: per_s(totals.counted, before.counted),
        })
    }
}
