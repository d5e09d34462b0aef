//! Results -> [`Summary`].

use super::answer;
use super::aside;
use super::collect::{self, ConditionTrials};
use super::confidence::{ANSWER, CONFIDENCE, FURTHER};
use super::said::Answer;
use super::summary::{ConditionSummary, MetricSummary, Summary, Unrealizable};
use super::{
    builds, captures, composite, distributions, dropped, effects, grid, hosts, lifetimes, modes, nodes, odd, outliers,
    plans, probes, question, reading, residuals, run_order, scaling, spread, two_hosts, warm_up,
};
use std::borrow::Cow;
use tare_results::Results;
use tare_results::metric;
use tare_results::probe::Probe;
use tare_results::question::Question;
use tare_stats::{descriptive, trials};
use tare_topology::Machine;

/// Analyses results. Clean trials count, and disturbed ones where no attempt at a clean one was left; all others are
/// counted and listed.
pub fn summarize(results: &Results) -> Summary {
    let machine = results.environment.as_ref().map(|environment| &environment.machine);
    let conditions = collect::conditions(results);
    let metrics = collect::all_metrics(&conditions);
    let headline_metric = headline_metric(&metrics);
    let (adjusts, not_adjusted) = probes::of_study(results, &conditions);
    let asked = question::of(results);
    let rate = |question: Question| if asked == Some(question) { ANSWER } else { FURTHER };
    let given = Given { all: &conditions, machine, adjusts };
    let mut summary = Summary {
        conditions: conditions.iter().map(|condition| condition_summary(condition, &given)).collect(),
        effects: effects::effects(&conditions),
        scaling: scaling::scaling(&conditions, rate(Question::Scaling)),
        spread_sources: effects::sources(&conditions, rate(Question::Spread)),
        headline_metric,
        answer: Answer::default(),
        reading: String::new(),
        outliers: outliers::find(&conditions, &answer::primary(&conditions)),
        run_order: None,
        further_reading: Vec::new(),
        odd: Vec::new(),
        unrealizable: unrealizable(results),
        captures: captures::summaries(&conditions, results),
        growth: captures::growth(&conditions, results),
        builds: Vec::new(),
        nodes: nodes::nodes(&conditions),
        machines: None,
        placement_grids: Vec::new(),
        lifetimes: None,
        plans: plans::find(&conditions),
        warm_up: warm_up::find(&conditions),
        residual_causes: residuals::causes(&conditions, machine),
    };
    let headline = summary.headline_metric.clone();
    summary.lifetimes = headline.as_deref().and_then(|metric| lifetimes::find(&conditions, metric));
    if let Some(metric) = headline.as_deref() {
        let means = |name: &str| summary.metric(name, metric).map(|found| (found.mean, found.ci));
        summary.placement_grids = grid::find(metric, &means, results, &conditions);
    }
    summary.builds = builds::builds(&conditions, results, summary.headline_metric.as_deref());
    let composite = summary.headline_metric.as_deref().and_then(|name| composite::of(&conditions, name));
    summary.machines = composite.as_ref().and_then(|c| hosts::hosts(&conditions, c, results));
    summary.run_order = composite.filter(|_| results.plan.is_some()).and_then(|c| run_order::check(&conditions, &c));
    summary.answer = answer::answer(&summary, results, &conditions);
    summary.reading = summary.answer.text.clone();
    summary.further_reading = reading::further(&summary);
    // In the answer it may stand behind other words, with a small letter.
    let said = summary.answer.text.to_lowercase();
    summary.further_reading.retain(|sentence| !said.contains(&sentence.to_lowercase()));
    summary.further_reading.extend(summary.machines.iter().flat_map(hosts::sentences));
    summary.further_reading.extend(summary.run_order.as_ref().and_then(run_order::sentence));
    summary.further_reading.extend(aside::sentence(&summary));
    summary.further_reading.extend(lifetimes::sentence(summary.lifetimes.as_ref()));
    summary.further_reading.extend(headline.as_deref().and_then(|metric| dropped::sentence(&conditions, metric)));
    summary.further_reading.extend(plans::between(&summary.plans));
    summary.further_reading.extend(warm_up::sentence(&summary.warm_up));
    let decision = results.plan.as_ref().and_then(|plan| plan.decision.as_ref());
    summary.further_reading.extend(decision.map(|decision| decision.reason.clone()));
    summary.further_reading.extend(not_adjusted);
    summary.further_reading.extend(two_hosts::sentences(&conditions));
    // First: whoever reads one sentence reads this one.
    summary.further_reading.splice(0..0, metrics.iter().filter_map(|name| metric::caveat(name)).map(str::to_owned));
    summary.odd = odd::list(&summary, results);
    summary
}

/// The metric that a headline is about: the first primary one, else the first.
fn headline_metric(metrics: &[String]) -> Option<String> {
    metrics.iter().find(|name| metric::describe(name).is_primary()).or(metrics.first()).cloned()
}

/// What a condition's summary is made with besides its own trials.
struct Given<'a> {
    all: &'a [ConditionTrials<'a>],
    machine: Option<&'a Machine>,
    /// The probe that conditions are adjusted by.
    adjusts: Option<Probe>,
}

fn condition_summary(condition: &ConditionTrials<'_>, given: &Given<'_>) -> ConditionSummary {
    let metrics: Vec<MetricSummary> =
        condition.metrics().iter().filter_map(|name| metric_summary(condition, name, given)).collect();
    ConditionSummary {
        name: condition.name.to_owned(),
        levels: condition.levels.clone(),
        trials: condition.ok.len(),
        spread: spread::of(&metrics),
        metrics,
        latencies: distributions::of(condition),
        clean_trials: condition.ok.len() - condition.disturbed().len(),
        disturbed_trials: condition.disturbed().len(),
        failed_trials: condition.failed.len(),
        contaminated_trials: condition.contaminated.len(),
    }
}

fn metric_summary(condition: &ConditionTrials<'_>, name: &str, given: &Given<'_>) -> Option<MetricSummary> {
    let described = metric::describe(name);
    let (samples, values) = (condition.values(name), condition.of_trials(name));
    let found = trials::summarize(&values, CONFIDENCE)?;
    let of_samples = trials::summarize(&samples, CONFIDENCE)?;
    // What machines differ by is a level of its own, and no spread between trials.
    let within = match hosts::without_machines(condition, name, &values) {
        Cow::Borrowed(_) => found.clone(),
        Cow::Owned(values) => trials::summarize(&values, CONFIDENCE)?,
    };
    let (modes, mode_cause) = modes::find(condition, name, described.unit, given.machine);
    Some(MetricSummary {
        name: name.to_owned(),
        unit: described.unit.to_owned(),
        better: described.better,
        mean: found.mean,
        median: descriptive::median(&values.iter().filter_map(|s| collect::mean(s)).collect::<Vec<_>>())
            .unwrap_or(found.mean),
        ci: within.ci,
        within_cov: of_samples.within_cov,
        between_cov: within.between_cov,
        components: spread::components(&samples),
        min: found.min,
        max: found.max,
        modes,
        mode_cause,
        trials: found.trials,
        probes: probes::weighed(condition, given.all, name, given.adjusts, CONFIDENCE),
    })
}

fn unrealizable(results: &Results) -> Vec<Unrealizable> {
    let planned = results.plan.iter().flat_map(|plan| &plan.conditions);
    planned
        .filter(|condition| !condition.realizable)
        .map(|condition| Unrealizable {
            name: condition.name.clone(),
            reason: condition.reason.clone().unwrap_or_else(|| "no reason was recorded".to_owned()),
        })
        .collect()
}
