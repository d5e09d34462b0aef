//! The figure of a claim, from trial records.

use super::model::{Again, Figure};
use crate::answer::primary;
use crate::collect::{self, ConditionTrials};
use crate::confidence::CONFIDENCE;
use tare_results::Results;
use tare_results::claim::{Band, Claim, Measure};
use tare_results::schema::Levels;
use tare_stats::blocks::{are_few, level};
use tare_stats::descriptive::{cov, mean};
use tare_stats::{Estimate, Interval, spread, trials};

/// The factor that distinguishes a condition from its repetition, and the level of the repetition.
const REPEATED: (&str, &str) = ("side", "b");

/// The conditions of a claim, A and B, and the condition of its experiment that was measured twice.
pub(crate) struct Sides<'r> {
    a: ConditionTrials<'r>,
    b: Option<ConditionTrials<'r>>,
    twice: Option<[ConditionTrials<'r>; 2]>,
}

/// Finds the conditions of a claim by their levels; none if A was not measured, or B of a claim that has one.
pub(crate) fn conditions_of<'r>(claim: &Claim, results: &'r Results) -> Option<Sides<'r>> {
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
