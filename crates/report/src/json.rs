//! The output of `--json`: findings with their sentences. Scripts depend on its fields.

use crate::words::{self, AnswerJson};
use serde::Serialize;
use tare_findings::compare::{
    AgainstFirst, Comparison, Gate, Grouped, Losses, ManyComparison, MetricComparison, Sessions,
};
use tare_findings::differences::Difference;
use tare_findings::relative::RelativeTable;
use tare_findings::summary::{ConditionSummary, MetricSummary, Summary};
use tare_results::Results;

/// The output of `tare show --json`: the summary with its sentences. The fields of conditions, effects and scaling are
/// stable.
#[derive(Debug, Serialize)]
pub struct SummaryJson<'a> {
    conditions: Vec<ConditionJson<'a>>,
    #[serde(flatten)]
    summary: &'a Summary,
    answer: AnswerJson,
    reading: String,
    further_reading: Vec<String>,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relative: Option<RelativeTable>,
}

#[derive(Debug, Serialize)]
struct ConditionJson<'a> {
    #[serde(flatten)]
    condition: &'a ConditionSummary,
    metrics: Vec<MetricJson<'a>>,
}

#[derive(Debug, Serialize)]
struct MetricJson<'a> {
    #[serde(flatten)]
    metric: &'a MetricSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode_cause: Option<String>,
}

impl<'a> SummaryJson<'a> {
    pub fn of(summary: &'a Summary, results: &Results) -> Self {
        let answer = AnswerJson::of(&summary.answer);
        Self {
            conditions: summary.conditions.iter().map(ConditionJson::of).collect(),
            summary,
            reading: answer.text.clone(),
            answer,
            further_reading: words::further(summary, results),
            warnings: words::warnings_in_full(summary, results),
            relative: RelativeTable::of(summary),
        }
    }
}

impl<'a> ConditionJson<'a> {
    fn of(condition: &'a ConditionSummary) -> Self {
        let words = |metric: &MetricSummary| Some(words::mode_cause(metric.mode_cause.as_ref()?, &metric.unit));
        let metrics = condition.metrics.iter().map(|metric| MetricJson { metric, mode_cause: words(metric) });
        Self { condition, metrics: metrics.collect() }
    }
}

/// The output of `tare compare A B --json`; the fields of `metrics` are stable.
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

/// The output of `tare compare A B C --json`.
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
