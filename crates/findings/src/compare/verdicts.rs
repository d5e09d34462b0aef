//! Ratios, intervals and verdicts of matched metrics, the failed trials of each side, and the gate.

use super::conclusion::{Gate, Note};
use super::matching::Matched;
use super::model::{
    Adjusted, Beyond, Change, CompareError, ConditionPair, Losses, Lost, MetricComparison, ProbeChange, Side,
};
use super::pairs::{Pair, Values};
use crate::collect::ConditionTrials;
use crate::confidence::CONFIDENCE;
use crate::state;
use std::collections::BTreeSet;
use tare_results::metric::{self, Better};
use tare_results::schema::PlannedTrial;
use tare_stats::blocks::are_few;
use tare_stats::counts::{Count, more_in_b};
use tare_stats::multiple::holm;
use tare_stats::ratio::{self, Arms, Effect, Verdict};

/// Failures of both sides, for every pair of conditions in which one side failed; not tested yet.
pub(super) fn losses(matched: &Matched<'_, '_>, labels: [&str; 2]) -> Vec<Losses> {
    let of = |(a, b): &(&ConditionTrials<'_>, &ConditionTrials<'_>)| {
        let condition = ConditionPair { a: a.name.to_owned(), b: b.name.to_owned() };
        Losses::of(labels, condition, [lost(a), lost(b)])
    };
    matched.iter().filter_map(of).collect()
}

/// Notes on the failed and lost trials of a side's condition.
pub(super) fn of_losses(side: &str, condition: &str, failed: usize, lost: Lost) -> impl Iterator<Item = Note> + use<> {
    let (side, condition) = (side.to_owned(), condition.to_owned());
    let failed = (failed > 0).then(|| Note::Failed { side: side.clone(), condition: condition.clone(), failed });
    failed.into_iter().chain((lost.lost > 0).then_some(Note::Lost { side, condition, lost }))
}

/// Notes on trials of a side's condition that failed because nothing was done in them.
pub(super) fn nothing_done(label: &str, side: &ConditionTrials<'_>) -> Vec<Note> {
    let note = |(metric, failed): (String, usize)| {
        let (side, condition) = (label.to_owned(), side.name.to_owned());
        Note::NothingDone { side, condition, metric, failed }
    };
    state::nothing_done(side.failed.iter().copied()).into_iter().map(note).collect()
}

/// Attempts that were spoiled by a disturbance do not count as failures of the side.
pub(super) fn lost(side: &ConditionTrials<'_>) -> Lost {
    let numbers = |trials: &[&tare_results::schema::TrialRecord]| trials.iter().map(|t| t.trial).collect();
    let (failed, ok): (BTreeSet<usize>, BTreeSet<usize>) = (numbers(&side.failed), numbers(&side.ok));
    Lost { failed: failed.len(), lost: side.lost(), trials: failed.union(&ok).count() }
}

/// Planned trials of a side that were not run, of the compared conditions or, without a selection, of all. Rounds end
/// by a rule, not by a plan.
pub(super) fn unfinished(side: Side<'_>, compared: &[&str], label: &str) -> Option<Note> {
    let plan = side.results.plan.as_ref().filter(|plan| !plan.goes_in_rounds())?;
    let realizable =
        |name: &str| plan.conditions.iter().all(|condition| condition.realizable || condition.name != name);
    let is_compared = |name: &str| side.condition.is_none() || compared.contains(&name);
    let made: BTreeSet<usize> = side.results.trials.iter().map(|trial| trial.trial).collect();
    let mine = |trial: &&PlannedTrial| is_compared(&trial.condition) && realizable(&trial.condition);
    let planned: Vec<usize> = plan.trials.iter().filter(mine).map(|trial| trial.trial).collect();
    let missing = planned.iter().filter(|trial| !made.contains(trial)).count();
    (missing > 0).then(|| Note::Unfinished { side: label.to_owned(), missing, planned: planned.len() })
}

/// Whether a comparison lacks something that the first side should have been compared with.
pub(super) fn is_incomplete(notes: &[Note], first: &str) -> bool {
    notes.iter().any(|note| match note {
        Note::Unfinished { .. } => true,
        Note::OnlyIn { side, .. } => side == first,
        _ => false,
    })
}

/// Tests whether B fails more often; all pairs of conditions are one family of tests.
pub(super) fn tested_losses(mut all: Vec<Losses>) -> Vec<Losses> {
    let count = |lost: &Lost| Count { hits: lost.failed, of: lost.trials };
    let p_values: Vec<f64> = all.iter().map(|found| more_in_b(count(&found.a), count(&found.b))).collect();
    for (found, p_value) in all.iter_mut().zip(holm(&p_values)) {
        (found.p_value, found.b_fails_more) = (p_value, p_value <= 1.0 - CONFIDENCE);
    }
    all
}

pub(super) fn judge(pairs: &mut [Pair], requested: &[String]) -> Result<(), CompareError> {
    let known: Vec<String> = pairs.iter().map(|pair| pair.comparison.name.clone()).collect();
    if known.is_empty() {
        return Err(CompareError::NoMetric);
    }
    if let Some(name) = requested.iter().find(|name| !known.contains(name)) {
        let mut known = known;
        known.sort_by_cached_key(|name| metric::sort_key(name));
        known.dedup();
        return Err(CompareError::NoSuchMetric { name: name.clone(), known });
    }
    let any_primary = known.iter().any(|name| metric::describe(name).is_primary());
    for pair in pairs {
        let comparison = &mut pair.comparison;
        comparison.judged = if requested.is_empty() {
            !any_primary || metric::describe(&comparison.name).is_primary()
        } else {
            requested.contains(&comparison.name)
        };
    }
    Ok(())
}

/// Computes ratios, intervals and verdicts; the given pairs are one family of tests. A verdict that changes without the
/// disturbed trials becomes inconclusive, unless it holds under the largest possible effect of the disturbance.
pub(super) fn verdicts(mut pairs: Vec<Pair>, min_effect: f64) -> Vec<Pair> {
    let outcomes = compared(&pairs, min_effect, |pair| &pair.all);
    let disturbed = pairs.iter().any(|pair| pair.clean.is_some());
    let clean = if disturbed { compared(&pairs, min_effect, Pair::undisturbed) } else { Vec::new() };
    let bounded = CLAIMS.map(|verdict| match disturbed {
        true => compared(&pairs, min_effect, |pair| against(pair, verdict)),
        false => Vec::new(),
    });
    for (index, outcome) in outcomes.into_iter().enumerate() {
        let (Some(outcome), Some(pair)) = (outcome, pairs.get_mut(index)) else { continue };
        let without = clean.get(index).map(|found| found.map_or(Verdict::Inconclusive, |found| found.verdict));
        let agreed = pair.clean.is_none() || without == Some(outcome.verdict);
        let beyond = (!agreed).then(|| beyond(index, outcome.verdict, &bounded)).flatten();
        let beyond = beyond
            .zip(pair.against(outcome.verdict))
            .and_then(|(left, (_, taken))| Some(Beyond { taken, ratio: left.ratio()?.value, ci: left.ratio()?.ci }));
        pair.comparison.beyond = beyond;
        let agreed = agreed || beyond.is_some();
        // Both the plain and the adjusted values are shown; the verdict is based on what was declared in advance.
        match pair.plain(&pair.all).effect(CONFIDENCE) {
            Ok(Effect::Ratio(plain)) => {
                (pair.comparison.ratio, pair.comparison.ci) = (Some(plain.value), plain.ci);
            }
            Ok(Effect::Difference(plain)) => {
                pair.comparison.difference = Some(Change { value: plain.value, ci: plain.ci });
            }
            Err(_) => {}
        }
        let by = pair.all.probes.as_ref().and(pair.probe);
        pair.comparison.adjusted = by.zip(outcome.effect.ratio()).map(|(probe, found)| Adjusted {
            by: probe,
            ratio: found.value,
            ci: found.ci,
            probe: None,
        });
        pair.comparison.withheld = !agreed && CLAIMS.contains(&outcome.verdict);
        pair.comparison.verdict = if agreed { outcome.verdict } else { Verdict::Inconclusive };
    }
    of_probes(&mut pairs);
    pairs
}

/// The first pair whose verdict depends on the independence of trials of two runs that do not exclude a correlation.
pub(super) fn undetected(judged: &[Pair], min_effect: f64) -> Option<&Pair> {
    let as_is = compared(judged, min_effect, |pair| &pair.all);
    let values: Vec<Values> = judged.iter().map(Pair::if_drifted).collect();
    let arms: Vec<Arms<'_>> = judged.iter().zip(&values).map(|(pair, values)| pair.arms(values)).collect();
    let drifted = ratio::compare(&arms, min_effect, CONFIDENCE).ok()?;
    let depends = |(pair, (one, other)): (&Pair, (&Option<ratio::Comparison>, &ratio::Comparison))| {
        let verdict = pair.comparison.verdict;
        verdict != Verdict::Inconclusive && one.is_some_and(|one| one.verdict == verdict) && other.verdict != verdict
    };
    let place = judged.iter().zip(as_is.iter().zip(&drifted)).position(depends)?;
    judged.get(place)
}

/// The first pair of two runs whose interval would not be within the margin of a gate if neighbouring trials had the
/// correlation that the runs do not exclude, although the gate passes.
pub(super) fn passes_undrifted(judged: &[Pair], margin: f64) -> Option<&Pair> {
    let depends = |pair: &&Pair| {
        let drifted = pair.if_drifted();
        let is_within = |values: &Values| {
            let found =
                ratio::compare(&[pair.arms(values)], margin, CONFIDENCE).ok().and_then(|all| all.first().copied());
            is_within(pair, values, found, margin)
        };
        pair.all.unseen.is_some() && is_within(&pair.all) && !is_within(&drifted)
    };
    judged.iter().find(depends)
}

/// A metric with the same figures as a judged metric gets its verdict: `qps` next to `tps` if a transaction is one
/// query.
pub(super) fn as_judged(judged: &[Pair], others: &mut [Pair]) {
    for other in others.iter_mut().map(|pair| &mut pair.comparison) {
        let same = |one: &&MetricComparison| {
            (&one.condition, one.better, one.ci) == (&other.condition, other.better, other.ci)
                && (one.mean_a, one.mean_b) == (other.mean_a, other.mean_b)
        };
        if let Some(one) = judged.iter().map(|pair| &pair.comparison).find(same) {
            (other.verdict, other.beyond, other.withheld) = (one.verdict, one.beyond, one.withheld);
        }
    }
}

/// The verdicts that disturbance could explain.
const CLAIMS: [Verdict; 2] = [Verdict::Slower, Verdict::Faster];

/// The remaining effect of a verdict under the largest possible effect of the disturbance; none if the verdict changes.
fn beyond(index: usize, verdict: Verdict, bounded: &[Vec<Option<ratio::Comparison>>]) -> Option<Effect> {
    let family = CLAIMS.iter().position(|claim| *claim == verdict).and_then(|place| bounded.get(place))?;
    let found = family.get(index).copied().flatten()?;
    (found.verdict == verdict).then_some(found.effect)
}

/// The values least favourable to a verdict; if the disturbance has no bound, those without disturbed trials.
fn against(pair: &Pair, verdict: Verdict) -> &Values {
    pair.against(verdict).map_or(pair.undisturbed(), |(values, _)| values)
}

/// The changes of the probes themselves, for every metric adjusted by one; all are one family of tests.
fn of_probes(pairs: &mut [Pair]) {
    let places: Vec<usize> = (0..pairs.len()).filter(|i| pairs[*i].comparison.adjusted.is_some()).collect();
    let arms: Vec<Arms<'_>> = places.iter().filter_map(|i| pairs[*i].probe_arms(&pairs[*i].all)).collect();
    let found = ratio::compare(&arms, 0.0, CONFIDENCE).unwrap_or_default();
    for (index, outcome) in places.into_iter().zip(found) {
        let shown = matches!(outcome.verdict, Verdict::Faster | Verdict::Slower);
        let change = outcome.effect.ratio().map(|found| ProbeChange { ratio: found.value, ci: found.ci, shown });
        if let Some(adjusted) = &mut pairs[index].comparison.adjusted {
            adjusted.probe = change;
        }
    }
}

/// One outcome per pair; none for a pair that cannot be compared (no trial left, numbers too large), so that it does
/// not invalidate the family.
fn compared<'p>(
    pairs: &'p [Pair],
    min_effect: f64,
    values: impl Fn(&'p Pair) -> &'p Values,
) -> Vec<Option<ratio::Comparison>> {
    let usable: Vec<usize> =
        (0..pairs.len()).filter(|i| pairs[*i].arms(values(&pairs[*i])).effect(CONFIDENCE).is_ok()).collect();
    let family: Vec<Arms<'_>> = usable.iter().map(|i| pairs[*i].arms(values(&pairs[*i]))).collect();
    let mut outcomes = vec![None; pairs.len()];
    for (index, outcome) in usable.into_iter().zip(ratio::compare(&family, min_effect, CONFIDENCE).unwrap_or_default())
    {
        outcomes[index] = Some(outcome);
    }
    outcomes
}

/// The gate fails if a judged metric is shown to be slower by more than the margin, adjusted for the number of metrics.
/// It passes if the worse end of every judged interval lies within the margin; this needs no adjustment, because all
/// intervals must. Few trials must also give the verdict that B is equivalent or faster, because their interval is too
/// narrow if trials have two modes ([`are_few`]). Otherwise it is inconclusive, as it is if the result changes without
/// the disturbed trials, unless the slowdown is larger than the disturbance could explain.
///
/// It also fails if B is shown to lose trials more often, and it cannot pass if a side lost trials, or if the
/// comparison is `incomplete`: [`is_incomplete`]. Metrics that fail it are marked.
pub(super) fn gate(judged: &mut [Pair], losses: &[Losses], incomplete: bool, margin: f64) -> Gate {
    let lost = losses.iter().any(|found| found.a.lost + found.b.lost > 0);
    let outcomes = compared(judged, margin, |pair| &pair.all);
    for (pair, outcome) in judged.iter_mut().zip(outcomes) {
        pair.comparison.fails_gate = outcome.is_some_and(|outcome| outcome.verdict == Verdict::Slower);
    }
    match of_metrics(judged, margin) {
        _ if losses.iter().any(|found| found.b_fails_more) => Gate::Failed,
        Gate::Passed if lost || incomplete || judged.is_empty() => Gate::Inconclusive,
        by_metrics => by_metrics,
    }
}

fn of_metrics(judged: &[Pair], margin: f64) -> Gate {
    let with = gate_of(judged, margin, |pair| &pair.all);
    let disturbed = judged.iter().any(|pair| pair.clean.is_some());
    if !disturbed || gate_of(judged, margin, Pair::undisturbed) == with {
        return with;
    }
    // A failure counts only beyond what the disturbance could explain.
    let beyond = || gate_of(judged, margin, |pair| against(pair, Verdict::Slower)) == Gate::Failed;
    if with == Gate::Failed && beyond() { Gate::Failed } else { Gate::Inconclusive }
}

fn gate_of<'p>(judged: &'p [Pair], margin: f64, values: impl Fn(&'p Pair) -> &'p Values) -> Gate {
    let outcomes = compared(judged, margin, &values);
    if outcomes.iter().flatten().any(|outcome| outcome.verdict == Verdict::Slower) {
        return Gate::Failed;
    }
    let within =
        |(pair, outcome): (&'p Pair, &Option<ratio::Comparison>)| is_within(pair, values(pair), *outcome, margin);
    if judged.iter().zip(&outcomes).all(within) { Gate::Passed } else { Gate::Inconclusive }
}

/// Whether the worse end of the interval of these values lies within the margin.
fn is_within(pair: &Pair, values: &Values, outcome: Option<ratio::Comparison>, margin: f64) -> bool {
    let Some(ratio::Comparison { effect, verdict, .. }) = outcome else { return false };
    let Some(ci) = effect.estimate().ci else { return false };
    if are_few([values.a.len(), values.b.len()]) && !matches!(verdict, Verdict::Equivalent | Verdict::Faster) {
        return false;
    }
    // A difference is taken relative to the magnitude of A.
    let relative = |end: f64| match effect {
        Effect::Ratio(_) => end,
        Effect::Difference(_) => 1.0 + end / pair.comparison.mean_a.abs(),
    };
    match pair.comparison.better {
        Better::Higher => relative(ci.low) >= 1.0 / (1.0 + margin),
        Better::Lower => relative(ci.high) <= 1.0 + margin,
    }
}
