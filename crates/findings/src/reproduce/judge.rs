//! The verdict on a figure: its interval compared with the range in which the claim holds. Both rules are fixed before
//! the run.

use super::measured::{conditions_of, measured};
use super::model::{Figure, Open, Reproduced, Why};
use tare_results::Results;
use tare_results::claim::{Band, Claim, Measure};
use tare_results::schema::Plan;
use tare_stats::Interval;
use tare_stats::blocks::are_few;

/// No estimate of the needed time is given above this.
const LONGEST_S: f64 = 7.0 * 86400.0;
/// Minimum number of clean trials of a condition that can decide although others were disturbed.
const FEWEST_CLEAN: usize = 4;
/// Suggested multiple of the time so far if there is no interval of more than two trials yet.
const MORE: f64 = 3.0;

/// The verdict on a claim from the records of its experiment.
pub fn of_results(claim: &Claim, results: &Results) -> Reproduced {
    let at_once = results.plan.as_ref().map_or(1.0, Plan::at_once);
    let elapsed_s = results.trials.iter().map(|trial| trial.elapsed_s).sum::<f64>() / at_once;
    let Some(sides) = conditions_of(claim, results) else { return judge(claim, None, elapsed_s) };
    let figure = measured(claim, &sides);
    // A size that is the same in every trial does not depend on what other processes did.
    let same = |ci: Interval| claim.measure == Measure::Value && ci.high <= ci.low;
    if figure.is_none_or(|figure| figure.disturbed == 0 || figure.ci.is_some_and(same)) {
        return judge(claim, figure, elapsed_s);
    }
    match measured(claim, &sides.clean()).filter(|clean| clean.ci.is_some() && clean.trials >= FEWEST_CLEAN) {
        Some(clean) => judge(claim, Some(clean), elapsed_s),
        None => Reproduced::NotDecided(Open { figure, why: Why::Disturbed, needs_s: None }),
    }
}

/// The verdict on a figure that was measured in `elapsed_s` seconds.
pub fn judge(claim: &Claim, figure: Option<Figure>, elapsed_s: f64) -> Reproduced {
    let open = |why, needs_s| Reproduced::NotDecided(Open { figure, why, needs_s });
    let (Some(figure), Some(ci)) = (figure, figure.and_then(|figure| figure.ci)) else {
        let why = if elapsed_s > 0.0 { Why::TooFew } else { Why::NotRun };
        return open(why, (elapsed_s > 0.0).then_some(MORE * elapsed_s));
    };
    if differs_from_itself(claim, &figure) {
        return open(Why::Again, None);
    }
    let Band { from, to } = claim.holds;
    if from <= ci.low && ci.high <= to {
        return Reproduced::Holds(figure);
    }
    if ci.high < from || to < ci.low {
        return Reproduced::DoesNotHold(figure);
    }
    // The interval of two trials says nothing about that of more.
    if are_few([figure.trials]) {
        return open(Why::TooFew, Some(MORE * elapsed_s));
    }
    open(Why::Crosses, needs_s(figure.value, ci, claim.holds, elapsed_s))
}

/// Whether A differs from its own repetition: a shown difference of more than half the size of that between A and B.
/// The difference between A and B then does not test the claim.
fn differs_from_itself(claim: &Claim, figure: &Figure) -> bool {
    let Some((again, ci)) = figure.again.and_then(|again| Some((again, again.ci?))) else { return false };
    claim.measure == Measure::Ratio && !ci.contains(1.0) && again.value.ln().abs() > figure.value.ln().abs() / 2.0
}

/// Seconds until the interval excludes the nearest end of the band, if the figure stays the same: half widths shrink
/// with the square root of the time.
fn needs_s(value: f64, ci: Interval, band: Band, elapsed_s: f64) -> Option<f64> {
    let ends = [band.from, band.to].into_iter().filter(|end| end.is_finite());
    let nearest = ends.min_by(|a, b| (a - value).abs().total_cmp(&(b - value).abs()))?;
    let half = if nearest < value { value - ci.low } else { ci.high - value };
    let needed = elapsed_s * (half / (nearest - value)).powi(2);
    (needed.is_finite() && needed <= LONGEST_S).then_some(needed.max(elapsed_s))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
