//! The verdict on a figure: its interval compared with the range in which the claim holds. Both rules are fixed before
//! the run.

use super::measured::{conditions_of, measured};
use super::model::{Again, Figure, Open, Reproduced, Why};
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
    if figure.as_ref().is_none_or(|figure| figure.disturbed == 0 || figure.ci.is_some_and(same)) {
        return judge(claim, figure, elapsed_s);
    }
    match measured(claim, &sides.clean()).filter(|clean| clean.ci.is_some() && clean.trials >= FEWEST_CLEAN) {
        Some(clean) => judge(claim, Some(clean), elapsed_s),
        None => Reproduced::NotDecided(Open { figure, why: Why::Disturbed, needs_s: None }),
    }
}

/// The verdict on a figure that was measured in `elapsed_s` seconds.
pub(crate) fn judge(claim: &Claim, figure: Option<Figure>, elapsed_s: f64) -> Reproduced {
    let open = |figure, why, needs_s| Reproduced::NotDecided(Open { figure, why, needs_s });
    let Some((figure, ci)) = figure.clone().and_then(|figure| figure.ci.map(|ci| (figure, ci))) else {
        let why = if elapsed_s > 0.0 { Why::TooFew } else { Why::NotRun };
        return open(figure, why, (elapsed_s > 0.0).then_some(MORE * elapsed_s));
    };
    let lies = Lies::of(ci, claim.holds);
    if lies == Lies::Across {
        // The interval of two trials says nothing about that of more.
        let (why, needs_s) = match are_few([figure.trials]) {
            true => (Why::TooFew, Some(MORE * elapsed_s)),
            false => (Why::Crosses, needs_s(figure.value, ci, claim.holds, elapsed_s)),
        };
        return open(Some(figure), why, needs_s);
    }
    if figure.again.is_some_and(|again| Lies::of(moved(figure.value, ci, again), claim.holds) != lies) {
        return open(Some(figure), Why::Again, None);
    }
    match lies {
        Lies::Inside => Reproduced::Holds(figure),
        Lies::Outside | Lies::Across => Reproduced::DoesNotHold(figure),
    }
}

/// Where an interval lies, relative to a band.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lies {
    Inside,
    Outside,
    Across,
}

impl Lies {
    fn of(ci: Interval, band: Band) -> Self {
        match band {
            Band { from, to } if from <= ci.low && ci.high <= to => Self::Inside,
            Band { from, to } if ci.high < from || to < ci.low => Self::Outside,
            _ => Self::Across,
        }
    }
}

/// The interval, moved in both directions by the difference of A from its own repetition if this is shown, with the
/// errors of both: that difference may also be a part of the one between A and B.
fn moved(value: f64, ci: Interval, again: Again) -> Interval {
    let Some(own) = again.ci.filter(|own| !own.contains(1.0)) else { return ci };
    let by = again.value.ln().abs();
    let down = (value / ci.low).ln().hypot((again.value / own.low).ln());
    let up = (ci.high / value).ln().hypot((own.high / again.value).ln());
    Interval { low: value * (-by - down).exp(), high: value * (by + up).exp() }
}

/// Seconds until the interval excludes every end of the band that it has to, if the figure stays the same: those that
/// it crosses if the figure lies within the band, otherwise the one between the two. Half widths shrink with the square
/// root of the time. Intervals of positive figures are symmetric on the logarithmic scale.
fn needs_s(value: f64, ci: Interval, band: Band, elapsed_s: f64) -> Option<f64> {
    let scaled = |x: f64| if ci.low > 0.0 { x.ln() } else { x };
    let ends = if value < band.from {
        vec![band.from]
    } else if band.to < value {
        vec![band.to]
    } else {
        [band.from, band.to].into_iter().filter(|end| ci.contains(*end)).collect()
    };
    let needed_for = |end: f64| {
        let reached = if end < value { ci.low } else { ci.high };
        elapsed_s * ((scaled(reached) - scaled(value)) / (scaled(end) - scaled(value))).powi(2)
    };
    let needed = ends.into_iter().map(needed_for).max_by(f64::total_cmp)?;
    (needed.is_finite() && needed <= LONGEST_S).then_some(needed.max(elapsed_s))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
