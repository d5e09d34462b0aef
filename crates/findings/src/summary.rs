//! The summary: all findings of a set of results as values, the input of every report and every sentence.

use super::ab::Ab;
use super::collect::{self, Unrealizable};
use super::counters::CounterTable;
use super::distance::DistanceCost;
use super::distributions::Distribution;
use super::dropped::Dropped;
use super::ends;
use super::grid::PlacementGrid;
use super::groups::Group;
use super::hosts::Hosts;
use super::lifetimes::Lifetimes;
use super::lines::LinesSummary;
use super::mode::{Middle, Mode, ModeCause, ModesTested};
use super::nodes::NodeSummary;
use super::outliers::Outlier;
use super::plans::QueryPlans;
use super::probes::{Refusal, Weighed};
use super::run_order::Drift;
use super::searches::SearchNotes;
use super::term::Term;
use super::time::ConditionTime;
use super::verdict::Answer;
use super::waits::WaitsSummary;
use super::wakes::WakesSummary;
use super::warm_up::WarmUp;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use tare_results::metric::Better;
use tare_results::schema::Levels;
use tare_stats::Interval;
use tare_stats::ratio::Verdict;

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

/// The captures of one condition, means over its trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaptureSummary {
    pub condition: String,
    pub trials: usize,
    /// Throughput in the capture samples / throughput in the measured ones: 0.95 is a cost of 5%.
    pub tps_ratio: Option<f64>,
    /// Captures that were requested but not possible: name -> reason.
    pub missing: BTreeMap<String, String>,
    /// The sampling event of the profile: `cycles`, `cpu-clock` ...
    pub event: Option<String>,
    pub samples: u64,
    pub symbols: Vec<SymbolSummary>,
    pub locks: Vec<LockSummary>,
    pub waits: Option<WaitsSummary>,
    /// What kept the connections' threads asleep; none in results of older versions, which did not capture it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakes: Option<WakesSummary>,
    /// Contended cache lines, if memory accesses were sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<LinesSummary>,
    /// The program or library whose functions have no names in the profile, if their share is large.
    pub unnamed: Option<Unnamed>,
}

impl CaptureSummary {
    /// The callers of the functions that connections slept in, `caller;callee`, with the share of the connections'
    /// time, the largest first.
    pub fn callers(&self) -> &[(String, f64)] {
        let of_wakes = self.wakes.as_ref().map(|wakes| wakes.callers.as_slice()).filter(|callers| !callers.is_empty());
        let stacks = || self.waits.as_ref()?.stacks.as_ref().map(|stacks| stacks.callers.as_slice());
        of_wakes.or_else(stacks).unwrap_or_default()
    }
}

/// Samples of a profile without a function name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Unnamed {
    /// The program or library with most of them.
    pub object: String,
    /// Share of the samples without a name, in all programs and libraries, 0 to 1.
    pub fraction: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SymbolSummary {
    /// Its name; kernel symbols end in `_[k]`.
    pub symbol: String,
    /// Share of the samples inside it, 0 to 1.
    pub self_fraction: f64,
    /// Share of the samples inside it or its callees, 0 to 1.
    pub total_fraction: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LockSummary {
    pub name: String,
    pub count: f64,
    /// Time spent waiting for the lock, over all threads, milliseconds.
    pub wait_ms: f64,
    /// `wait_ms` as a share of the time of all connections' threads.
    pub wait_fraction: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Profiled {
    /// Waits for locks, as shares of the connections' time.
    Locks,
    /// Functions by the samples inside them.
    Symbols,
    /// Functions by the samples inside them or their callees.
    Calls,
}

/// Names by growth along one ladder, the fastest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GrowthRanking {
    pub what: Profiled,
    /// The factor of the ladder: `threads` or `nodes`.
    pub over: String,
    pub levels: Levels,
    pub grown: Vec<Grown>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grown {
    pub name: String,
    /// Share on the first rung, 0 to 1.
    pub first: f64,
    pub last: f64,
    pub per_doubling: f64,
    /// 95% interval of `per_doubling`; null with two profiles.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// Whether it is shown to grow, tested together with all other names of the ranking.
    pub shown: bool,
}

/// One build compared with the first, with all other levels equal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BuildComparison {
    /// The factor whose levels are compared: `build`, `binary`, or an option if the load is a factor too.
    pub factor: String,
    pub metric: String,
    pub a: String,
    pub b: String,
    pub levels: Levels,
    /// The kind of load, if the load is one of the other factors.
    #[serde(skip)]
    pub group: Option<Group>,
    pub ratio: f64,
    /// 95% interval of the ratio; null if a side has a single trial.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// Whether B is faster, at the error rate of the answer over all points together.
    pub verdict: Verdict,
    /// Functions whose share of the samples changed most.
    pub symbols: Vec<Changed>,
    /// Locks whose share of the connections' time changed most.
    pub locks: Vec<Changed>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Changed {
    pub name: String,
    pub a: f64,
    pub b: f64,
}

/// A recorded covariate (migrations, steal, layout ...) that correlates with what conditions do not explain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResidualCause {
    pub covariate: String,
    /// Share of the variance between trials of the same condition that it explains, 0 to 1.
    pub share: f64,
    /// By permutation within conditions, adjusted over all covariates.
    pub p_value: f64,
}

/// Spread of a condition over its primary metrics (queries): the columns of the stability article's table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Metrics with two or more trials.
    pub metrics: usize,
    /// (largest - smallest trial mean) / smallest of each metric, averaged over the metrics.
    pub range_average: f64,
    pub range_largest: f64,
    pub range_largest_metric: String,
    /// CoV of the trial means, averaged over the metrics.
    pub between_cov_average: f64,
    pub between_cov_largest: f64,
    /// CoV of the samples of a trial, averaged over trials and metrics; null with one sample per trial.
    pub within_cov_average: Option<f64>,
    pub within_cov_largest: Option<f64>,
}

/// Variance components by Kalibera & Jones: the variance that each level of repetition adds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Components {
    /// sqrt(T_1^2) / mean: samples of one trial; null with one sample per trial.
    pub within_cov: Option<f64>,
    /// sqrt(T_2^2) / mean: trials, without the contribution of their samples. 0 if the samples explain all of it.
    pub between_cov: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConditionSummary {
    pub name: String,
    pub levels: Levels,
    /// Trials that count. If the answer leaves the disturbed ones out, metrics are those of the clean ones.
    pub trials: usize,
    #[serde(skip)]
    pub metrics: Vec<MetricSummary>,
    /// Transaction times of all trials together; none in results of version 0.1.0.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latencies: Vec<Distribution>,
    /// How many of the trials were undisturbed.
    pub clean_trials: usize,
    /// How many of the trials count although they were disturbed, because no attempt at a clean one was left.
    pub disturbed_trials: usize,
    /// Trials of which an attempt failed and none gave a result.
    pub failed_trials: usize,
    pub failed_attempts: usize,
    /// Disturbed attempts that were set aside for another one.
    pub put_aside_trials: usize,
    /// Spread over the primary metrics; null below two trials.
    pub spread: Option<Spread>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MetricSummary {
    pub name: String,
    /// Unit, empty if unknown.
    pub unit: String,
    pub better: Better,
    /// Mean over trials of the trial means; for latency percentiles, of the percentile over all transactions of each
    /// trial.
    pub mean: f64,
    pub median: f64,
    /// 95% interval over trials; null with fewer than two trials.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// CoV of the samples of a trial, averaged over trials, as a fraction; null with one sample per trial.
    pub within_cov: Option<f64>,
    /// Coefficient of variation of the trial means, as a fraction; null with fewer than two trials.
    pub between_cov: Option<f64>,
    /// Variance components; null below two trials.
    pub components: Option<Components>,
    pub min: f64,
    pub max: f64,
    /// Two or three entries if the trials fall into modes, in which case the mean describes no trial; else empty.
    pub modes: Vec<Mode>,
    /// What the trials of each mode have in common, if a recorded covariate explains it.
    #[serde(skip)]
    pub mode_cause: Option<ModeCause>,
    /// No mode is shown, but the trials lie far apart: their mean lies between two groups or is hardly known.
    #[serde(skip)]
    pub far_from_mean: bool,
    pub trials: usize,
    /// The remaining spread of the trials after adjustment by each probe, if the study records probes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Weighed>,
}

/// The metrics of a condition by name; there may be thousands.
pub type ByName<'a> = HashMap<&'a str, &'a MetricSummary>;

impl ConditionSummary {
    /// Number of trials behind its metrics: without the disturbed ones if the answer leaves them out.
    pub fn analysed(&self) -> usize {
        self.metrics.iter().map(|metric| metric.trials).max().unwrap_or(0)
    }

    pub fn by_name(&self) -> ByName<'_> {
        self.metrics.iter().map(|metric| (metric.name.as_str(), metric)).collect()
    }
}

impl MetricSummary {
    /// The value that represents its trials.
    pub fn middle(&self) -> Middle<'_> {
        match (self.modes.as_slice(), self.far_from_mean) {
            ([], false) => Middle::Mean(self.mean, self.ci),
            ([], true) => Middle::Range(self.min, self.max),
            (modes, _) => Middle::Modes(modes),
        }
    }

    /// The interval of the mean, if the mean represents the trials.
    pub fn interval(&self) -> Option<Interval> {
        self.ci.filter(|_| self.has_mean())
    }

    /// Whether the mean represents the trials.
    pub fn has_mean(&self) -> bool {
        matches!(self.middle(), Middle::Mean(..))
    }
}

/// Effect of a factor or an interaction on a metric's mean and on its spread between trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Effect {
    pub metric: String,
    /// `aslr`, or `aslr:ahi` for an interaction; `allocator=jemalloc` for one level of a factor that has more than two.
    pub term: Term,
    /// The levels compared, `on/off`: ratios are first / second. Empty for an interaction.
    pub levels: String,
    /// Ratio of the mean at the first level to the mean at the second.
    pub mean_ratio: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// Probability of such an effect on the mean if there is none, adjusted for all listed effects.
    pub p_value: Option<f64>,
    /// Whether the study shows it: the adjusted p-value is at most 5%.
    pub shown: bool,
    /// Ratio of the between-trial CoVs; null if there are too few trials.
    pub spread_ratio: Option<f64>,
    #[serde(flatten, serialize_with = "ends::spread_ci")]
    pub spread_ci: Option<Interval>,
    pub spread_p_value: Option<f64>,
    pub spread_shown: bool,
}

/// A fitted scaling law over threads or nodes, with the other factors fixed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scaling {
    pub metric: String,
    /// The factor of the ladder: `threads` or `nodes`.
    pub over: String,
    /// The levels of the other factors; empty if there are none.
    pub levels: Levels,
    /// Throughput of a single thread or node.
    pub lambda: f64,
    /// Contention: the share of the work that is serial.
    pub sigma: f64,
    /// Coherency: the cost of keeping each pair consistent.
    pub kappa: f64,
    /// Number at which the law has its maximum; null if it has none.
    pub peak: Option<f64>,
    #[serde(serialize_with = "ends::pair")]
    pub lambda_ci: Option<Interval>,
    #[serde(serialize_with = "ends::pair")]
    pub sigma_ci: Option<Interval>,
    #[serde(serialize_with = "ends::pair")]
    pub kappa_ci: Option<Interval>,
    /// On some step, a larger number gave less, beyond the interval.
    pub retrograde: bool,
    pub steps: Vec<Step>,
    /// Extrapolation to twice the largest measured number; it assumes that the law continues to hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
}

/// Throughput that a law predicts at a number that was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    pub n: f64,
    pub value: f64,
    /// 95% prediction interval of one more trial.
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
}

impl Scaling {
    /// Throughput of the law at `n`: lambda n / (1 + sigma (n - 1) + kappa n (n - 1)).
    pub fn at(&self, n: f64) -> f64 {
        self.lambda * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }
}

/// From one number of threads or nodes to the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    pub from: f64,
    pub to: f64,
    pub ratio: f64,
    #[serde(flatten, serialize_with = "ends::ci")]
    pub ci: Option<Interval>,
    /// Less after than before, beyond the interval.
    pub retrograde: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpreadSources {
    pub ranking: Vec<SpreadSource>,
    /// Share of the variance that remains with every shown factor at its quiet level.
    pub unexplained: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpreadSource {
    pub factor: String,
    pub noisy_level: String,
    pub quiet_level: String,
    /// Ratio of the between-trial CoVs, noisy level to quiet one, over all primary metrics together.
    pub spread_ratio: f64,
    #[serde(flatten, serialize_with = "ends::spread_ci")]
    pub spread_ci: Option<Interval>,
    /// Share of the between-trial variance that disappears at the quiet level; 0 unless shown.
    pub share: f64,
    /// Adjusted for the number of factors.
    pub p_value: f64,
    pub shown: bool,
}

impl Summary {
    /// A metric of each of these conditions, of which there may be thousands.
    pub fn metrics_of<'n>(
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
