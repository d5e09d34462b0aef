//! Reproduction of published claims: the figure with its interval, compared with the range that was fixed beforehand.
//!
//! The rules of the figure and of the verdict are both fixed before the run.

use super::answer::primary;
use super::collect::{self, ConditionTrials};
use super::confidence::{self, CONFIDENCE};
use serde::Serialize;
use tare_results::Results;
use tare_results::claim::{Band, Cannot, Claim, Measure};
use tare_results::schema::{Levels, Plan};
use tare_results::server::LowOptimisation;
use tare_stats::blocks::{are_few, level};
use tare_stats::descriptive::{cov, mean};
use tare_stats::{Estimate, Interval, spread, trials};

#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The claim as it was written down before the run.
    pub claim: Claim,
    /// None if nothing has been run for it.
    pub verdict: Option<Reproduced>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reproduced {
    /// The interval lies within the range in which the claim holds.
    Holds(Figure),
    /// The interval lies outside that range.
    DoesNotHold(Figure),
    NotDecided(Open),
    /// It cannot be tested on this machine, or on any.
    CannotBeTested(Cannot),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// The ratio B / A, or the value.
    pub value: f64,
    /// Its 95% interval, 99.75% from two trials; none with too few trials.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
    /// A compared with its own repetition, measured in the same blocks; none if the claim is not about means.
    pub again: Option<Again>,
    pub trials: usize,
    /// How many of the trials were disturbed but count.
    pub disturbed: usize,
    /// Product and version of the measured servers, that of A first: `MariaDB 10.11.14`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// The reduced optimisation level with which one of the servers was compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiled: Option<LowOptimisation>,
}

/// The difference of the machine from itself: a condition of the experiment measured twice, in the same blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Again {
    /// The second measurement / the first.
    pub value: f64,
    /// 95% interval of this ratio; none with too few blocks.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Open {
    /// The measured figure; none if there is none so far.
    pub figure: Option<Figure>,
    pub why: Why,
    /// Estimated total seconds, from the variation of the trials so far; none if the time needed is unknown.
    pub needs_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nothing has been run for it in the available time.
    NotRun,
    /// Trials failed, or too few have ended for an interval.
    TooFew,
    /// Trials were disturbed, and too few clean ones are left.
    Disturbed,
    /// The interval crosses an end of the range in which the claim holds.
    Crosses,
    /// The same condition, measured twice, differs by so much that this alone could change the verdict.
    Again,
}

/// The factor that distinguishes a condition from its repetition, and the level of the repetition.
const REPEATED: (&str, &str) = ("side", "b");

/// The conditions of a claim, A and B, and the condition of its experiment that was measured twice.
pub(crate) struct Sides<'r> {
    a: ConditionTrials<'r>,
    b: Option<ConditionTrials<'r>>,
    twice: Option<[ConditionTrials<'r>; 2]>,
}

/// Finds the conditions of a claim by their levels; none if A was not measured, or B of a claim that has one.
fn conditions_of<'r>(claim: &Claim, results: &'r Results) -> Option<Sides<'r>> {
    let all = collect::conditions(results);
    let is_repeated =
        |condition: &ConditionTrials<'_>| condition.levels.get(REPEATED.0).is_some_and(|side| side == REPEATED.1);
    let find = |levels: &Levels| {
        let wanted =
            |condition: &&ConditionTrials<'_>| !is_repeated(condition) && own(condition.levels).eq(own(levels));
        all.iter().find(wanted).cloned()
    };
    let mut a = find(&claim.a)?;
    let mut b = match &claim.b {
        Some(levels) => Some(find(levels)?),
        None => None,
    };
    let twice = all.iter().find(|condition| is_repeated(condition));
    let mut twice = twice.and_then(|second| Some([find(second.levels)?, second.clone()]));
    if results.plan.as_ref().is_some_and(|plan| plan.turns.is_some()) {
        b.iter_mut().for_each(|b| [a, *b] = collect::alternated(&a, b));
        twice.iter_mut().for_each(|both| *both = collect::alternated(&both[0], &both[1]));
    }
    Some(Sides { a, b, twice })
}

impl Sides<'_> {
    pub(crate) fn clean(&self) -> Self {
        let twice = self.twice.as_ref().map(|[one, other]| [one.clean(), other.clean()]);
        Self { a: self.a.clean(), b: self.b.as_ref().map(ConditionTrials::clean), twice }
    }
}

/// The levels of a condition without the factor that marks the repetition.
fn own(levels: &Levels) -> impl Iterator<Item = (&String, &String)> {
    levels.iter().filter(|(factor, _)| *factor != REPEATED.0)
}

/// The figure of a claim; none if its conditions or its metric were not measured, or values are not positive.
pub(crate) fn measured(claim: &Claim, sides: &Sides<'_>) -> Option<Figure> {
    let Sides { a, b, twice } = sides;
    let names = metrics(claim, a);
    let first = names.first()?;
    let of_b = || b.as_ref();
    let (found, again) = match claim.measure {
        Measure::Ratio => {
            let again = twice.as_ref().and_then(|[one, other]| ratio(one, other, first, CONFIDENCE));
            (ratio(a, of_b()?, first, CONFIDENCE)?, again)
        }
        Measure::LargestRatio => (largest(a, of_b()?, &names)?, None),
        Measure::EveryRatio => (every(a, of_b()?, &names, claim.holds)?, None),
        Measure::SpreadRatio => (spread::ratio(&means(a, &names)?, &means(of_b()?, &names)?, CONFIDENCE)?, None),
        Measure::LargestSpreadRatio => (largest_spread(a, of_b()?, &names)?, None),
        Measure::BetweenCov => (spread::between(&means(a, &names)?, CONFIDENCE)?, None),
        Measure::Value => (of_values(&a.means(first))?, None),
        Measure::WithinCov => (within(a, &names)?, None),
    };
    let measured = || std::iter::once(a).chain(b.iter());
    Some(Figure {
        value: found.value,
        ci: found.ci,
        again: again.map(|again| Again { value: again.value, ci: again.ci }),
        trials: measured().map(|condition| condition.ok.len()).min().unwrap_or(0),
        disturbed: measured().map(|condition| condition.disturbed().len()).sum(),
        servers: servers(measured()),
        compiled: measured().find_map(ConditionTrials::low_optimisation),
    })
}

/// Each measured server once: its product, and its version without the distributor's additions.
fn servers<'c>(conditions: impl Iterator<Item = &'c ConditionTrials<'c>>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for server in conditions.flat_map(|condition| &condition.ok).filter_map(|trial| trial.server.as_ref()) {
        let version = server.version.trim_matches(|c: char| !c.is_ascii_digit());
        let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
        let name = format!("{} {}", server.product, &version[..end]).trim().to_owned();
        if !all.contains(&name) {
            all.push(name);
        }
    }
    all
}

/// The metric that the claim names, else every primary metric of its load.
fn metrics(claim: &Claim, a: &ConditionTrials<'_>) -> Vec<String> {
    match &claim.metric {
        Some(name) => vec![name.clone()],
        None => primary(std::slice::from_ref(a)),
    }
}

/// B / A, block by block. The interval decides, so that of two blocks is as wide as their test is strict.
fn ratio(a: &ConditionTrials<'_>, b: &ConditionTrials<'_>, metric: &str, confidence: f64) -> Option<Estimate> {
    let (a, b) = collect::by_block(a, b, metric)?;
    tare_stats::ratio::paired(&a, &b, level(confidence, are_few([a.len()]))).ok()
}

/// The ratio of the metric with the largest ratio; its interval holds for all metrics together (Bonferroni).
fn largest(a: &ConditionTrials<'_>, b: &ConditionTrials<'_>, names: &[String]) -> Option<Estimate> {
    let all = names.iter().filter_map(|name| ratio(a, b, name, of_all(names.len())));
    all.max_by(|one, other| one.value.total_cmp(&other.value))
}

/// The ratio of the largest CoVs of the two sides. The interval of a side reaches from the highest lower end of its
/// metrics' intervals to the highest upper end. It contains the largest true CoV if each of them contains its own, and
/// all of both sides together do so with the usual confidence (Bonferroni).
fn largest_spread(a: &ConditionTrials<'_>, b: &ConditionTrials<'_>, names: &[String]) -> Option<Estimate> {
    let of = |side: &ConditionTrials<'_>| {
        let spreads = means(side, names)?.into_iter().map(|values| spread::between(&[values], of_all(2 * names.len())));
        let spreads = spreads.collect::<Option<Vec<Estimate>>>()?;
        let most = |of: fn(&Estimate) -> f64| spreads.iter().map(of).fold(0.0, f64::max);
        let all_known = spreads.iter().all(|found| found.ci.is_some());
        let low = most(|found| found.ci.map_or(0.0, |ci| ci.low));
        let high = most(|found| found.ci.map_or(0.0, |ci| ci.high));
        Some((most(|found| found.value), all_known.then_some(Interval { low, high })))
    };
    let ((a, of_a), (b, of_b)) = (of(a)?, of(b)?);
    let ci = of_a.zip(of_b).map(|(a, b)| Interval { low: b.low / a.high, high: b.high / a.low });
    Some(Estimate { value: b / a, ci })
}

/// The ratio of the metric that is farthest from 1, with an interval that contains the intervals of all metrics. All of
/// them must be within the band, so each has the usual confidence. If one is outside by the interval that holds for all
/// metrics together, that one refutes the claim and is returned.
fn every(a: &ConditionTrials<'_>, b: &ConditionTrials<'_>, names: &[String], band: Band) -> Option<Estimate> {
    let far = |one: &Estimate, other: &Estimate| one.value.ln().abs().total_cmp(&other.value.ln().abs());
    let of = |confidence: f64| names.iter().map(move |name| ratio(a, b, name, confidence)).collect::<Option<Vec<_>>>();
    let is_outside = |found: &Estimate| found.ci.is_some_and(|ci| ci.high < band.from || band.to < ci.low);
    if let Some(refuting) = of(of_all(names.len()))?.into_iter().filter(is_outside).max_by(far) {
        return Some(refuting);
    }
    let all = of(CONFIDENCE)?;
    let intervals = all.iter().map(|found| found.ci).collect::<Option<Vec<Interval>>>();
    let ci = intervals.and_then(|all| {
        all.into_iter().reduce(|one, other| Interval { low: one.low.min(other.low), high: one.high.max(other.high) })
    });
    Some(Estimate { value: all.into_iter().max_by(far)?.value, ci })
}

/// The confidence of each of several intervals with which all of them together have the usual one (Bonferroni).
fn of_all(count: usize) -> f64 {
    1.0 - (1.0 - CONFIDENCE) / count as f64
}

/// Trial means, one list per metric; none if a metric lacks a trial that another one has.
fn means(condition: &ConditionTrials<'_>, names: &[String]) -> Option<Vec<Vec<f64>>> {
    let all: Vec<Vec<f64>> = names.iter().map(|name| condition.means(name)).collect();
    let trials = all.first()?.len();
    all.iter().all(|values| values.len() == trials).then_some(all)
}

fn of_values(values: &[f64]) -> Option<Estimate> {
    let ci = trials::mean_interval(values, level(CONFIDENCE, are_few([values.len()])));
    Some(Estimate { value: mean(values)?, ci })
}

/// The CoV of each trial's samples, averaged over metrics; then the mean over trials.
fn within(condition: &ConditionTrials<'_>, names: &[String]) -> Option<Estimate> {
    let of_trial = |trial: usize| {
        let covs: Vec<f64> = names.iter().filter_map(|name| cov(condition.values(name).get(trial)?)).collect();
        mean(&covs)
    };
    let trials: Vec<f64> = (0..condition.ok.len()).filter_map(of_trial).collect();
    of_values(&trials)
}

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
#[path = "reproduce_tests.rs"]
mod tests;
