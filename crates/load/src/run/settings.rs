//! What to run.

use super::error::RunError;
use crate::pace::Pace;

/// The most client threads: no machine has more, and each has memory of its own.
pub const MOST_THREADS: usize = 65_536;

/// How the clients are driven.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSettings {
    /// Client threads, each with one connection; at least 1.
    pub threads: usize,
    /// Seed of everything the threads draw.
    pub seed: u64,
    /// When a thread begins its next transaction.
    pub pace: Pace,
    /// Load before the first sample that is left out of every figure, seconds.
    pub warmup_s: f64,
    /// Measured samples, at least 1.
    pub samples: usize,
    /// Length of a sample, seconds, above 0.
    pub sample_s: f64,
    /// How long the next client may take to be connected and ready, seconds.
    pub connect_s: f64,
    /// How long a transaction that is under way when a sample ends may still take, seconds.
    pub patience_s: f64,
    /// When clients send nothing, so that the observer finds an idle server.
    pub rest: Rest,
    /// Recorded transactions, over all threads, after which the sample ends, where its time is not over before: 1 or
    /// more, for runs of one sample that do not rest. No transaction beyond them is begun, and without a warm-up none
    /// before them.
    pub events: Option<u64>,
    /// What is told while the run goes on; none: throughput once a second and nothing else.
    pub intervals: Option<Intervals>,
}

/// When clients send nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rest {
    /// They go on from the warm-up to the end of the last sample.
    #[default]
    Never,
    /// Before the first sample, while its [`super::Observer::sample_start`] runs. What is due by a rate meanwhile is
    /// left out.
    BeforeFirst,
    /// Before and after each sample, while [`super::Observer::sample_start`] and [`super::Observer::sample_end`] run.
    /// Not with a rate, whose transactions would queue up meanwhile.
    AroundEach,
}

/// What [`super::Observer::interval`] hears, and how often.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Intervals {
    /// Whole seconds between two, at least 1.
    pub every_s: u64,
    /// The percentile of latencies that each tells, above 0 and up to 100.
    pub percentile: f64,
}

impl Default for LoadSettings {
    /// One thread, closed loop, 10 s of warm-up, one sample of 60 s, half a minute of patience, a minute to connect.
    fn default() -> Self {
        Self {
            threads: 1,
            seed: 1,
            pace: Pace::Closed,
            warmup_s: 10.0,
            samples: 1,
            sample_s: 60.0,
            connect_s: 60.0,
            patience_s: 30.0,
            rest: Rest::Never,
            events: None,
            intervals: None,
        }
    }
}

impl LoadSettings {
    pub(super) fn check<C, O>(&self) -> Result<(), RunError<C, O>> {
        let wrong = |name, expected, given: String| Err(RunError::Setting { name, expected, given });
        // A century: beyond it, times no longer fit the clock.
        let is_time = |seconds: f64| (0.0..3.2e9).contains(&seconds);
        if !(1..=MOST_THREADS).contains(&self.threads) {
            return wrong("threads", "a number from 1 to 65536", self.threads.to_string());
        }
        if self.samples == 0 {
            return wrong("samples", "at least 1", "0".into());
        }
        if !is_time(self.sample_s) || self.sample_s == 0.0 {
            return wrong("sample_s", "a number of seconds above 0", self.sample_s.to_string());
        }
        if !is_time(self.patience_s) {
            return wrong("patience_s", "a number of seconds, 0 or more", self.patience_s.to_string());
        }
        if !is_time(self.warmup_s) {
            return wrong("warmup_s", "a number of seconds, 0 or more", self.warmup_s.to_string());
        }
        if let Some(Intervals { every_s, percentile }) = self.intervals {
            if every_s == 0 {
                return wrong("every_s", "a whole number of seconds, at least 1", "0".into());
            }
            if !(percentile > 0.0 && percentile <= 100.0) {
                return wrong("percentile", "a number above 0 and up to 100", percentile.to_string());
            }
        }
        if let Some(events) = self.events
            && (events == 0 || self.samples > 1 || self.rest != Rest::Never)
        {
            return wrong("events", "1 or more, for one sample without rests", events.to_string());
        }
        match self.pace {
            Pace::Open { rate, .. } if !rate.is_sound() => {
                wrong("rate", "transactions per second, above 0 and up to 1e9", rate.to_string())
            }
            Pace::Open { rate, .. } if self.rest == Rest::AroundEach => {
                wrong("rest", "none around each sample with a rate", format!("AroundEach with {rate}/s"))
            }
            _ => Ok(()),
        }
    }
}
