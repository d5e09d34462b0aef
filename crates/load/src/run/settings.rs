//! Settings of a run, and errors that end it early.

use crate::pace::Pace;
use tare_cpuset::{LimitTooLow, ThreadRefused};

/// The highest number of client threads: no machine has more, and each needs memory of its own.
pub const MOST_THREADS: usize = 65_536;

/// Settings of a run: threads, pace, samples and pauses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadSettings {
    /// Client threads, each with one connection; at least 1.
    pub threads: usize,
    /// Seed of all random numbers of the threads.
    pub seed: u64,
    /// When a thread begins its next transaction.
    pub pace: Pace,
    /// Load before the first sample, seconds; it is not part of any result.
    pub warmup_s: f64,
    /// Measured samples, at least 1.
    pub samples: usize,
    /// Length of a sample, seconds, above 0.
    pub sample_s: f64,
    /// How long a client may take to become connected and ready after the previous one, seconds.
    pub connect_s: f64,
    /// How long a transaction that is running when a sample ends may still take, seconds.
    pub patience_s: f64,
    /// When clients pause, so that the observer sees an idle server.
    pub rest: Rest,
    /// Number of recorded transactions, over all threads, after which the sample ends, unless its time ends first: at
    /// least 1, only for runs with one sample and no rests. No further transaction is begun, and without a warm-up none
    /// runs before the recorded ones.
    pub events: Option<u64>,
    /// Detailed reports during the run; `None` for the throughput per second only.
    pub intervals: Option<Intervals>,
}

/// When clients pause between transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rest {
    /// They send from the warm-up to the end of the last sample without a pause.
    #[default]
    Never,
    /// Before the first sample, while its [`super::Observer::sample_start`] runs. In open loop, transactions that are
    /// due meanwhile are skipped.
    BeforeFirst,
    /// Before and after each sample, while [`super::Observer::sample_start`] and [`super::Observer::sample_end`] run.
    /// Not allowed in open loop, because transactions would queue up meanwhile.
    AroundEach,
}

/// How often [`super::Observer::interval`] is called, and with which percentile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Intervals {
    /// Whole seconds between two calls, at least 1.
    pub every_s: u64,
    /// The percentile of latencies to report, above 0 and up to 100.
    pub percentile: f64,
}

impl Default for LoadSettings {
    /// One thread, closed loop, 10 s of warm-up, one sample of 60 s, `patience_s` 30 s, `connect_s` 60 s.
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
        // About a century; longer times would overflow the clock.
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

/// Why a run ended early. `C` is the clients' error, `O` the observer's. All client threads have ended in any case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RunError<C, O> {
    /// A setting is out of its range.
    #[error("{name} is {given}: expected {expected}")]
    Setting { name: &'static str, expected: &'static str, given: String },
    /// A limit of this system does not allow this number of threads.
    #[error("{threads} client threads: {source}")]
    Limit { threads: usize, source: LimitTooLow },
    /// The OS refused to start a thread.
    #[error("client thread {thread} could not be started: {source}")]
    Spawn { thread: usize, source: ThreadRefused },
    /// A thread could not be bound or connected.
    #[error("client thread {thread} could not connect: {source}")]
    Connect { thread: usize, source: C },
    /// A transaction failed permanently.
    #[error("client thread {thread}: {source}")]
    Transaction { thread: usize, source: C },
    /// A client panicked, which is a bug in the client.
    #[error("client thread {thread} panicked, which is an error in tare: report it with the lines above")]
    Panicked { thread: usize },
    /// Clients did not become ready: the server accepted their connections but did not answer their first requests.
    #[error(
        "of the client threads, {threads} did not become ready within {patience_s} s of the previous one: the server does \
         not answer the first requests of a session"
    )]
    NotConnected { threads: usize, patience_s: f64 },
    /// Transactions that were running at the end of a sample got no answer in time.
    #[error(
        "no answer on {threads} of the client threads {patience_s} s after the end of the sample: the server does not answer"
    )]
    Unanswered { threads: usize, patience_s: f64 },
    /// The observer ended the run.
    #[error("{0}")]
    Observer(O),
}
