//! What `--json` prints: findings with their words, field by field, as others script against it.

use crate::words::{self, AnswerJson};
use serde::Serialize;
use tare_findings::collect::Unrealizable;
use tare_findings::compare::{
    AgainstFirst, Comparison, Gate, Grouped, Losses, ManyComparison, MetricComparison, Sessions,
};
use tare_findings::counters::CounterTable;
use tare_findings::differences::Difference;
use tare_findings::distance::DistanceCost;
use tare_findings::distributions::Distribution;
use tare_findings::grid::PlacementGrid;
use tare_findings::hosts::Hosts;
use tare_findings::lifetimes::Lifetimes;
use tare_findings::mode::{Mode, ModesTested};
use tare_findings::nodes::NodeSummary;
use tare_findings::outliers::Outlier;
use tare_findings::plans::QueryPlans;
use tare_findings::probes::Weighed;
use tare_findings::relative::RelativeTable;
use tare_findings::run_order::Drift;
use tare_findings::searches::SearchNotes;
use tare_findings::summary::{
    BuildComparison, CaptureSummary, Components, ConditionSummary, Effect, GrowthRanking, MetricSummary, ResidualCause,
    Scaling, Spread, SpreadSources, Summary,
};
use tare_findings::time::ConditionTime;
use tare_findings::warm_up::WarmUp;
use tare_results::Results;
use tare_results::metric::Better;
use tare_results::schema::Levels;

/// What `tare show --json` prints. The first three fields are its contract.
#[derive(Debug, Serialize)]
pub struct SummaryJson<'a> {
    conditions: Vec<ConditionJson<'a>>,
    effects: &'a [Effect],
    scaling: &'a [Scaling],
    spread_sources: &'a Option<SpreadSources>,
    headline_metric: &'a Option<String>,
    answer: AnswerJson,
    reading: String,
    further_reading: Vec<String>,
    odd: Vec<String>,
    unrealizable: &'a [Unrealizable],
    #[serde(skip_serializing_if = "Option::is_none")]
    modes_tested: &'a Option<ModesTested>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    outliers: &'a [Outlier],
    run_order: Option<Drift>,
    residual_causes: &'a [ResidualCause],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    time: &'a [ConditionTime],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    captures: &'a [CaptureSummary],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    growth: &'a [GrowthRanking],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    builds: &'a [BuildComparison],
    #[serde(skip_serializing_if = "Option::is_none")]
    relative: Option<RelativeTable>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    nodes: &'a [NodeSummary],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    placement_grids: &'a [PlacementGrid],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    distance: &'a [DistanceCost],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    counters: &'a [CounterTable],
    #[serde(skip_serializing_if = "Option::is_none")]
    lifetimes: &'a Option<Lifetimes>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    plans: &'a [QueryPlans],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    searches: &'a [SearchNotes],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    warm_up: &'a [WarmUp],
    #[serde(skip_serializing_if = "Option::is_none")]
    machines: &'a Option<Hosts>,
}

#[derive(Debug, Serialize)]
struct ConditionJson<'a> {
    name: &'a str,
    levels: &'a Levels,
    trials: usize,
    metrics: Vec<MetricJson<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    latencies: &'a [Distribution],
    clean_trials: usize,
    disturbed_trials: usize,
    failed_trials: usize,
    contaminated_trials: usize,
    spread: &'a Option<Spread>,
}

#[derive(Debug, Serialize)]
struct MetricJson<'a> {
    name: &'a str,
    unit: &'a str,
    better: Better,
    mean: f64,
    median: f64,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    within_cov: Option<f64>,
    between_cov: Option<f64>,
    components: &'a Option<Components>,
    min: f64,
    max: f64,
    modes: &'a [Mode],
    #[serde(skip_serializing_if = "Option::is_none")]
    mode_cause: Option<String>,
    trials: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    probes: &'a [Weighed],
}

impl<'a> SummaryJson<'a> {
    pub fn of(summary: &'a Summary, results: &Results) -> Self {
        let answer = AnswerJson::of(&summary.answer);
        Self {
            conditions: summary.conditions.iter().map(ConditionJson::of).collect(),
            effects: &summary.effects,
            scaling: &summary.scaling,
            spread_sources: &summary.spread_sources,
            headline_metric: &summary.headline_metric,
            reading: answer.text.clone(),
            answer,
            further_reading: words::further(summary, results),
            odd: words::warnings_in_full(summary, results),
            unrealizable: &summary.unrealizable,
            modes_tested: &summary.modes_tested,
            outliers: &summary.outliers,
            run_order: summary.run_order,
            residual_causes: &summary.residual_causes,
            time: &summary.time,
            captures: &summary.captures,
            growth: &summary.growth,
            builds: &summary.builds,
            relative: RelativeTable::of(summary),
            nodes: &summary.nodes,
            placement_grids: &summary.placement_grids,
            distance: &summary.distance,
            counters: &summary.counters,
            lifetimes: &summary.lifetimes,
            plans: &summary.plans,
            searches: &summary.searches,
            warm_up: &summary.warm_up,
            machines: &summary.machines,
        }
    }
}

impl<'a> ConditionJson<'a> {
    fn of(condition: &'a ConditionSummary) -> Self {
        Self {
            name: &condition.name,
            levels: &condition.levels,
            trials: condition.trials,
            metrics: condition.metrics.iter().map(MetricJson::of).collect(),
            latencies: &condition.latencies,
            clean_trials: condition.clean_trials,
            disturbed_trials: condition.disturbed_trials,
            failed_trials: condition.failed_trials,
            contaminated_trials: condition.contaminated_trials,
            spread: &condition.spread,
        }
    }
}

impl<'a> MetricJson<'a> {
    fn of(metric: &'a MetricSummary) -> Self {
        Self {
            name: &metric.name,
            unit: &metric.unit,
            better: metric.better,
            mean: metric.mean,
            median: metric.median,
            ci_low: metric.ci.map(|ci| ci.low),
            ci_high: metric.ci.map(|ci| ci.high),
            within_cov: metric.within_cov,
            between_cov: metric.between_cov,
            components: &metric.components,
            min: metric.min,
            max: metric.max,
            modes: &metric.modes,
            mode_cause: metric.mode_cause.as_ref().map(|cause| words::mode_cause(cause, &metric.unit)),
            trials: metric.trials,
            probes: &metric.probes,
        }
    }
}

/// What `tare compare A B --json` prints; `metrics` is its contract.
#[derive(Debug, Serialize)]
pub struct ComparisonJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    identical: Option<String>,
    differences: &'a [Difference],
    metrics: &'a [MetricComparison],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    losses: &'a [Losses],
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Sessions>,
    gate: Option<Gate>,
    notes: Vec<String>,
}

impl<'a> ComparisonJson<'a> {
    pub fn of(found: &'a Comparison) -> Self {
        Self {
            identical: found.identical.as_deref().map(words::identical),
            differences: &found.differences,
            metrics: &found.metrics,
            losses: &found.losses,
            sessions: found.sessions,
            gate: found.gate,
            notes: words::notes(&found.notes),
        }
    }
}

/// What `tare compare A B C --json` prints.
#[derive(Debug, Serialize)]
pub struct ManyComparisonJson<'a> {
    sides: &'a [String],
    metrics: &'a [AgainstFirst],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    groups: &'a [Grouped],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    losses: &'a [Losses],
    gate: Option<Gate>,
    notes: Vec<String>,
}

impl<'a> ManyComparisonJson<'a> {
    /// A comparison of three or more with its words.
    pub fn of(found: &'a ManyComparison) -> Self {
        Self {
            sides: &found.sides,
            metrics: &found.metrics,
            groups: &found.groups,
            losses: &found.losses,
            gate: found.gate,
            notes: words::notes(&found.notes),
        }
    }
}
