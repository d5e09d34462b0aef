//! Groups trial records by condition, and separates the analysed ones from those that are only counted.

use super::state::{self, State};
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tare_results::metric;
use tare_results::pairs::took_turns;
use tare_results::schema::{Levels, Outcome, Plan, PlannedCondition, TrialRecord};
use tare_results::server::LowOptimisation;
use tare_results::{Results, Source};

#[derive(Debug, Clone)]
pub struct ConditionTrials<'a> {
    pub name: &'a str,
    pub levels: &'a Levels,
    /// The factors of all conditions in the order of the study.
    pub factors: Arc<[String]>,
    /// Analysed trials: clean ones, and disturbed ones if no attempt at a clean one was left.
    pub ok: Vec<&'a TrialRecord>,
    /// Gave no result; counted and listed.
    pub failed: Vec<&'a TrialRecord>,
    /// Disturbed and set aside for another attempt; counted and listed.
    pub set_aside: Vec<&'a TrialRecord>,
    /// Whether its trials ran in blocks with those of the other conditions.
    pub blocked: bool,
    /// Whether single values are corrected for the largest effect that disturbances can have (`taken`).
    pub at_best: bool,
}

/// The resolved study as a table; none if there is none, for example for a CSV.
pub(crate) fn study(results: &Results) -> Option<&toml::Table> {
    results.study_toml.as_ref()?.table()
}

/// A condition of the plan that this machine cannot run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unrealizable {
    pub name: String,
    pub reason: String,
}

pub(crate) fn unrealizable(plan: &Plan) -> Vec<Unrealizable> {
    let of = |condition: &PlannedCondition| Unrealizable {
        name: condition.name.clone(),
        reason: condition.reason.clone().unwrap_or_else(|| "no reason was recorded".to_owned()),
    };
    plan.conditions.iter().filter(|condition| !condition.realizable).map(of).collect()
}

/// Groups records by condition, in the order of the plan, then of first appearance. Unrealizable conditions and those
/// without a trial so far are left out.
pub fn conditions(results: &Results) -> Vec<ConditionTrials<'_>> {
    let mut conditions: Vec<ConditionTrials<'_>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let decision = results.plan.as_ref().and_then(|plan| plan.decision.as_ref());
    // A pilot that was still warming up stays in the record, but does not describe the trials after it.
    let first = decision.filter(|decision| !decision.pilot_counts).map_or(0, |decision| decision.first_trial);
    // A CSV file has blocks if it has a column of them; without that column all are 0.
    let blocked = results.plan.is_some() || results.trials.iter().any(|trial| trial.block > 0);
    let factors: Arc<[String]> = results.factors().into();
    for trial in results.trials.iter().filter(|trial| trial.trial >= first) {
        let index = *places.entry(trial.condition.as_str()).or_insert_with(|| {
            conditions.push(ConditionTrials {
                name: &trial.condition,
                levels: &trial.levels,
                factors: Arc::clone(&factors),
                ok: Vec::new(),
                failed: Vec::new(),
                set_aside: Vec::new(),
                blocked,
                at_best: false,
            });
            conditions.len() - 1
        });
        let condition = &mut conditions[index];
        match (trial.outcome, state::of(trial)) {
            (_, State::Failed(_)) => condition.failed.push(trial),
            (Outcome::Disturbed, _) => condition.set_aside.push(trial),
            _ => condition.ok.push(trial),
        }
    }
    if let Some(plan) = &results.plan {
        let places: HashMap<&str, usize> =
            plan.conditions.iter().enumerate().map(|(place, planned)| (planned.name.as_str(), place)).collect();
        conditions.sort_by_key(|condition| places.get(condition.name).copied().unwrap_or(usize::MAX));
    }
    conditions
}

/// The name of the machine that a trial ran on; empty if the record lacks it.
pub(super) fn host(trial: &TrialRecord) -> &str {
    trial.ran_on.as_ref().map_or("", |ran_on| ran_on.host.as_str())
}

/// Whether two records are of one trial, as in a copy of a results directory. A trial without a start time, as of a CSV
/// file, cannot be recognised.
pub(crate) fn is_same_trial(one: &TrialRecord, other: &TrialRecord) -> bool {
    let same = (&one.started_at, &one.ran_on) == (&other.started_at, &other.ran_on);
    same && !one.started_at.is_empty() && one.measured().eq(other.measured())
}

impl<'a> ConditionTrials<'a> {
    /// The samples of each analysed trial that have this metric; trials without it are left out.
    pub(crate) fn values(&self, metric: &str) -> Vec<Vec<f64>> {
        self.ok.iter().map(|trial| trial.values(metric)).filter(|samples| !samples.is_empty()).collect()
    }

    /// The values that represent each trial ([`TrialRecord::representing`]).
    pub(crate) fn of_trials(&self, metric: &str) -> Vec<Vec<f64>> {
        self.ok.iter().map(|trial| trial.representing(metric)).filter(|samples| !samples.is_empty()).collect()
    }

    pub fn with(&self, metric: &str) -> Vec<(&'a TrialRecord, f64)> {
        self.ok.iter().filter_map(|trial| Some((*trial, self.mean_of(trial, metric)?))).collect()
    }

    /// The mean of a metric in one trial; none if the trial lacks it.
    pub(crate) fn mean_of(&self, trial: &TrialRecord, metric: &str) -> Option<f64> {
        let mean = trial_mean(trial, metric)?;
        Some(if self.at_best { state::taken_at_best(trial, metric, mean) } else { mean })
    }

    /// The values of [`ConditionTrials::with`] without the trials.
    pub fn means(&self, metric: &str) -> Vec<f64> {
        self.with(metric).into_iter().map(|(_, mean)| mean).collect()
    }

    /// Trial means, each with its block, as [`tare_stats::ratio::by_block`] takes them. Without blocks, each trial
    /// has its own number.
    pub(crate) fn numbered(&self, metric: &str) -> Vec<(usize, f64)> {
        self.with(metric).into_iter().map(|(trial, mean)| (self.block(trial), mean)).collect()
    }

    /// The block of a trial; without blocks, the trial's own number.
    pub(crate) fn block(&self, trial: &TrialRecord) -> usize {
        if self.blocked { trial.block } else { trial.trial }
    }

    /// The reduced optimisation level with which a server of its trials was compiled, if one reports it.
    pub(crate) fn low_optimisation(&self) -> Option<LowOptimisation> {
        self.ok.iter().find_map(|trial| trial.server.as_ref()?.low_optimisation())
    }

    pub(crate) fn disturbed(&self) -> Vec<&'a TrialRecord> {
        self.ok.iter().copied().filter(|trial| state::is_disturbed(trial)).collect()
    }

    /// Whether a trial is in both. Trials without a start time cannot be recognised.
    pub(crate) fn has_trial_of(&self, other: &Self) -> bool {
        let known: HashMap<&str, &TrialRecord> = other.ok.iter().map(|trial| (&*trial.started_at, *trial)).collect();
        self.ok.iter().any(|trial| known.get(&*trial.started_at).is_some_and(|same| is_same_trial(trial, same)))
    }

    /// Number of trials of which an attempt failed and none gave a result.
    pub(crate) fn lost(&self) -> usize {
        let failed: BTreeSet<usize> = self.failed.iter().map(|trial| trial.trial).collect();
        let counting: BTreeSet<usize> = self.ok.iter().map(|trial| trial.trial).collect();
        failed.difference(&counting).count()
    }

    pub(crate) fn clean(&self) -> Self {
        let ok = self.ok.iter().copied().filter(|trial| !state::is_disturbed(trial)).collect();
        Self { ok, ..self.clone() }
    }

    /// The undisturbed trials, or all if every one was disturbed.
    pub(crate) fn clean_or_all(&self) -> Self {
        let clean = self.clean();
        if clean.ok.is_empty() { self.clone() } else { clean }
    }

    /// The same trials, each corrected for what disturbed it.
    pub(crate) fn at_best(&self) -> Self {
        Self { at_best: true, ..self.clone() }
    }

    /// Every metric that an analysed trial has, in table order.
    pub(crate) fn metrics(&self) -> Vec<String> {
        ordered(self.ok.iter().flat_map(|trial| trial.metric_names()))
    }
}

/// The trial means of two conditions of one run, block by block; none if they did not run in the same blocks.
pub(super) fn in_blocks(
    a: &ConditionTrials<'_>,
    b: &ConditionTrials<'_>,
    metric: &str,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let blocked = a.blocked && b.blocked;
    tare_stats::ratio::by_block(&a.numbered(metric), &b.numbered(metric)).filter(|_| blocked)
}

/// Two conditions with only the trials whose samples alternated with those of a trial of the other one.
pub(crate) fn alternated<'a>(a: &ConditionTrials<'a>, b: &ConditionTrials<'a>) -> [ConditionTrials<'a>; 2] {
    let has_partner = |trial: &TrialRecord, others: &[&TrialRecord]| {
        others.iter().any(|other| other.block == trial.block && took_turns(trial, other))
    };
    let paired = |one: &ConditionTrials<'a>, other: &ConditionTrials<'a>| {
        let ok = one.ok.iter().copied().filter(|trial| has_partner(trial, &other.ok)).collect();
        ConditionTrials { ok, ..one.clone() }
    };
    [paired(a, b), paired(b, a)]
}

/// As [`alternated`], for a run by turns in which two pairs or more alternated; none otherwise. A condition may be
/// paired with each of several others in turn, so that more than a third of its trials have another partner.
pub(crate) fn pairs_by_turns<'a>(
    results: &Results,
    a: &ConditionTrials<'a>,
    b: &ConditionTrials<'a>,
) -> Option<[ConditionTrials<'a>; 2]> {
    results.plan.as_ref()?.turns.as_ref()?;
    Some(alternated(a, b)).filter(|[a, _]| a.ok.len() >= 2)
}

/// `in_blocks` if every value is positive, as logarithms require.
pub(crate) fn by_block(a: &ConditionTrials<'_>, b: &ConditionTrials<'_>, metric: &str) -> Option<(Vec<f64>, Vec<f64>)> {
    let (a, b) = in_blocks(a, b, metric)?;
    a.iter().chain(&b).all(|v| *v > 0.0).then_some((a, b))
}

/// The value of one metric of one trial: the mean over its samples, or, for a percentile of samples with histograms,
/// the percentile of all its transactions.
pub fn trial_mean(trial: &TrialRecord, metric: &str) -> Option<f64> {
    if let Some(merged) = trial.of_all_samples.get(metric) {
        return Some(*merged);
    }
    let (sum, count) = trial.finite(metric).fold((0.0, 0usize), |(sum, n), value| (sum + value, n + 1));
    let plain = sum / count as f64;
    if plain.is_finite() { Some(plain) } else { mean(&trial.values(metric)) }
}

/// The mean of finite values, even if their sum overflows; none for an empty list.
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    let plain = values.iter().sum::<f64>() / values.len() as f64;
    if plain.is_finite() { Some(plain) } else { tare_stats::descriptive::mean(values) }
}

/// Every metric of any condition, in table order.
pub fn all_metrics(conditions: &[ConditionTrials<'_>]) -> Vec<String> {
    ordered(conditions.iter().flat_map(|c| &c.ok).flat_map(|trial| trial.metric_names()))
}

fn ordered<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = names.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect();
    names.sort_by_cached_key(|name| metric::sort_key(name));
    names
}

/// Whether a record is analysed, clean or disturbed.
pub fn is_usable(trial: &TrialRecord) -> bool {
    trial.outcome == Outcome::Ok && !matches!(state::of(trial), State::Failed(_))
}

/// Number of planned trials without a usable record: not run yet, or failed finally.
pub fn missing_trials(results: &Results) -> usize {
    missing(results).len()
}

/// Whether trials are missing and the study allows no further attempt at any of them.
pub fn is_out_of_attempts(results: &Results) -> bool {
    let attempts = || study(results)?.get("sampling")?.get("attempts")?.as_integer();
    let Some(attempts) = attempts() else { return false };
    let made = |trial| results.trials.iter().filter(|record| record.trial == trial).map(|record| record.attempt).max();
    let missing = missing(results);
    !missing.is_empty() && missing.into_iter().all(|trial| made(trial).is_some_and(|made| i64::from(made) >= attempts))
}

fn missing(results: &Results) -> Vec<usize> {
    let Some(plan) = results.plan.as_ref().filter(|_| results.source != Source::Csv) else { return Vec::new() };
    let done: BTreeSet<usize> =
        results.trials.iter().filter(|trial| is_usable(trial)).map(|trial| trial.trial).collect();
    plan.trials.iter().map(|planned| planned.trial).filter(|trial| !done.contains(trial)).collect()
}

const THREADS: &str = "threads";

/// The number of client threads that this condition sets while others set none: its throughput belongs to another load,
/// so it is not comparable with that of the others.
pub(super) fn own_threads<'a>(levels: &'a Levels, mut all: impl Iterator<Item = &'a Levels>) -> Option<&'a str> {
    let own = levels.get(THREADS)?;
    all.any(|levels| !levels.contains_key(THREADS)).then_some(own.as_str())
}

/// Splits conditions into the main ones and those with their own number of client threads.
pub(super) fn split_off<'a>(
    conditions: Vec<ConditionTrials<'a>>,
) -> (Vec<ConditionTrials<'a>>, Vec<ConditionTrials<'a>>) {
    let (main, aside): (Vec<_>, Vec<_>) =
        conditions.into_iter().partition(|condition| !condition.levels.contains_key(THREADS));
    if main.is_empty() { (aside, main) } else { (main, aside) }
}
