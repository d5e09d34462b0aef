//! The scalability law over threads or nodes, other factors held.

use super::collect::{self, ConditionTrials};
use super::ladders::{Ladder, ladders};
use super::summarize::CONFIDENCE;
use super::summary::{Prediction, Scaling, Step};
use tare_results::metric::{self, Better};
use tare_results::schema::Levels;
use tare_stats::ladder::{self, Rung};
use tare_stats::scaling::{Point, fit};

/// Fewest different numbers that a law is fitted to.
const FEWEST: usize = 3;

/// Laws of every throughput over `threads` and over `nodes`; none where fewer than three numbers were measured.
pub(super) fn scaling(conditions: &[ConditionTrials<'_>]) -> Vec<Scaling> {
    let metrics = collect::all_metrics(conditions);
    let throughputs: Vec<&String> = metrics
        .iter()
        .filter(|name| {
            let metric = metric::describe(name);
            metric.better == Better::Higher && metric.unit == "1/s"
        })
        .collect();
    let laws = |ladder: &Ladder<'_, '_>| {
        let law = |metric: &&String| law(metric, ladder.over, ladder.levels.clone(), &rungs(ladder, metric)?);
        throughputs.iter().copied().filter_map(|metric| law(&metric)).collect::<Vec<_>>()
    };
    let mut laws: Vec<Scaling> = ladders(conditions).iter().flat_map(laws).collect();
    // All ladders of a metric stand together.
    laws.sort_by_key(|law| (law.over != "threads", metrics.iter().position(|name| *name == law.metric)));
    laws
}

/// The trials of each rung of a ladder; none where too few rungs have any.
fn rungs(ladder: &Ladder<'_, '_>, metric: &str) -> Option<Vec<Rung>> {
    let trials =
        |condition: &ConditionTrials<'_>| condition.with(metric).into_iter().map(|(_, mean)| mean).collect::<Vec<_>>();
    let rungs = ladder.rungs.iter().map(|(n, condition)| Rung { n: *n, trials: trials(condition) });
    let rungs: Vec<Rung> = rungs.filter(|rung| !rung.trials.is_empty()).collect();
    (rungs.len() >= FEWEST).then_some(rungs)
}

fn law(metric: &str, over: &str, levels: Levels, rungs: &[Rung]) -> Option<Scaling> {
    let points: Vec<Point> =
        rungs.iter().flat_map(|rung| rung.trials.iter().map(|x| Point { n: rung.n, x: *x })).collect();
    let law = fit(&points, CONFIDENCE).ok()?;
    let steps = ladder::steps(rungs, CONFIDENCE).ok()?;
    let doubled = 2.0 * rungs.iter().map(|rung| rung.n).fold(0.0, f64::max);
    let predicted = law.predict(doubled, CONFIDENCE);
    Some(Scaling {
        metric: metric.to_owned(),
        over: over.to_owned(),
        levels,
        lambda: law.lambda.value,
        sigma: law.sigma.value,
        kappa: law.kappa.value,
        lambda_ci: law.lambda.ci,
        sigma_ci: law.sigma.ci,
        kappa_ci: law.kappa.ci,
        peak: law.peak,
        retrograde: ladder::is_retrograde(&steps),
        prediction: Some(Prediction { n: doubled, value: predicted.value, ci: predicted.ci }),
        steps: steps
            .iter()
            .map(|step| Step {
                from: step.from,
                to: step.to,
                ratio: step.ratio.value,
                ci: step.ratio.ci,
                retrograde: step.retrograde,
            })
            .collect(),
    })
}
