//! The summary: all findings of a set of results as values, the input of every report and every sentence;
//! and the rows of probe results.

use super::ab::Ab;
use super::builds::BuildComparison;
use super::captures::{CaptureSummary, GrowthRanking};
use super::collect::{self, Unrealizable};
use super::condition::{ConditionSummary, MetricSummary};
use super::counters::CounterTable;
use super::effects::Effect;
use super::hosts::Hosts;
use super::latencies::SearchNotes;
use super::left_out::Dropped;
use super::lifetimes::Lifetimes;
use super::mode::ModesTested;
use super::placement::{DistanceCost, PlacementGrid};
use super::places::NodeSummary;
use super::plans::QueryPlans;
use super::probes::{Refusal, Weighed};
use super::residuals::{Drift, Outlier, ResidualCause};
use super::scaling::Scaling;
use super::spread::SpreadSources;
use super::time::ConditionTime;
use super::verdict::Answer;
use super::warm_up::WarmUp;
use serde::Serialize;
use std::collections::HashMap;
use tare_results::metric;
use tare_results::probe::Probe;
use tare_stats::descriptive::mean;

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
    #[serde(skip)]
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

pub struct ProbeRow<'a> {
    pub condition: &'a str,
    pub metric: &'a MetricSummary,
    pub metrics: usize,
    /// CoV between trials, mean over the metrics.
    pub between: Option<f64>,
    /// The share of it that remains after adjustment by each probe, mean over the metrics.
    pub left: Vec<(Probe, f64)>,
    /// The headline metric adjusted by a probe, if the study asked for it.
    pub adjusted: Option<&'a Weighed>,
}

pub fn probe_rows(summary: &Summary) -> Vec<ProbeRow<'_>> {
    let headline = summary.headline_metric.as_deref();
    let row = |condition: &'_ ConditionSummary| {
        let primary: Vec<&MetricSummary> = condition
            .metrics
            .iter()
            .filter(|m| metric::describe(&m.name).is_primary() || Some(m.name.as_str()) == headline)
            .filter(|m| !m.probes.is_empty())
            .collect();
        let left = Probe::ALL.into_iter().filter_map(|probe| {
            let of = |m: &&MetricSummary| m.probes.iter().find(|w| w.probe == probe).map(|w| w.left);
            Some((probe, mean(&primary.iter().filter_map(of).collect::<Vec<_>>())?))
        });
        (primary.len(), mean(&primary.iter().filter_map(|m| m.between_cov).collect::<Vec<_>>()), left.collect())
    };
    let of_condition = |condition| {
        let (metrics, between, left) = row(condition);
        let metric = condition.metrics.iter().find(|m| Some(m.name.as_str()) == headline)?;
        let adjusted = metric.probes.iter().find(|weighed| weighed.adjusted_mean.is_some());
        (metrics > 0).then_some(ProbeRow { condition: &condition.name, metric, metrics, between, left, adjusted })
    };
    summary.conditions.iter().filter_map(of_condition).collect()
}
