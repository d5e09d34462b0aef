//! The scalability law over threads or nodes, other factors held.

use super::collect::{self, Condition};
use super::summarize::CONFIDENCE;
use super::summary::{Prediction, Scaling, Step};
use crate::results::metric::{self, Better};
use crate::results::schema::Levels;
use std::collections::BTreeMap;
use tare_stats::ladder::{self, Rung};
use tare_stats::scaling::{Point, fit};

/// Factors whose levels count something that may scale.
const OVER: [&str; 2] = ["threads", "nodes"];
/// Fewest different numbers that a law is fitted to.
const FEWEST: usize = 3;

/// Laws of every throughput over `threads` and over `nodes`; none where fewer than three numbers were measured.
pub(super) fn scaling(conditions: &[Condition<'_>]) -> Vec<Scaling> {
    let metrics = collect::all_metrics(conditions);
    let throughputs: Vec<&String> = metrics
        .iter()
        .filter(|name| {
            let metric = metric::describe(name);
            metric.better == Better::Higher && metric.unit == "1/s"
        })
        .collect();
    let mut laws = Vec::new();
    for over in OVER {
        for metric in &throughputs {
            let ladders = ladders(conditions, over, metric);
            laws.extend(ladders.into_iter().filter_map(|(levels, rungs)| law(metric, over, levels, &rungs)));
        }
    }
    laws
}

/// Rungs by the levels of the other factors.
fn ladders(conditions: &[Condition<'_>], over: &str, metric: &str) -> BTreeMap<Levels, Vec<Rung>> {
    let mut ladders: BTreeMap<Levels, Vec<Rung>> = BTreeMap::new();
    for condition in conditions {
        let Some(n) = condition.levels.get(over).and_then(|level| level.parse::<f64>().ok()) else { continue };
        let trials: Vec<f64> = condition.with(metric).into_iter().map(|(_, mean)| mean).collect();
        if trials.is_empty() || !n.is_finite() {
            continue;
        }
        let mut others = condition.levels.clone();
        others.remove(over);
        ladders.entry(others).or_default().push(Rung { n, trials });
    }
    ladders.retain(|_, rungs| rungs.len() >= FEWEST);
    ladders
}

fn law(metric: &str, over: &str, levels: Levels, rungs: &[Rung]) -> Option<Scaling> {
    let points: Vec<Point> =
        rungs.iter().flat_map(|rung| rung.trials.iter().map(|x| Point { n: rung.n, x: *x })).collect();
    let law = fit(&points, CONFIDENCE).ok()?;
    let steps = ladder::steps(rungs, CONFIDENCE).ok()?;
    let doubled = 2.0 * rungs.iter().map(|rung| rung.n).fold(0.0, f64::max);
    let predicted = law.predict(doubled, CONFIDENCE);
    let interval = |estimate: &tare_stats::Estimate| estimate.ci.map(|ci| [ci.low, ci.high]);
    Some(Scaling {
        metric: metric.to_owned(),
        over: over.to_owned(),
        levels,
        lambda: law.lambda.value,
        sigma: law.sigma.value,
        kappa: law.kappa.value,
        lambda_ci: interval(&law.lambda),
        sigma_ci: interval(&law.sigma),
        kappa_ci: interval(&law.kappa),
        peak: law.peak,
        retrograde: ladder::is_retrograde(&steps),
        prediction: Some(Prediction {
            n: doubled,
            value: predicted.value,
            ci_low: predicted.ci.map(|ci| ci.low),
            ci_high: predicted.ci.map(|ci| ci.high),
        }),
        steps: steps
            .iter()
            .map(|step| Step {
                from: step.from,
                to: step.to,
                ratio: step.ratio.value,
                ci_low: step.ratio.ci.map(|ci| ci.low),
                ci_high: step.ratio.ci.map(|ci| ci.high),
                retrograde: step.retrograde,
            })
            .collect(),
    })
}
