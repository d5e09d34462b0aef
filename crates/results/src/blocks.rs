//! The trials of one block: their values and programs, whether they ran at the same time and on the same boot, and
//! which of them count as disturbed.

use crate::covariate::{CLIENT_HOST, FOREIGN_FRACTION};
use crate::metric;
use crate::schema::{Outcome, TrialRecord};
use std::collections::BTreeSet;
use tare_stats::descriptive::mean;

/// Minimum overlap of alternating samples, as a share of their time: the last sample of one side ends after that of the
/// other.
pub(crate) const INTERLEAVED: f64 = 0.4;

pub(crate) fn headline(records: &[TrialRecord]) -> Option<String> {
    let ok = records.iter().filter(|record| record.outcome == Outcome::Ok);
    let names: BTreeSet<&String> = ok.flat_map(|record| &record.samples).flat_map(|s| s.metrics.keys()).collect();
    names.into_iter().min_by_key(|name| metric::describe(name).rank).cloned()
}

/// Seconds of all attempts. A disturbed attempt that finally counts has two records, but its time is added only once.
pub(crate) fn spent_s<'r>(records: impl Iterator<Item = &'r TrialRecord>) -> f64 {
    let mut seen = BTreeSet::new();
    let attempts =
        records.filter(|record| record.started_at.is_empty() || seen.insert((record.trial, &*record.started_at)));
    attempts.map(|record| record.elapsed_s).sum()
}

/// Whether the trials of these conditions that count ran more than one program.
pub(crate) fn ran_two_programs(records: &[TrialRecord], is_own: impl Fn(&str) -> bool) -> bool {
    let own = || records.iter().filter(|record| is_own(&record.condition) && record.outcome == Outcome::Ok);
    let servers: BTreeSet<&String> = own().filter_map(|record| record.server_program.as_ref()).collect();
    servers.len() > 1 || clients_differ(own())
}

/// Whether the clients of these trials ran more than one program. A trial lists the file of a client that was started
/// and the program that it became, of which it may see only one: programs are two if their trials have nothing in
/// common.
pub fn clients_differ<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> bool {
    let mut programs = trials.map(|trial| &trial.client_programs).filter(|programs| !programs.is_empty());
    let first = programs.next();
    first.is_some_and(|first| programs.any(|other| first.is_disjoint(other)))
}

/// The value of a trial that counts, even if it is disturbed; none for a trial that is to be repeated.
pub(crate) fn value(record: &TrialRecord, metric: Option<&str>) -> Option<f64> {
    metric.filter(|_| record.outcome == Outcome::Ok).and_then(|metric| value_of(record, metric))
}

/// The values that represent the trial: of the metric or, without such a metric, of the covariate.
pub(crate) fn representing(record: &TrialRecord, name: &str) -> Vec<f64> {
    let own = record.representing(name);
    let readings = || record.samples.iter().map(|s| s.covariates.get(name).copied()).collect::<Option<Vec<f64>>>();
    if own.is_empty() { readings().unwrap_or_default() } else { own }
}

/// Their mean; only values above 0.
pub(crate) fn value_of(record: &TrialRecord, name: &str) -> Option<f64> {
    mean(&representing(record, name)).filter(|value| value.is_finite() && *value > 0.0)
}

/// Trials with an attempt that failed: also those that gave a result when they were repeated, because the attempt that
/// succeeded after one that failed may be a selection as well.
pub(crate) struct Failures(BTreeSet<usize>);

impl Failures {
    pub fn of(records: &[TrialRecord]) -> Self {
        Self(records.iter().filter(|record| record.outcome == Outcome::Failed).map(|record| record.trial).collect())
    }

    /// Whether a trial, by its last record, failed at least once or has no value.
    pub fn has(&self, last: &TrialRecord, metric: Option<&str>) -> bool {
        value(last, metric).is_none() || self.0.contains(&last.trial)
    }
}

/// Whether the samples of two trials alternated, so that neither ran alone.
pub fn took_turns(a: &TrialRecord, b: &TrialRecord) -> bool {
    same_boot(a, b) && share(a, b, INTERLEAVED)
}

/// Which trials of one block count as disturbed. The limit also has a least time, below which clocks are too coarse, so
/// that the same program disturbs the longer of two samples alone. A trial from which others took at least half of the
/// share by which another one was disturbed is therefore not an undisturbed one.
pub(crate) fn alike(block: &[&TrialRecord]) -> Vec<bool> {
    let by_others = block.iter().filter(|trial| trial.reason.is_some() && !trial.disturbed_by.is_empty());
    let least = by_others.filter_map(|trial| taken(trial)).reduce(f64::min);
    let as_much = |trial: &TrialRecord| least.zip(taken(trial)).is_some_and(|(least, own)| own >= least / 2.0);
    block.iter().map(|trial| trial.reason.is_some() || as_much(trial)).collect()
}

/// The largest share of its samples.
fn taken(trial: &TrialRecord) -> Option<f64> {
    let readings = trial.samples.iter().flat_map(|sample| &sample.covariates);
    let own = readings.filter(|(name, _)| name.strip_prefix(CLIENT_HOST).unwrap_or(name) == FOREIGN_FRACTION);
    own.map(|(_, share)| *share).reduce(f64::max)
}

/// Whether two trials share at least this part of the time of their samples.
pub(crate) fn share(a: &TrialRecord, b: &TrialRecord, least: f64) -> bool {
    shared(a, b).is_some_and(|part| part >= least)
}

/// The part of the time of their samples that two trials share, also for alternating samples; none without samples.
fn shared(a: &TrialRecord, b: &TrialRecord) -> Option<f64> {
    let (a, b) = (measured_between(a)?, measured_between(b)?);
    let both = a.1.min(b.1) - a.0.max(b.0);
    let either = a.1.max(b.1) - a.0.min(b.0);
    Some(both / either)
}

/// Seconds since the epoch at which the first sample began and the last one ended. An alternating sample lasts longer
/// than its own turns.
fn measured_between(record: &TrialRecord) -> Option<(f64, f64)> {
    let (first, last) = (record.samples.first()?, record.samples.last()?);
    let seconds = |text: &str| Some(began(text)?.as_microsecond() as f64 / 1e6);
    let watched_s = last.covariates.get("elapsed_s").copied().unwrap_or(0.0);
    Some((seconds(&first.started_at)?, seconds(&last.started_at)? + last.elapsed_s.max(watched_s)))
}

pub(crate) fn began(started_at: &str) -> Option<jiff::Timestamp> {
    started_at.parse().ok()
}

pub(crate) fn first_sample(record: &TrialRecord) -> Option<jiff::Timestamp> {
    began(&record.samples.first()?.started_at)
}

/// Whether both ran on the same boot of the machine: two trials with a reboot between them are no pair.
pub(crate) fn same_boot(a: &TrialRecord, b: &TrialRecord) -> bool {
    let boot = |record: &TrialRecord| record.ran_on.as_ref().and_then(|ran_on| ran_on.boot_id.clone());
    boot(a) == boot(b)
}
