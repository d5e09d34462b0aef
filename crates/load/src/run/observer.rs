//! The observer of a run: it is called with its progress, and can end it. The figures of an interval are computed from
//! two readings of the threads' totals.

use super::phase::{Looked, Shared, Totals};
use super::settings::Intervals;
use crate::client::ClientThread;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Instant;

/// The part of a run: the warm-up or a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// Before the first sample.
    Warmup,
    /// In the sample with this number, from 0.
    Sample(usize),
}

/// The throughput of the last second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The part of the run.
    pub stage: RunPhase,
    /// Whole seconds since the stage began: 1 for the first reading.
    pub second: u64,
    /// Transactions per second since the previous reading.
    pub tps: f64,
}

/// What happened since the previous interval, if [`super::LoadSettings::intervals`] is set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The part of the run.
    pub stage: RunPhase,
    /// Whole seconds since the stage began, at the end of the interval.
    pub second: u64,
    /// Client threads of the run, including idle ones.
    pub threads: usize,
    /// Completed transactions per second of all threads.
    pub tps: f64,
    /// Queries per second that returned rows.
    pub reads_per_s: f64,
    /// Queries per second that changed rows.
    pub writes_per_s: f64,
    /// Other queries per second.
    pub others_per_s: f64,
    /// The latency at [`super::Intervals::percentile`], milliseconds, within 1.6%; `None` without transactions.
    pub latency_ms: Option<f64>,
    /// Attempts per second that the database asked to run again.
    pub restarts_per_s: f64,
    /// Connections per second that were lost and reopened.
    pub reconnects_per_s: f64,
    /// Rate per second of the clients' own counts ([`crate::Client::counted`]).
    pub counted_per_s: f64,
}

/// Observes a run. The methods are called on the thread that called [`crate::run()`]. An error from a method ends the
/// run and is returned as [`crate::RunError::Observer`]. The default methods do nothing.
pub trait Observer {
    /// Why the observer ends the run.
    type Error;

    /// Called when all clients are connected and before any sends a transaction. Here the caller can look up server
    /// threads, and bind threads of both sides.
    ///
    /// # Errors
    /// Ends the run.
    fn connected(&mut self, threads: &[ClientThread]) -> Result<(), Self::Error> {
        let _ = threads;
        Ok(())
    }

    /// Called right before sample number `sample` begins. The load is running, unless clients rest.
    ///
    /// # Errors
    /// Ends the run.
    fn sample_start(&mut self, sample: usize) -> Result<(), Self::Error> {
        let _ = sample;
        Ok(())
    }

    /// Number of parts of equal length in which a sample is measured, at least 1. Clients rest between the parts. It is
    /// only used if clients rest around samples ([`super::Rest::AroundEach`]).
    fn parts(&self, sample: usize) -> usize {
        let _ = sample;
        1
    }

    /// Called right before each part of a sample except the first, while clients rest. Its time is not part of the
    /// sample.
    ///
    /// # Errors
    /// Ends the run.
    fn part_start(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Called right after sample number `sample` has ended. Unless clients rest, they continue without being recorded
    /// until the next sample or the end of the run.
    ///
    /// # Errors
    /// Ends the run.
    fn sample_end(&mut self, sample: usize) -> Result<(), Self::Error> {
        let _ = sample;
        Ok(())
    }

    /// Called once per second, also in the warm-up.
    ///
    /// # Errors
    /// Ends the run.
    fn reading(&mut self, reading: Reading) -> Result<(), Self::Error> {
        let _ = reading;
        Ok(())
    }

    /// Called as often as set in [`super::LoadSettings::intervals`], also in the warm-up.
    ///
    /// # Errors
    /// Ends the run.
    fn interval(&mut self, interval: Interval) -> Result<(), Self::Error> {
        let _ = interval;
        Ok(())
    }

    /// Called if some clients, by their numbers, have not ended their transactions `patience_s` seconds after the end
    /// of a sample: see [`super::LoadSettings::patience_s`]. All threads still exist, and the run ends.
    ///
    /// # Errors
    /// Ends the run in place of [`crate::RunError::Unanswered`].
    fn unanswered(&mut self, clients: &BTreeSet<usize>, patience_s: f64) -> Result<(), Self::Error> {
        let _ = (clients, patience_s);
        Ok(())
    }

    /// Called if client threads have not ended one second after the end of the run: the caller must end what they wait
    /// for, for example their connections. It is called once; afterwards the run waits for the threads without a limit.
    fn abandon(&mut self) {}

    /// Whether the running sample may end now, before its time; called as often as [`Observer::poll`].
    fn is_enough(&mut self) -> bool {
        false
    }

    /// Called about ten times per second during the whole run, for example to check a Ctrl-C flag or a time limit.
    ///
    /// # Errors
    /// Ends the run.
    fn poll(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// An observer that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    type Error = Infallible;
}

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
