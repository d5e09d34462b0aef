//! The state of a trial (clean, disturbed or failed), used by every table, page and JSON document, and the upper
//! bound of the effect of measured disturbance.
//!
//! In the worst case, the whole load stalled whenever anything else ran on one of the benchmark's CPUs, and no two of
//! these periods overlapped. Let t be the share of a sample's time that others took. Then a throughput v would have
//! been v / (1 - t) without them, and a time v would have been v (1 - t). No arrangement of the same CPU time has a
//! larger effect, apart from cache misses that it causes.

use std::collections::BTreeMap;
use tare_results::covariate::unbounded;
use tare_results::metric::{self, Better};
use tare_results::schema::{Outcome, SampleRecord, TrialRecord};

#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// No disturbance above the limits of the study.
    Clean,
    /// A disturbance above a limit, with its source and size. The trial counts if no attempt at a clean one was left.
    Disturbed(String),
    /// No result; it never counts.
    Failed(Failure),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The trial itself failed, for this reason.
    Recorded(String),
    /// A metric of this sample is not a number.
    NotANumber { metric: String, sample: usize },
    /// Nothing was done in this sample.
    Nothing { metric: String, sample: usize, value: f64 },
}

/// Whether an analysed trial counts although it was disturbed. Equals [`of`] for such trials, without checking all
/// their samples again.
pub fn is_disturbed(analysed: &TrialRecord) -> bool {
    analysed.reason.is_some()
}

/// The state of a record. A throughput of 0, or a metric that is not a number, is no valid measurement: both fail the
/// trial, whatever its recorded outcome.
pub fn of(trial: &TrialRecord) -> State {
    let reason = || trial.reason.clone().unwrap_or_else(|| "no reason was recorded".to_owned());
    match trial.outcome {
        Outcome::Failed => State::Failed(Failure::Recorded(reason())),
        Outcome::Disturbed => State::Disturbed(reason()),
        Outcome::Ok => match (unusable(trial), &trial.reason) {
            (Some(why), _) => State::Failed(why),
            (None, Some(reason)) => State::Disturbed(reason.clone()),
            (None, None) => State::Clean,
        },
    }
}

fn unusable(trial: &TrialRecord) -> Option<Failure> {
    trial.measured().find_map(|(sample, name, value)| {
        if !value.is_finite() {
            return Some(Failure::NotANumber { metric: name.to_owned(), sample });
        }
        if value > 0.0 {
            return None;
        }
        let described = metric::describe(name);
        let nothing = described.is_primary() && described.better == Better::Higher;
        nothing.then(|| Failure::Nothing { metric: name.to_owned(), sample, value })
    })
}

/// The metrics of which nothing was done, each with the number of these failed trials that it failed, by name.
pub fn nothing_done<'t>(failed: impl IntoIterator<Item = &'t TrialRecord>) -> BTreeMap<String, usize> {
    let mut trials = BTreeMap::new();
    for trial in failed {
        if let State::Failed(Failure::Nothing { metric, .. }) = of(trial) {
            *trials.entry(metric).or_default() += 1;
        }
    }
    trials
}

/// Upper bound of the share of a sample's time, from 0 to 1, in which others ran on the benchmark's CPUs; none if it
/// was not recorded or the sample was disturbed in another way too.
fn taken_of_sample(sample: &SampleRecord) -> Option<f64> {
    let value = |name: &str| sample.covariates.get(name).copied();
    if !unbounded(&sample.covariates).is_empty() {
        return None;
    }
    let foreign_s = value("foreign_cpu_s")?;
    let stolen = value("bound_steal_fraction").or_else(|| value("steal_fraction"))?;
    let cpus = || {
        let busy = value("bound_busy_s")? / value("bound_busy_fraction")? / sample.elapsed_s;
        Some(busy.round().max(1.0)).filter(|cpus| cpus.is_finite())
    };
    let stolen = if stolen > 0.0 { stolen * cpus()? } else { 0.0 };
    let taken = foreign_s / sample.elapsed_s + stolen;
    taken.is_finite().then(|| taken.clamp(0.0, 1.0))
}

/// The largest share of a trial's samples; none if a sample has none.
fn taken_of_trial(trial: &TrialRecord) -> Option<f64> {
    let shares = trial.samples.iter().map(taken_of_sample).collect::<Option<Vec<f64>>>()?;
    shares.into_iter().reduce(f64::max)
}

/// The largest share of all these trials, if every trial has one below 1 (a complete stall).
pub(crate) fn most_taken<'t>(trials: impl IntoIterator<Item = &'t TrialRecord>) -> Option<f64> {
    let shares = trials.into_iter().map(taken_of_trial).collect::<Option<Vec<f64>>>()?;
    Some(shares.into_iter().fold(0.0, f64::max)).filter(|share| *share < 1.0)
}

/// Whether lost CPU time bounds the effect on a metric: true for throughput and for times of whole queries. A
/// percentile may belong to a transaction that waited for all of it.
pub(crate) fn taken_applies(name: &str) -> bool {
    metric::describe(name).is_primary()
}

/// A trial's value of such a metric, corrected for the largest possible effect of the disturbance; unchanged for a
/// clean trial.
pub(crate) fn taken_at_best(trial: &TrialRecord, name: &str, value: f64) -> f64 {
    if !is_disturbed(trial) {
        return value;
    }
    let left = 1.0 - taken_of_trial(trial).unwrap_or(0.0);
    match metric::describe(name).better {
        Better::Higher => value / left,
        Better::Lower => value * left,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::{Levels, PlannedTrial};

    fn trial(outcome: Outcome, reason: Option<&str>, tps: f64) -> TrialRecord {
        let planned = PlannedTrial { trial: 0, block: 0, condition: "a".into(), lifetime: None };
        let mut record = TrialRecord::new(&planned, 1, Levels::new(), String::new());
        record.outcome = outcome;
        record.reason = reason.map(str::to_owned);
        record.samples = vec![SampleRecord {
            sample: 3,
            elapsed_s: 1.0,
            metrics: [("tps".to_owned(), tps)].into(),
            ..SampleRecord::default()
        }];
        record
    }

    #[test]
    fn a_trial_has_exactly_one_state() {
        assert_eq!(of(&trial(Outcome::Ok, None, 10.0)), State::Clean);
        assert_eq!(of(&trial(Outcome::Ok, Some("hog"), 10.0)), State::Disturbed("hog".into()));
        assert_eq!(of(&trial(Outcome::Disturbed, Some("hog"), 10.0)), State::Disturbed("hog".into()));
        assert_eq!(of(&trial(Outcome::Failed, Some("died"), 10.0)), State::Failed(Failure::Recorded("died".into())));
    }

    #[test]
    fn no_throughput_and_no_number_fail_the_trial() {
        let failed = |value: f64| match of(&trial(Outcome::Ok, None, value)) {
            State::Failed(failure) => failure,
            counts => panic!("{counts:?}"),
        };
        let metric = || "tps".to_owned();
        assert_eq!(failed(0.0), Failure::Nothing { metric: metric(), sample: 3, value: 0.0 });
        for value in [f64::NAN, f64::INFINITY] {
            assert_eq!(failed(value), Failure::NotANumber { metric: metric(), sample: 3 });
        }
        let mut lower = trial(Outcome::Ok, None, 10.0);
        lower.samples[0].metrics.insert("loss".into(), 0.0);
        assert_eq!(of(&lower), State::Clean, "0 is a valid loss");
        let all = [trial(Outcome::Ok, None, 0.0), trial(Outcome::Ok, None, -1.0), trial(Outcome::Failed, None, 1.0)];
        assert_eq!(nothing_done(all.iter().chain([&lower])), [(metric(), 2)].into());
    }
}
