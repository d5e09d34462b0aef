//! Chooses counts from a pilot: the first trials of a study show where its variance comes from, and so how many
//! trials with how many samples reach the requested half-width within the given time (Kalibera & Jones, by
//! `tare_stats::plan`). The decision is written into the plan with its reason. The schedule grows in the same order,
//! and grows again if the half-width was not reached, because a pilot's estimate of a variance is itself uncertain.

use crate::language::settings::{Sampling, Settings};
use crate::language::spec::Study;
use std::collections::BTreeSet;
use tare_results::schema::{Decision, Outcome, Plan, TrialRecord};
use tare_results::{MOST_SAMPLES, MOST_TRIALS, metric};
use tare_stats::Trials;
use tare_stats::components::{Nested, components};
use tare_stats::descriptive::{mean, variance};
use tare_stats::plan::{
    Costs, Pilot, Recommendation, Target, recommend, relative_half_width, top_count, warmup_readings,
};
use tare_text::{count, percent};

/// A series with fewer readings shows nothing about its warm-up.
const FEWEST_READINGS: usize = 10;
/// At most this many times the pilot's samples per trial are chosen: a pilot that is too small to show the variance
/// between trials would otherwise result in one endless trial.
const MORE_SAMPLES: u64 = 10;

/// Trials per condition in the first schedule: all, or the pilot's.
pub(crate) fn first_trials(sampling: &Sampling) -> usize {
    // One trial shows no variance between trials.
    if sampling.target_half_width.is_some() { sampling.trials.max(2) } else { sampling.trials }
}

/// The plan's note if counts are still to be chosen.
pub(crate) fn note(sampling: &Sampling) -> Option<String> {
    let target = sampling.target_half_width?;
    Some(format!(
        "these trials are a pilot run: afterwards tare chooses warm-up, samples and trials for 95% intervals of ±{}, \
         within {} s",
        percent(target),
        sampling.budget_s
    ))
}

/// The size of one trial: as in the study, or as decided after the pilot. For a load with a warm-up in runs,
/// additional runs are set in its settings.
pub(crate) fn decided(sampling: &Sampling, settings: &mut Settings, plan: &Plan, trial: usize) -> Sampling {
    let mut sampling = sampling.clone();
    if let Some(decision) = plan.decision.as_ref().filter(|decision| trial >= decision.first_trial) {
        sampling.samples = decision.samples;
        sampling.warmup_s = decision.warmup_s;
        settings.workload.load.load_mut().add_warmup_runs(decision.extra_warmup_runs);
    }
    sampling
}

/// The plan with a decision and its trials, if the pilot has ended and nothing is decided yet; or with more trials,
/// if all have run and the expected half-width is not reached.
pub fn extended(study: &Study, plan: &Plan, records: &[TrialRecord]) -> Option<Plan> {
    let target = study.sampling.target_half_width?;
    let (decision, more) = match &plan.decision {
        Some(decision) => more_blocks(study, plan, records, decision, target)?,
        None => {
            let decision = decide(study, plan, records, target);
            let pilot = if decision.pilot_counts { blocks(plan) } else { 0 };
            let more = decision.trials.saturating_sub(pilot);
            (decision, more)
        }
    };
    Some(grown(plan, decision, more))
}

fn grown(plan: &Plan, decision: Decision, more: usize) -> Plan {
    let mut plan = plan.clone();
    let blocks = blocks(&plan);
    let names: Vec<String> = plan.realizable().map(|c| c.name.clone()).collect();
    let order = tare_stats::order::randomized_blocks(names.len(), blocks + more, plan.seed);
    for (block, order) in order.into_iter().enumerate().skip(blocks) {
        for index in order {
            plan.push(block, &names[index], None);
        }
    }
    plan.decision = Some(decision);
    plan
}

struct Advice<'a> {
    case: &'a Case<'a>,
    covs: Vec<f64>,
    found: Recommendation,
}

fn decide(study: &Study, plan: &Plan, records: &[TrialRecord], target: f64) -> Decision {
    let sampling = &study.sampling;
    let ok = usable(records, 0);
    let names = metrics(&ok);
    let cases = cases(plan, &ok, &names);
    let in_runs = study.base.workload.load.load().warms_up_in_runs();
    let extra: Vec<(usize, f64)> = cases.iter().map(|case| extra_warmup(case, target)).collect();
    let extra_runs = extra.iter().map(|(dropped, _)| *dropped).max().filter(|_| in_runs).unwrap_or(0);
    let extra_s = extra.iter().map(|(dropped, interval_s)| *dropped as f64 * interval_s).fold(0.0, f64::max);
    let spent_s: f64 = records.iter().map(|r| r.elapsed_s).sum();
    let budget_s = if extra_s > 0.0 { (sampling.budget_s - spent_s).max(1.0) } else { sampling.budget_s };
    let conditions = plan.realizable().count();
    let costs = costs(&ok, extra_s, conditions);
    let pilot_counts = extra_s == 0.0;
    let room = room(plan) + if pilot_counts { blocks(plan) } else { 0 };
    let target_of = Target {
        relative_half_width: target,
        confidence: CONFIDENCE,
        budget_s,
        max_samples: (MORE_SAMPLES * sampling.samples as u64).min(MOST_SAMPLES as u64),
        max_trials: room as u64,
    };
    let advice: Vec<Advice<'_>> = cases.iter().filter_map(|case| advise(case, &costs?, &target_of)).collect();
    // The case with the largest variance needs most; if time is short, it is the one with the widest interval.
    let worst = advice.iter().max_by(|a, b| {
        let widths = || a.found.relative_half_width.total_cmp(&b.found.relative_half_width);
        a.found.trials.cmp(&b.found.trials).then_with(widths)
    });
    let pilot = first_trials(sampling);
    let mut decision = Decision {
        first_trial: plan.trials.len(),
        trials: pilot,
        samples: sampling.samples,
        warmup_s: sampling.warmup_s + if in_runs { 0.0 } else { extra_s },
        extra_warmup_runs: extra_runs,
        pilot_counts,
        half_width: None,
        reason: "Nothing could be decided from the pilot: no metric has two trials.".into(),
    };
    if let Some(worst) = worst {
        decision.trials = usize::try_from(worst.found.trials).unwrap_or(usize::MAX);
        decision.samples = usize::try_from(worst.found.samples).unwrap_or(usize::MAX);
        decision.half_width = Some(worst.found.relative_half_width);
        decision.reason = reason(worst, &decision, sampling, pilot, target, decision.trials >= room);
    }
    decision
}

fn advise<'a>(case: &'a Case<'a>, costs: &Costs, target: &Target) -> Option<Advice<'a>> {
    let samples: Vec<Vec<f64>> =
        case.trials.iter().map(|trial| trial.values(case.metric)).filter(|s| !s.is_empty()).collect();
    let samples = Trials::new(&samples).ok()?;
    let covs = components(&Nested::from_trials(samples)).ok()?.covs()?;
    let pilot = Pilot { series: &[], interval_s: 1.0, samples };
    let found = recommend(&pilot, costs, target).ok()?;
    Some(Advice { case, covs, found })
}

/// Mean time of a sample, and of the rest of a trial, seconds.
fn costs(ok: &[&TrialRecord], extra_s: f64, conditions: usize) -> Option<Costs> {
    let sampled_s = |r: &TrialRecord| r.samples.iter().map(|s| s.elapsed_s).sum::<f64>();
    let sample_s = mean(&ok.iter().flat_map(|r| &r.samples).map(|s| s.elapsed_s).collect::<Vec<f64>>())?;
    let trial_s = mean(&ok.iter().map(|r| (r.elapsed_s - sampled_s(r)).max(0.0)).collect::<Vec<f64>>())?;
    Some(Costs { trial_s: (trial_s + extra_s).max(1e-3), sample_s: sample_s.max(1e-6), conditions: conditions as u64 })
}

/// Readings at the start of the measurement that still belong to the warm-up, and the seconds between two: found by
/// MSER on the mean of all trials' series (Welch: averaging replications leaves what they share), and only if what
/// would be dropped differs from the rest by more than the requested half-width.
fn extra_warmup(case: &Case<'_>, target: f64) -> (usize, f64) {
    let (series, interval_s) = mean_series(case);
    if series.len() < FEWEST_READINGS {
        return (0, interval_s);
    }
    let dropped = warmup_readings(&series).unwrap_or(series.len() / 2);
    match (mean(&series[..dropped]), mean(&series[dropped..])) {
        (Some(before), Some(after)) if (before / after - 1.0).abs() > target => (dropped, interval_s),
        _ => (0, interval_s),
    }
}

/// The mean over trials of their readings in order, and the seconds between two: one reading per second for
/// throughput, otherwise the samples themselves.
fn mean_series(case: &Case<'_>) -> (Vec<f64>, f64) {
    let seconds = |r: &&TrialRecord| r.samples.iter().flat_map(|s| s.tps_each_second.clone()).collect::<Vec<f64>>();
    let mut all: Vec<Vec<f64>> =
        if case.metric == "tps" { case.trials.iter().map(seconds).collect() } else { Vec::new() };
    let mut interval_s = 1.0;
    if all.iter().all(Vec::is_empty) {
        all = case.trials.iter().map(|r| r.values(case.metric)).collect();
        let lengths: Vec<f64> = case.trials.iter().flat_map(|r| &r.samples).map(|s| s.elapsed_s).collect();
        interval_s = mean(&lengths).unwrap_or(1.0);
    }
    let shortest = all.iter().map(Vec::len).min().unwrap_or(0);
    let series = (0..shortest).filter_map(|i| mean(&all.iter().map(|s| s[i]).collect::<Vec<f64>>())).collect();
    (series, interval_s)
}

fn reason(
    worst: &Advice<'_>,
    decision: &Decision,
    sampling: &Sampling,
    pilot: usize,
    target: f64,
    is_full: bool,
) -> String {
    let cov = |level: usize| worst.covs.get(level).map_or_else(|| "unknown".to_owned(), |cov| percent(*cov));
    let warmup = match decision.extra_warmup_runs {
        _ if decision.pilot_counts => String::new(),
        0 => format!(" after {:.3} s of warm-up instead of {:.3} s", decision.warmup_s, sampling.warmup_s),
        runs => format!(" after {} more of warm-up", count(runs, "run")),
    };
    let discarded =
        if decision.pilot_counts { "" } else { ", because the pilot was still warming up and does not count" };
    let found = &worst.found;
    let outcome = if found.reaches_target {
        format!("for an interval of ±{} or less", percent(target))
    } else {
        let fits = percent(found.relative_half_width);
        let most = match is_full {
            true => format!("as many as a plan has room for ({MOST_TRIALS} of all conditions)"),
            false => format!("as many as fit into {:.0} s", sampling.budget_s),
        };
        format!("{most}, for ±{fits} instead of the requested ±{}", percent(target))
    };
    format!(
        "A pilot of {} per condition set the counts: the least steady is {} at {} (within trials {}, between trials \
         {}), so {} of {}{warmup}{discarded}, {outcome}.",
        count(pilot, "trial"),
        worst.case.metric,
        worst.case.condition,
        cov(0),
        cov(1),
        count(decision.trials, "trial"),
        count(decision.samples, "sample"),
    )
}

/// Least time of a trial, seconds: with 0 every budget would last for ever.
const SHORTEST_S: f64 = 1e-3;

/// Limit on the blocks that are added before the spread is checked again.
const MOST_AT_ONCE: usize = 1000;

/// The current interval of a case.
struct Reached<'a> {
    case: &'a Case<'a>,
    half_width: f64,
    trials: usize,
    /// Trials needed to reach the target with this spread.
    needed: usize,
}

/// The decision with the number of blocks to add to the plan: none if trials are still to run, if the half-width is
/// reached, or if it was never expected to be.
fn more_blocks(
    study: &Study,
    plan: &Plan,
    records: &[TrialRecord],
    decision: &Decision,
    target: f64,
) -> Option<(Decision, usize)> {
    let is_expected = decision.half_width.is_some_and(|half_width| half_width <= target);
    let ran: BTreeSet<usize> = records.iter().map(|record| record.trial).collect();
    if !is_expected || !plan.trials.iter().all(|planned| ran.contains(&planned.trial)) {
        return None;
    }
    let ok = usable(records, if decision.pilot_counts { 0 } else { decision.first_trial });
    let names = metrics(&ok);
    let cases = cases(plan, &ok, &names);
    let widest = cases
        .iter()
        .filter_map(|case| reached(case, target))
        .max_by(|a, b| a.half_width.total_cmp(&b.half_width))
        .filter(|widest| widest.half_width > target)?;
    let affordable = affordable(study, plan, records, decision);
    let wanted = widest.needed.saturating_sub(widest.trials).clamp(1, MOST_AT_ONCE);
    let added = wanted.min(affordable);
    let mut decision = decision.clone();
    let what = format!(
        "After {} the interval of {} at {} was ±{}",
        count(widest.trials, "trial"),
        widest.case.metric,
        widest.case.condition,
        percent(widest.half_width)
    );
    // A pilot may have run more of them than were requested.
    let counted = if decision.pilot_counts { blocks(plan) } else { decision.trials };
    decision.trials = counted + added;
    if added == 0 {
        decision.half_width = Some(widest.half_width);
        decision.reason += &match room(plan) {
            0 => format!(" {what}, and the plan has no room for more."),
            _ => format!(" {what}, and {:.0} s are not enough for more.", study.sampling.budget_s),
        };
    } else {
        decision.reason += &format!(
            " {what}: {} added.",
            if added == 1 { "a block was".to_owned() } else { format!("{added} blocks were") }
        );
    }
    Some((decision, added))
}

/// None if fewer than two trials have a result.
fn reached<'a>(case: &'a Case<'a>, target: f64) -> Option<Reached<'a>> {
    let of_trials: Vec<f64> = case.trials.iter().filter_map(|trial| mean(&trial.values(case.metric))).collect();
    let (centre, s2, trials) = (mean(&of_trials)?, variance(&of_trials)?, of_trials.len());
    let half_width = relative_half_width(centre, s2, trials as u64, CONFIDENCE);
    let needed = top_count(centre, s2, target, CONFIDENCE).and_then(|needed| usize::try_from(needed).ok());
    Some(Reached { case, half_width, trials, needed: needed.unwrap_or(usize::MAX) })
}

/// Number of blocks that fit into the remaining time and the plan, at the mean duration of trials since the decision.
fn affordable(study: &Study, plan: &Plan, records: &[TrialRecord], decision: &Decision) -> usize {
    let taken_s = |record: &TrialRecord| record.elapsed_s.max(SHORTEST_S);
    let spent_s: f64 = records.iter().map(taken_s).sum();
    let later: Vec<f64> = records.iter().filter(|r| r.trial >= decision.first_trial).map(taken_s).collect();
    let trial_s = mean(&later).or_else(|| mean(&records.iter().map(taken_s).collect::<Vec<f64>>()));
    let conditions = plan.realizable().count();
    let block_s = trial_s.unwrap_or(SHORTEST_S) * conditions.max(1) as f64;
    // The cast saturates: a negative number becomes 0, a number too large for the type the largest.
    let in_time = ((study.sampling.budget_s - spent_s) / block_s).floor() as usize;
    in_time.min(room(plan))
}

/// Number of blocks that the plan can still take.
fn room(plan: &Plan) -> usize {
    MOST_TRIALS.saturating_sub(plan.trials.len()) / plan.realizable().count().max(1)
}

const CONFIDENCE: f64 = 0.95;

pub(super) struct Case<'a> {
    pub condition: &'a str,
    pub metric: &'a str,
    pub trials: Vec<&'a TrialRecord>,
}

pub(super) fn usable(records: &[TrialRecord], first: usize) -> Vec<&TrialRecord> {
    records.iter().filter(|r| r.trial >= first && r.outcome == Outcome::Ok && !r.samples.is_empty()).collect()
}

pub(super) fn cases<'a>(plan: &'a Plan, ok: &[&'a TrialRecord], names: &'a [String]) -> Vec<Case<'a>> {
    let each = plan.conditions.iter().flat_map(|condition| {
        names.iter().map(|metric| Case {
            condition: condition.name.as_str(),
            metric: metric.as_str(),
            trials: ok.iter().copied().filter(|r| r.condition == condition.name).collect(),
        })
    });
    each.collect()
}

/// The metrics that a study is about; if it has none of those, all.
pub(super) fn metrics(ok: &[&TrialRecord]) -> Vec<String> {
    let all: BTreeSet<&String> = ok.iter().flat_map(|r| &r.samples).flat_map(|s| s.metrics.keys()).collect();
    let primary: Vec<String> = all.iter().filter(|n| metric::describe(n).is_primary()).map(|n| (*n).clone()).collect();
    if primary.is_empty() { all.into_iter().cloned().collect() } else { primary }
}

pub(super) fn blocks(plan: &Plan) -> usize {
    plan.trials.iter().map(|t| t.block + 1).max().unwrap_or(0)
}

#[cfg(test)]
#[path = "pilot_tests.rs"]
mod tests;
