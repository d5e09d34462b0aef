//! Whether a study has reached the half-width expected after its pilot, and how many more blocks it needs.

use super::cases::{self, CONFIDENCE, Case, blocks, metrics, usable};
use crate::language::spec::Study;
use std::collections::BTreeSet;
use tare_results::schema::{Decision, Plan, TrialRecord};
use tare_stats::descriptive::{mean, variance};
use tare_stats::plan::{relative_half_width, top_count};
use tare_text::{count, percent};

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
pub(super) fn more(
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
    let cases = cases::cases(plan, &ok, &names);
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
        decision.reason += &format!(" {what}, and {:.0} s are not enough for more.", study.sampling.budget_s);
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

/// Number of blocks that fit into the remaining time, at the mean duration of trials since the decision.
fn affordable(study: &Study, plan: &Plan, records: &[TrialRecord], decision: &Decision) -> usize {
    let taken_s = |record: &TrialRecord| record.elapsed_s.max(SHORTEST_S);
    let spent_s: f64 = records.iter().map(taken_s).sum();
    let later: Vec<f64> = records.iter().filter(|r| r.trial >= decision.first_trial).map(taken_s).collect();
    let trial_s = mean(&later).or_else(|| mean(&records.iter().map(taken_s).collect::<Vec<f64>>()));
    let conditions = plan.conditions.iter().filter(|condition| condition.realizable).count();
    let block_s = trial_s.unwrap_or(SHORTEST_S) * conditions.max(1) as f64;
    // The cast saturates: a negative number becomes 0, a number too large for the type the largest.
    ((study.sampling.budget_s - spent_s) / block_s).floor() as usize
}
