//! The scalability law over threads, nodes or caches, with the other factors fixed.

use super::collect::{self, ConditionTrials};
use super::confidence::CONFIDENCE;
use super::factors::{Ladder, ladders, load_of};
use super::{confidence, rounding};
use serde::Serialize;
use tare_results::metric::{self, Better};
use tare_results::schema::Levels;
use tare_results::unit::Unit;
use tare_stats::Interval;
use tare_stats::ladder::{self as steps, Rung};
use tare_stats::ratio::Rounding;
use tare_stats::scaling::{fit, rung_points};

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
    #[serde(serialize_with = "confidence::pair")]
    pub lambda_ci: Option<Interval>,
    #[serde(serialize_with = "confidence::pair")]
    pub sigma_ci: Option<Interval>,
    #[serde(serialize_with = "confidence::pair")]
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
    #[serde(flatten, serialize_with = "confidence::ci")]
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
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// Less after than before, beyond the interval.
    pub retrograde: bool,
}

/// Minimum number of distinct levels for a law.
const FEWEST: usize = 3;

/// Whether laws are fitted to this metric.
fn is_throughput(name: &str) -> bool {
    let metric = metric::describe(name);
    metric.better == Better::Higher && metric.unit == Unit::PerS
}

/// Laws of every throughput along each ladder; empty if fewer than three numbers were measured. `rate` is the
/// probability that any step is called retrograde although none is; the ladders of a load have the part `weight` of it.
pub(super) fn scaling(
    conditions: &[ConditionTrials<'_>],
    rate: f64,
    weight: impl Fn(Option<&String>) -> f64,
) -> Vec<Scaling> {
    let metrics = collect::all_metrics(conditions);
    let throughputs: Vec<&String> = metrics.iter().filter(|name| is_throughput(name)).collect();
    let mut all = ladders(conditions);
    // Shorter ladders have no law, so they take no share of the rate.
    all.retain(|ladder| ladder.rungs.len() >= FEWEST);
    let laws = |ladder: &Ladder<'_, '_>| {
        let own = rate * weight(load_of(&ladder.levels)) / all.len() as f64;
        let law = |metric: &&String| law(metric, ladder, &rungs(ladder, metric)?, own);
        throughputs.iter().copied().filter_map(|metric| law(&metric)).collect::<Vec<_>>()
    };
    let mut laws: Vec<Scaling> = all.iter().flat_map(laws).collect();
    // All ladders of a metric are listed together.
    laws.sort_by_key(|law| (law.over != "threads", metrics.iter().position(|name| *name == law.metric)));
    laws
}

/// The trials of each rung of a ladder; none if too few rungs have any.
fn rungs(ladder: &Ladder<'_, '_>, metric: &str) -> Option<Vec<Rung>> {
    let hidden = rounding::of(ladder.rungs.iter().map(|(_, condition)| *condition), metric);
    let rung = |((n, condition), rounding): (&(f64, &ConditionTrials<'_>), Rounding)| {
        let (blocks, trials): (Vec<usize>, Vec<f64>) = condition.numbered(metric).into_iter().unzip();
        let blocks = if condition.blocked { blocks } else { Vec::new() };
        Rung { n: *n, trials, blocks, rounding: Some(rounding) }
    };
    let rungs = ladder.rungs.iter().zip(hidden).map(rung);
    let rungs: Vec<Rung> = rungs.filter(|rung| !rung.trials.is_empty()).collect();
    (rungs.len() >= FEWEST).then_some(rungs)
}

fn law(metric: &str, ladder: &Ladder<'_, '_>, rungs: &[Rung], rate: f64) -> Option<Scaling> {
    let law = fit(&rung_points(rungs), CONFIDENCE).ok()?;
    let steps = steps::steps(rungs, CONFIDENCE).ok()?;
    // The rate is divided between the ladders of a study. It is doubled for the two-sided interval, because only one
    // direction is a claim.
    let strict = steps::steps(rungs, 1.0 - 2.0 * rate).ok()?;
    let doubled = 2.0 * rungs.iter().map(|rung| rung.n).fold(0.0, f64::max);
    let predicted = law.predict(doubled, CONFIDENCE);
    Some(Scaling {
        metric: metric.to_owned(),
        over: ladder.over.to_owned(),
        levels: ladder.levels.clone(),
        lambda: law.lambda.value,
        sigma: law.sigma.value,
        kappa: law.kappa.value,
        lambda_ci: law.lambda.ci,
        sigma_ci: law.sigma.ci,
        kappa_ci: law.kappa.ci,
        peak: law.peak,
        retrograde: steps::is_retrograde(&strict),
        prediction: Some(Prediction { n: doubled, value: predicted.value, ci: predicted.ci }),
        steps: steps
            .iter()
            .zip(&strict)
            .map(|(step, strict)| Step {
                from: step.from,
                to: step.to,
                ratio: step.ratio.value,
                ci: step.ratio.ci,
                retrograde: strict.retrograde,
            })
            .collect(),
    })
}
