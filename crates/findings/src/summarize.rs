//! Computes a [`Summary`] from results, and whether a study's question is settled before all of its trials have run:
//! then every factor either has a shown effect or is bounded by a small one, and every pooled step either gives less or
//! hardly less. The error rate is controlled by the rate of the look alone, so this stopping rule may be arbitrary.

use super::ab::Ab;
use super::answer::{self, headline_metric};
use super::collect::{self, ConditionTrials};
use super::condition::{ConditionSummary, MetricSummary};
use super::confidence::CONFIDENCE;
use super::question::AnswerContext;
use super::summary::Summary;
use super::verdict::{Answer, Moved, MovedAlone};
use super::{
    best, builds, captures, composite, counters, effects, hosts, latencies, left_out, lifetimes, load_steps, mode,
    modes, placement, places, plans, pooled, probes, residuals, rounding, scaling, spread, time, warm_up,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tare_results::looks::{Look, looks};
use tare_results::probe::Probe;
use tare_results::question::Question;
use tare_results::schema::Plan;
use tare_results::{Results, metric, steps};
use tare_stats::{Interval, Trials, descriptive, trials};
use tare_topology::Machine;

/// Analyses results. Clean trials count, and disturbed ones if no attempt at a clean one was left; all others are
/// counted and listed. If the answer leaves the disturbed trials out, every other finding does too, so that a figure
/// of its sentence stands in the table next to it.
pub fn summarize(results: &Results) -> Summary {
    let machine = results.environment.as_ref().map(|environment| &environment.machine);
    let counting = collect::conditions(results);
    let context = AnswerContext::of(results);
    let answer = answer_of(&context, &counting);
    let conditions: Vec<ConditionTrials<'_>> = match answer.leaves_disturbed_out() {
        false => counting.clone(),
        true => counting.iter().map(ConditionTrials::clean).collect(),
    };
    let metrics = collect::all_metrics(&conditions);
    let of_steps = || step_to_show(&answer, &conditions, &metrics);
    let headline_metric = named(results.plan.as_ref(), &metrics).or_else(of_steps);
    let headline_metric = headline_metric.or_else(|| answer::headline_metric(&metrics));
    let (adjusts, not_adjusted) = probes::of_study(results, &conditions);
    let all: Vec<&ConditionTrials<'_>> = conditions.iter().collect();
    let seen = modes::StudyModes::of(&all, &metrics, headline_metric.as_deref());
    let plan = results.plan.as_ref();
    let digits = rounding::digits(&conditions, &metrics);
    let given = Given { all: &conditions, machine, plan, adjusts, modes: &seen, digits: &digits };
    let summaries: Vec<ConditionSummary> =
        conditions.iter().zip(&counting).map(|(condition, all)| condition_summary(condition, all, &given)).collect();
    let headline_name = headline_metric.clone();
    let headline = headline_name.as_deref();
    let means = |name: &str| {
        let metrics = &summaries.iter().find(|condition| condition.name == name)?.metrics;
        let found = metrics.iter().find(|metric| Some(metric.name.as_str()) == headline)?;
        Some((found.mean, found.ci))
    };
    let placement_grids = headline.map_or(Vec::new(), |metric| placement::grid(metric, &means, results, &conditions));
    let composite = headline.and_then(|name| composite::of(&conditions, name));
    Summary {
        effects: effects::effects(&conditions, context.answer_rate()),
        scaling: scaling::scaling(&conditions, context.ladder_rate(), |load| context.weight(load)),
        spread_sources: effects::sources(&conditions, context.rate(&Question::Spread)),
        answer,
        pairs: results.plan.as_ref().and_then(|plan| Ab::of(plan, &results.trials)),
        modes_tested: headline.and_then(|metric| seen.tested(&conditions, metric)),
        outliers: residuals::outliers(&conditions, &answer::primary(&conditions)),
        run_order: composite
            .as_ref()
            .filter(|_| results.plan.is_some())
            .and_then(|c| residuals::run_order(&conditions, c)),
        unrealizable: results.plan.as_ref().map_or(Vec::new(), collect::unrealizable),
        time: time::of_conditions(&conditions, results),
        captures: captures::summaries(&conditions, results),
        growth: captures::growth(&conditions, results),
        builds: builds::builds(&conditions, results, headline, context.answer_rate()),
        nodes: places::nodes(&conditions),
        machines: composite.as_ref().and_then(|c| hosts::hosts(&conditions, c, results)),
        placement_grids,
        distance: placement::distance_costs(&conditions, results, headline),
        counters: counters::tables(&conditions),
        lifetimes: headline.and_then(|metric| lifetimes::find(&conditions, metric)),
        plans: plans::find(&conditions),
        searches: latencies::searches(&conditions),
        warm_up: warm_up::find(&conditions),
        residual_causes: residuals::causes(&conditions, machine),
        dropped: headline.and_then(|metric| left_out::dropped(&conditions, metric)),
        not_adjusted,
        conditions: summaries,
        metrics,
        headline_metric,
    }
}

/// The metric that decided pairs or a race, if the command line named one.
fn named(plan: Option<&Plan>, metrics: &[String]) -> Option<String> {
    let plan = plan?;
    let of_pairs = plan.settle.as_ref().and_then(|rule| rule.metric.clone());
    let named = of_pairs.or_else(|| plan.race.as_ref()?.metric.clone());
    named.filter(|name| metrics.contains(name))
}

/// Of a load in steps, the rate of the step that moves most, or of the first one if none is shown to move; none for
/// other loads.
fn step_to_show(answer: &Answer, conditions: &[ConditionTrials<'_>], metrics: &[String]) -> Option<String> {
    let name = headline_metric(metrics).filter(|name| steps::step(name).is_some())?;
    let is_rate = |one: &&MovedAlone| metric::describe(&one.metric).better == metric::describe(&name).better;
    let moved = answer.shown().alone().iter().find(is_rate).map(|one| one.metric.clone());
    moved.or_else(|| load_steps::first_rate(conditions, metrics))
}

/// The answer to the study's question, equal to that of the summary, without the rest.
pub fn answered(results: &Results) -> Answer {
    answer_of(&AnswerContext::of(results), &collect::conditions(results))
}

fn answer_of(context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> Answer {
    Answer { ended_early: ended_early(context, conditions), ..answer::answer(context, conditions) }
}

/// The inputs of a condition's summary other than its own trials.
struct Given<'a> {
    all: &'a [ConditionTrials<'a>],
    machine: Option<&'a Machine>,
    plan: Option<&'a Plan>,
    adjusts: Option<Probe>,
    modes: &'a modes::StudyModes<'a>,
    /// By metric, the digit to which it was rounded.
    digits: &'a HashMap<String, f64>,
}

/// `counting`: the condition with all trials that count.
fn condition_summary<'a>(
    condition: &ConditionTrials<'a>,
    counting: &ConditionTrials<'a>,
    given: &Given<'a>,
) -> ConditionSummary {
    let disturbed = counting.disturbed().len();
    let metrics: Vec<MetricSummary> =
        condition.metrics().iter().filter_map(|name| metric_summary(condition, name, given)).collect();
    ConditionSummary {
        name: condition.name.to_owned(),
        levels: condition.levels.clone(),
        trials: counting.ok.len(),
        spread: spread::spreads(&metrics),
        metrics,
        latencies: latencies::distribution(condition),
        clean_trials: counting.ok.len() - disturbed,
        disturbed_trials: disturbed,
        failed_trials: counting.lost(),
        failed_attempts: condition.failed.len(),
        set_aside_trials: condition.set_aside.len(),
    }
}

fn metric_summary<'a>(condition: &ConditionTrials<'a>, name: &str, given: &Given<'a>) -> Option<MetricSummary> {
    let described = metric::describe(name);
    let (samples, values) = (condition.values(name), condition.of_trials(name));
    let (found, within) = best::summaries(condition, name, &values)?;
    let of_samples = trials::summarize(Trials::new(&samples).ok()?, CONFIDENCE)?;
    let (modes, mode_cause) = given.modes.with_cause(condition, name, given.machine, given.plan);
    let means: Vec<f64> = values.iter().filter_map(|s| collect::mean(s)).collect();
    Some(MetricSummary {
        name: name.to_owned(),
        unit: described.unit,
        better: described.better,
        mean: found.mean,
        median: descriptive::median(&means).unwrap_or(found.mean),
        ci: rounding::widened(within.ci, &values, given.digits.get(name).copied().unwrap_or(0.0)),
        within_cov: of_samples.within_cov,
        between_cov: within.between_cov,
        components: spread::components(&samples),
        min: found.min,
        max: found.max,
        far_from_mean: modes.is_empty() && mode::far_apart_range(&means).is_some(),
        modes,
        mode_cause,
        trials: found.trials,
        probes: probes::weighed(condition, given.all, name, given.adjusts, CONFIDENCE),
    })
}

/// Effects of a factor up to this ratio are negligible, as in `tare find` and `tare ab`.
const MINIMUM_EFFECT: f64 = 1.02;
/// Ratios of the spread up to this are negligible: such a factor is no source of spread.
const MINIMUM_SPREAD: f64 = 2.0;

/// Whether the study's question needs no further trial.
pub fn settled(results: &Results) -> bool {
    is_settled(&AnswerContext::of(results), &collect::conditions(results))
}

/// The interim look that settles the question.
pub(super) fn ended_early(context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> Option<Look> {
    let is_look = |look: &Look| !look.is_last && !look.is_open && looks(look.of_blocks).contains(&look.blocks);
    context.look.filter(|look| is_look(look) && is_settled(context, conditions))
}

/// Settled both with the disturbed trials and without them, if there are any.
fn is_settled(context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> bool {
    is_settled_by(context, conditions) && undisturbed(conditions).is_none_or(|clean| is_settled_by(context, &clean))
}

/// The conditions without their disturbed trials; none if there are no such trials.
fn undisturbed<'r>(conditions: &[ConditionTrials<'r>]) -> Option<Vec<ConditionTrials<'r>>> {
    let any = conditions.iter().any(|condition| !condition.disturbed().is_empty());
    any.then(|| conditions.iter().map(ConditionTrials::clean).collect())
}

fn is_settled_by(context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> bool {
    match &context.question {
        Some(Question::Spread) => {
            effects::sources(conditions, context.rate(&Question::Spread)).is_some_and(|sources| {
                let is_open = |ci: Option<Interval>| !lies_within(ci, MINIMUM_SPREAD);
                sources.ranking.iter().all(|source| source.shown || !is_open(source.spread_ci))
            })
        }
        Some(Question::Effect) => {
            let Some(name) = headline_metric(&collect::all_metrics(conditions)) else { return false };
            let loads = answer::loads(conditions);
            let rate = context.answer_rate() / loads.as_ref().map_or(1, Vec::len) as f64;
            let has_none_open = |own: &[ConditionTrials<'_>], shared: f64| {
                let Some(composite) = composite::of(own, &name) else { return false };
                let mains = effects::main_effects(own, &composite, rate).moved;
                let is_closed = |main: &Moved| main.shown && shared <= rate || lies_within(main.ci, MINIMUM_EFFECT);
                !mains.is_empty() && mains.iter().all(is_closed)
            };
            match loads {
                Some(loads) => {
                    let shared = answer::by_spread_of_loads(&loads);
                    loads.iter().zip(shared).all(|((_, own), shared)| has_none_open(own, shared))
                }
                None => has_none_open(conditions, 0.0),
            }
        }
        Some(Question::Scaling) => {
            let loads = decided(context, conditions);
            !loads.is_empty() && loads.values().all(|decided| *decided)
        }
        _ => false,
    }
}

/// Whether every step of a load is decided, over all its ladders; an earlier look has decided those of a load that
/// ended. Empty without steps of several ladders.
fn decided(context: &AnswerContext, conditions: &[ConditionTrials<'_>]) -> BTreeMap<Option<String>, bool> {
    let Some(name) = headline_metric(&collect::all_metrics(conditions)) else { return BTreeMap::new() };
    let rate = context.rate(&Question::Scaling) / 4.0;
    let gives_no_less = |ci: Option<Interval>| ci.is_some_and(|ci| ci.low >= MINIMUM_EFFECT.recip());
    let mut loads = BTreeMap::new();
    for step in pooled::steps(conditions, &name, rate, |load| context.weight(load)) {
        let ended = step.load.as_ref().is_some_and(|load| context.ended_loads.contains_key(load));
        *loads.entry(step.load.clone()).or_insert(true) &= ended || step.less || gives_no_less(step.ci);
    }
    loads
}

/// The loads of a study of ladders that need no further trial, with the disturbed trials and without them.
pub fn settled_loads(results: &Results) -> BTreeSet<String> {
    let (context, conditions) = (AnswerContext::of(results), collect::conditions(results));
    if context.question != Some(Question::Scaling) {
        return BTreeSet::new();
    }
    let of = |conditions: &[ConditionTrials<'_>]| -> BTreeSet<String> {
        let loads = decided(&context, conditions).into_iter();
        loads.filter(|(_, decided)| *decided).filter_map(|(load, _)| load).collect()
    };
    let all = of(&conditions);
    match undisturbed(&conditions) {
        Some(clean) => all.intersection(&of(&clean)).cloned().collect(),
        None => all,
    }
}

/// Whether a ratio is shown to lie within `1 / most` to `most`.
fn lies_within(ci: Option<Interval>, most: f64) -> bool {
    ci.is_some_and(|ci| ci.high <= most && ci.low >= most.recip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::pairs::Rule;
    use tare_results::schema::Settle;

    #[test]
    fn the_metric_that_pairs_are_compared_by_leads_where_it_was_measured() {
        let rule = Settle::between(["a".to_owned(), "b".to_owned()], Rule::Anytime, 1);
        let plan = Plan { settle: Some(Settle { metric: Some("figure".to_owned()), ..rule }), ..Plan::default() };
        let named =
            |metrics: &[&str]| named(Some(&plan), &metrics.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(named(&["tps", "figure"]).as_deref(), Some("figure"));
        assert_eq!(named(&["tps"]), None);
    }
}
