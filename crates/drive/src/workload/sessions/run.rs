//! Warm-up and samples of clients with one connection each, and the additional sample for captures.

use super::connector::{Connections, Connector};
use super::pace::InvalidSample;
use super::watcher::Watcher;
use crate::sut::Surroundings;
use crate::workload::{Extra, LoadContext, LoadError};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_cpuset::{Limits, Wanted};
use tare_engine::{DESCRIPTORS_OF_SESSION, SET_UP};
use tare_load::{Arrivals, Connect, Curve, LoadSettings, Rest, RunError, Sample};

/// One sample with the data recorded with it and the clients' own counts.
pub(crate) struct Ran<T> {
    pub sample: Sample,
    /// Data recorded by the watch; empty for the additional sample.
    pub around: Surroundings,
    pub counted: T,
}

/// Runs warm-up and samples, and then the additional sample if requested. `rate` is the rate of an open loop in
/// transactions per second over all threads; a sample ends after `events` transactions if its time has not passed
/// before; `counted` returns the clients' own counts for each of this many samples.
pub(crate) fn run<'a, M, T>(
    rate: Option<Curve>,
    events: Option<u64>,
    stage: &mut LoadContext<'_>,
    connector: &Connector<'a, M>,
    connections: &Connections,
    counted: impl FnOnce(usize) -> Vec<T>,
) -> Result<Vec<Ran<T>>, LoadError>
where
    Connector<'a, M>: Connect<Error = LoadError>,
{
    if stage.watch.probes()
        && let Some(rate) = rate
    {
        return Err(InvalidSample::ProbeUnderRate { rate }.into());
    }
    let counts = stage.counts;
    let rest = match (stage.watch.probes() || stage.turns.is_some(), stage.settle.is_requested()) {
        (true, _) => Rest::AroundEach,
        (false, true) => Rest::BeforeFirst,
        (false, false) => Rest::Never,
    };
    let settings = LoadSettings {
        rest,
        threads: stage.threads,
        seed: stage.seed,
        pace: rate
            .map_or(tare_load::Pace::Closed, |rate| tare_load::Pace::Open { rate, arrivals: Arrivals::default() }),
        warmup_s: counts.warmup_s,
        samples: counts.samples + usize::from(counts.extra),
        sample_s: counts.sample_s,
        events,
        intervals: stage.host.intervals(),
        connect_s: SET_UP.as_secs_f64(),
        ..LoadSettings::default()
    };
    let sockets =
        Wanted { descriptors: (stage.threads as u64).saturating_mul(DESCRIPTORS_OF_SESSION), ..Wanted::default() };
    Limits::now().check(sockets).map_err(|source| LoadError::Limit { threads: stage.threads, source })?;
    let mut watcher = Watcher { stage, connections, rest, around: Vec::new() };
    let samples = tare_load::run(&settings, connector, &mut watcher).map_err(failure)?;
    let counted = counted(samples.len());
    let all = samples.into_iter().zip(watcher.around).zip(counted);
    Ok(all.map(|((sample, around), counted)| Ran { sample, around, counted }).collect())
}

pub(crate) fn failure(error: RunError<LoadError, LoadError>) -> LoadError {
    match error {
        RunError::Observer(e) | RunError::Connect { source: e, .. } | RunError::Transaction { source: e, .. } => e,
        RunError::Limit { threads, source } => LoadError::Limit { threads, source },
        requested @ RunError::Setting { .. } => LoadError::Generator(requested.to_string()),
        // Mostly a server that does not answer: not an error of the settings.
        other => LoadError::own(other),
    }
}

/// Separates the additional sample from the `samples` measured ones: the cost of captures is in no metric, and their
/// failure fails no trial.
pub(crate) fn take_extra<T: Merge>(ran: &mut Vec<Ran<T>>, samples: usize) -> Option<Extra> {
    let extra = ran.split_off(samples.min(ran.len()));
    let extra = extra.first()?;
    let mean = ran.iter().map(|ran| ran.sample.tps()).sum::<f64>() / ran.len().max(1) as f64;
    Some(further(extra, mean))
}

/// The figures of the additional sample; `measured_tps` is the throughput of the measured ones.
pub(crate) fn further<T: Merge>(ran: &Ran<T>, measured_tps: f64) -> Extra {
    let (sample, tps) = (&ran.sample, ran.sample.tps());
    let tps_ratio = if measured_tps > 0.0 { tps / measured_tps } else { 0.0 };
    let us = 1e6 * sample.elapsed_s * sample.threads.len() as f64 / sample.transactions.max(1) as f64;
    let statement_us = ran.counted.statements().into_iter().map(|(name, share)| (name, us * share)).collect();
    Extra { elapsed_s: sample.elapsed_s, tps, tps_ratio, statement_us }
}

pub trait Merge {
    fn merge(&mut self, other: &Self);
    /// Clears all, and keeps the memory.
    fn clear(&mut self);
    /// Share of the clients' time in each kind of statement, which is measured in the capture sample only.
    fn statements(&self) -> BTreeMap<String, f64> {
        BTreeMap::new()
    }
}

/// How long clients counted in a sample. A client counts whole transactions, those that begin in the sample, so this is
/// not the length of the sample.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Clock {
    since: Option<Instant>,
    timed: Duration,
}

impl Clock {
    pub(crate) fn start(&mut self) {
        self.since = Some(Instant::now());
    }

    pub(crate) fn stop(&mut self) {
        self.timed += self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
    }

    #[inline]
    pub(crate) fn runs(&self) -> bool {
        self.since.is_some()
    }

    pub(crate) fn timed(&self) -> Duration {
        self.timed
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.timed += other.timed;
    }

    pub(crate) fn clear(&mut self) {
        self.timed = Duration::ZERO;
    }
}

pub struct Tallies<T> {
    empty: T,
    samples: Mutex<Vec<T>>,
}

impl<T: Merge + Clone> Tallies<T> {
    pub fn new(empty: T) -> Self {
        Self { empty, samples: Mutex::default() }
    }

    pub(crate) fn empty(&self) -> T {
        self.empty.clone()
    }

    /// Adds a client's counts for a sample, from 0, and clears them. Called by the client's thread between samples.
    pub(crate) fn hand_over(&self, sample: usize, counted: &mut T) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() <= sample {
            samples.resize_with(sample + 1, || self.empty.clone());
        }
        samples[sample].merge(counted);
        counted.clear();
    }

    pub fn take(&self, count: usize) -> Vec<T> {
        let mut samples = std::mem::take(&mut *self.samples.lock().unwrap_or_else(PoisonError::into_inner));
        samples.resize_with(count, || self.empty.clone());
        samples
    }
}
