//! The summary: all findings of a set of results as values, the input of every report and every sentence.

use super::ab::Ab;
use super::builds::BuildComparison;
use super::captures::{CaptureSummary, GrowthRanking};
use super::collect::{self, Unrealizable};
use super::condition::{ConditionSummary, MetricSummary};
use super::counters::CounterTable;
use super::distance::DistanceCost;
use super::dropped::Dropped;
use super::effects::Effect;
use super::grid::PlacementGrid;
use super::hosts::Hosts;
use super::lifetimes::Lifetimes;
use super::mode::ModesTested;
use super::nodes::NodeSummary;
use super::outliers::Outlier;
use super::plans::QueryPlans;
use super::probes::Refusal;
use super::residuals::ResidualCause;
use super::run_order::Drift;
use super::scaling::Scaling;
use super::searches::SearchNotes;
use super::spread_from::SpreadSources;
use super::time::ConditionTime;
use super::verdict::Answer;
use super::warm_up::WarmUp;
use serde::Serialize;
use std::collections::HashMap;

/// The findings of a set of results, computed once from the records and then immutable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// One entry per condition with at least one attempt, in the order of the plan.
    #[serde(skip)]
    pub conditions: Vec<ConditionSummary>,
    pub effects: Vec<Effect>,
    pub scaling: Vec<Scaling>,
    /// Which two-level factor causes the spread; none if the study cannot determine it.
    pub spread_sources: Option<SpreadSources>,
    /// The metric of headlines and default gates; none without an analysed trial.
    pub headline_metric: Option<String>,
    /// The answer to the study's question, from tested effects only.
    #[serde(skip)]
    pub answer: Answer,
    /// The answer of a paired comparison.
    #[serde(skip)]
    pub pairs: Option<Ab>,
    pub unrealizable: Vec<Unrealizable>,
    /// Whether the headline metric has modes, with the power of the test; none if nothing was tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modes_tested: Option<ModesTested>,
    /// Trials that lie far from the others of their condition, in a primary metric.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<Outlier>,
    /// Whether consecutive trials were correlated; null if too few ran in a known order.
    pub run_order: Option<Drift>,
    /// Recorded covariates that explain the remaining spread between trials of a condition, the best first.
    pub residual_causes: Vec<ResidualCause>,
    /// Where the time of a transaction goes, one entry per condition with transactions and observed clients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub time: Vec<ConditionTime>,
    /// Captures, one entry per condition.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub captures: Vec<CaptureSummary>,
    /// Locks, symbols and callers, ranked by how much their share grows over threads or nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub growth: Vec<GrowthRanking>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub builds: Vec<BuildComparison>,
    /// Memory by node, if there are several nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeSummary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub placement_grids: Vec<PlacementGrid>,
    /// The cost of distance between nodes, if it was measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub distance: Vec<DistanceCost>,
    /// Seconds of global counters by threads and strategy, if they ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterTable>,
    /// The effects of sharing servers, if the rungs of ladders shared them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lifetimes: Option<Lifetimes>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub plans: Vec<QueryPlans>,
    /// Conditions whose searches for the highest rate need a note.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchNotes>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warm_up: Vec<WarmUp>,
    /// The machines side by side, if several ran the study.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<Hosts>,
    #[serde(skip)]
    pub dropped: Option<Dropped>,
    /// Why the study is not adjusted by the probe that it declared in advance.
    #[serde(skip)]
    pub not_adjusted: Option<Refusal>,
    /// Metrics that an analysed trial has, in table order.
    #[serde(skip)]
    pub metrics: Vec<String>,
}

impl Summary {
    /// A metric of each of these conditions, of which there may be thousands.
    pub(crate) fn metrics_of<'n>(
        &self,
        conditions: impl Iterator<Item = &'n str>,
        metric: &str,
    ) -> Vec<Option<&MetricSummary>> {
        let known: HashMap<&str, &ConditionSummary> = self.conditions.iter().map(|c| (c.name.as_str(), c)).collect();
        let find = |name: &str| known.get(name)?.metrics.iter().find(|candidate| candidate.name == metric);
        conditions.map(find).collect()
    }

    /// The number of client threads that this condition sets while others set none.
    pub fn own_threads<'a>(&'a self, condition: &'a ConditionSummary) -> Option<&'a str> {
        collect::own_threads(&condition.levels, self.conditions.iter().map(|c| &c.levels))
    }

    pub fn metric(&self, condition: &str, metric: &str) -> Option<&MetricSummary> {
        self.conditions
            .iter()
            .find(|candidate| candidate.name == condition)?
            .metrics
            .iter()
            .find(|candidate| candidate.name == metric)
    }
}
