//! The data from which verdicts are tested, and which condition or level of a factor is the best.

use super::collect::ConditionTrials;
use super::composite::{Composite, Logarithms};
use super::confidence::{CONFIDENCE, FURTHER};
use super::factors::{self, Extremes, LADDERS_OVER, Second};
use super::verdict::{Apart, Estimate, LevelsOf, Measured, MovedAlone, Range, Ranked, Tested, Untested, Verdict};
use super::{effects, hosts, load_steps, modes, rounding};
use std::borrow::Cow;
use std::collections::BTreeSet;
use tare_results::metric::{self, Better};
use tare_results::schema::Levels;
use tare_stats::Trials;
use tare_stats::simultaneous::{Condition, Pair, Ranking, rank_rounded};
use tare_stats::trials::{self, Summary};

pub(super) struct Basis<'a> {
    pub conditions: &'a [ConditionTrials<'a>],
    pub composite: &'a Composite,
}

impl Basis<'_> {
    pub(crate) fn what(&self) -> Measured {
        let metrics = &self.composite.metrics;
        let steps = load_steps::count(metrics);
        Measured { metric: metrics.first().cloned().unwrap_or_default(), metrics: metrics.len(), steps }
    }

    /// The extreme means, if a single metric was measured and both describe their trials.
    pub(crate) fn range(&self) -> Option<Range> {
        match self.composite.metrics.as_slice() {
            [one] => range(one, self.conditions),
            _ => None,
        }
    }

    pub(crate) fn blocked(&self) -> bool {
        self.conditions.iter().all(|condition| condition.blocked)
    }

    pub(crate) fn fewest_trials(&self) -> usize {
        self.conditions.iter().map(|condition| condition.ok.len()).min().unwrap_or(0)
    }
}

pub(super) fn range(name: &str, conditions: &[ConditionTrials<'_>]) -> Option<Range> {
    let mean = |condition: &ConditionTrials<'_>| estimate(condition, name).map(|found| found.mean);
    let mut means: Vec<(&ConditionTrials<'_>, f64)> = conditions.iter().filter_map(|c| Some((c, mean(c)?))).collect();
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    let owned = |(condition, mean): &(&ConditionTrials<'_>, f64)| {
        modes::has_mean(condition, name).then(|| (condition.name.to_owned(), *mean))
    };
    Some(Range { low: owned(means.first()?)?, high: owned(means.last()?)?, unit: metric::describe(name).unit })
}

/// The summary of the trials, and the same with the differences between machines removed, because these are no spread
/// between trials. None if no trial has the metric.
pub(super) fn summaries(
    condition: &ConditionTrials<'_>,
    name: &str,
    values: &[Vec<f64>],
) -> Option<(Summary, Summary)> {
    let found = trials::summarize(Trials::new(values).ok()?, CONFIDENCE)?;
    let within = match hosts::without_machines(condition, name, values) {
        Cow::Borrowed(_) => found.clone(),
        Cow::Owned(values) => trials::summarize(Trials::new(&values).ok()?, CONFIDENCE)?,
    };
    Some((found, within))
}

/// Mean and interval; none if no trial has the metric.
pub(super) fn estimate(condition: &ConditionTrials<'_>, name: &str) -> Option<Estimate> {
    let values = condition.of_trials(name);
    let (found, within) = summaries(condition, name, &values)?;
    let ci = rounding::widened(within.ci, &values, tare_results::rounding::digit(name, &values.concat()));
    Some(Estimate { mean: found.mean, ci, trials: found.trials, unit: metric::describe(name).unit })
}

/// Metrics that a factor moves although their average does not, the largest change first: of 22 queries, one twice as
/// slow and one twice as fast cancel; empty if a single metric was measured.
pub(super) fn moved_by_factors(basis: &Basis<'_>) -> Vec<MovedAlone> {
    match metrics(basis) {
        metrics if metrics.len() > 1 => largest_first(effects::moved_alone(basis.conditions, &metrics)),
        _ => Vec::new(),
    }
}

/// Metrics in which two conditions differ, each with the widest pair, the largest difference first.
fn moved_conditions(basis: &Basis<'_>) -> Vec<MovedAlone> {
    let all: Vec<usize> = (0..basis.conditions.len()).collect();
    let each: Vec<Vec<usize>> = all.iter().map(|place| vec![*place]).collect();
    let name = |i: usize| basis.conditions.get(i).map_or_else(String::new, |condition| condition.name.to_owned());
    moved_groups(basis, &all, &each, name)
}

/// Metrics in which two groups of conditions differ, each with the widest pair, the largest difference first.
/// `members` are places in `chosen`, which are the places of conditions.
fn moved_groups(
    basis: &Basis<'_>,
    chosen: &[usize],
    members: &[Vec<usize>],
    name: impl Fn(usize) -> String,
) -> Vec<MovedAlone> {
    let metrics = metrics(basis);
    if metrics.len() < 2 {
        return Vec::new();
    }
    let ranked_at = |found: &Logarithms, alpha: f64| {
        let own: Vec<Condition> = chosen.iter().map(|place| found.cells[*place].clone()).collect();
        let errors: Vec<f64> = chosen.iter().map(|place| found.errors[*place]).collect();
        rank_rounded((&own, &errors), members, alpha, basis.blocked())
    };
    // All pairs of a metric together, and Holm over the metrics.
    let p_value = |found| ranked_at(found, FURTHER).map_or(1.0, |ranking| ranking.p_value);
    let mut by_p: Vec<(f64, &Logarithms)> = metrics.iter().map(|found| (p_value(found), found)).collect();
    by_p.sort_by(|a, b| a.0.total_cmp(&b.0));
    let moved = |(place, (_, found)): (usize, &(f64, &Logarithms))| {
        let pair = ranked_at(found, FURTHER / (metrics.len() - place) as f64)?.widest?;
        let (metric, ratio) = (found.metric.clone(), pair.difference.exp());
        Some(MovedAlone { metric, by: None, high: name(pair.high), low: name(pair.low), ratio })
    };
    largest_first(by_p.iter().enumerate().map_while(moved).collect())
}

fn metrics(basis: &Basis<'_>) -> Vec<Logarithms> {
    let tested = load_steps::tested(basis.conditions, &basis.composite.metrics);
    tested.iter().map(|name| Logarithms::of(basis.conditions, name)).collect()
}

fn largest_first(mut moved: Vec<MovedAlone>) -> Vec<MovedAlone> {
    moved.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    moved
}

/// The best condition against the worst, or the best level of a factor, with a false-alarm probability of `rate`.
pub(super) fn verdict(basis: &Basis<'_>, factor: Option<&str>, rate: f64) -> Verdict {
    factor.and_then(|factor| levels(basis, factor, rate)).unwrap_or_else(|| conditions(basis, rate))
}

/// The ranking with names; none if no pair is shown to differ.
fn ranked(found: &Ranking, better: Better, name: impl Fn(usize) -> String) -> Option<Ranked> {
    let low = (*found.order.first()?, &found.lowest);
    let high = (*found.order.last()?, &found.highest);
    let [(best, best_ties), (worst, worst_ties)] = match better {
        Better::Higher => [high, low],
        Better::Lower => [low, high],
    };
    let others = |end: usize, ties: &[usize]| ties.iter().filter(|i| **i != end).map(|i| name(*i)).collect();
    let widest = found.widest?;
    let second = (found.order.len() == 2).then(|| {
        let turned = |ratio: f64| if widest.high == 1 { ratio } else { 1.0 / ratio };
        let ci = widest.interval(CONFIDENCE).map(|ci| ci.map(|difference| turned(difference.exp())));
        Second { from: name(0), to: name(1), ratio: turned(widest.difference.exp()), ci }
    });
    let is_ends = (widest.low, widest.high) == (low.0, high.0);
    Some(Ranked {
        second,
        best: name(best),
        best_ties: others(best, best_ties),
        worst: name(worst),
        worst_ties: others(worst, worst_ties),
        apart: (!is_ends).then(|| Apart { high: name(widest.high), low: name(widest.low) }),
        ratio: widest.difference.exp(),
        ci: widest.interval(CONFIDENCE).map(|ci| ci.map(f64::exp)),
        differing: found.differing,
        p_value: found.p_value,
    })
}

fn extremes(found: &Ranking) -> Option<Extremes> {
    let ci = |ends: &Pair| ends.interval(CONFIDENCE).map(|ci| ci.map(f64::exp));
    found.ends.map(|ends| Extremes { ratio: ends.difference.exp(), ci: ci(&ends) })
}

fn tested(found: &Ranking) -> Tested {
    Tested { count: found.tested, of: found.order.len() * (found.order.len() - 1) / 2, analysis: found.analysis }
}

pub(super) fn conditions(basis: &Basis<'_>, rate: f64) -> Verdict {
    let name = |i: usize| basis.conditions.get(i).map_or_else(String::new, |condition| condition.name.to_owned());
    let Composite { cells, errors, .. } = basis.composite;
    let each: Vec<Vec<usize>> = (0..cells.len()).map(|place| vec![place]).collect();
    let Some(found) = rank_rounded((cells, errors), &each, rate, basis.blocked()) else {
        return Verdict::Untested(Untested::NotRankable);
    };
    let (what, range, fewest_trials) = (basis.what(), basis.range(), basis.fewest_trials());
    let tested = tested(&found);
    let by = found.widest.and_then(|pair| only_factor(&[pair.low, pair.high].map(|i| basis.conditions.get(i))));
    let Some(ranking) = ranked(&found, basis.composite.better, name) else {
        let alone = moved_conditions(basis);
        let (conditions, extremes) = (basis.conditions.len(), extremes(&found));
        return Verdict::NotRanked { what, conditions, extremes, range, fewest_trials, tested, alone };
    };
    let factors = factors::varying_factors(basis.conditions.iter().map(|condition| condition.levels));
    let alone = if what.steps.is_some() { moved_conditions(basis) } else { Vec::new() };
    Verdict::Ranked { what, factors, by, ranking, range, fewest_trials, tested, alone }
}

/// The only factor in which conditions differ; none if they differ in several.
fn only_factor(conditions: &[Option<&ConditionTrials<'_>>]) -> Option<String> {
    let differing = factors::varying_factors(conditions.iter().flatten().map(|condition| condition.levels));
    <[String; 1]>::try_from(differing).ok().map(|[factor]| factor)
}

/// Levels of one factor, averaged over the other factors, at the largest number of threads or nodes.
fn levels(basis: &Basis<'_>, factor: &str, rate: f64) -> Option<Verdict> {
    let over = LADDERS_OVER.into_iter().find(|over| {
        let numbers = basis.conditions.iter().filter_map(|c| c.levels.get(*over));
        *over != factor && numbers.collect::<BTreeSet<_>>().len() > 1
    });
    let number = |levels: &Levels| factors::number(levels.get(over?)?);
    let most = basis.conditions.iter().filter_map(|c| number(c.levels)).fold(f64::NEG_INFINITY, f64::max);
    let at_most = |levels: &Levels| over.is_none() || number(levels) == Some(most);
    let mut names: Vec<&str> = Vec::new();
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut chosen: Vec<usize> = Vec::new();
    for (at, condition) in basis.conditions.iter().enumerate() {
        let Some(level) = condition.levels.get(factor).filter(|_| at_most(condition.levels)) else { continue };
        let place = names.iter().position(|name| name == level).unwrap_or_else(|| {
            names.push(level);
            members.push(Vec::new());
            names.len() - 1
        });
        members[place].push(chosen.len());
        chosen.push(at);
    }
    // A level that lacks one of the conditions would be averaged over a different set.
    let whole = members.iter().map(Vec::len).max()?;
    if names.len() < 2 || members.iter().any(|members| members.len() < whole) {
        return None;
    }
    let cells: Vec<Condition> = chosen.iter().map(|at| basis.composite.cells[*at].clone()).collect();
    let errors: Vec<f64> = chosen.iter().map(|at| basis.composite.errors[*at]).collect();
    let found = rank_rounded((&cells, &errors), &members, rate, basis.blocked())?;
    let name = |i: usize| names.get(i).copied().unwrap_or_default().to_owned();
    let of = LevelsOf { factor: factor.to_owned(), levels: names.len(), at: over.map(|over| (over, most)) };
    let (what, tested) = (basis.what(), tested(&found));
    Some(match ranked(&found, basis.composite.better, name) {
        None => {
            let alone = moved_groups(basis, &chosen, &members, name);
            Verdict::NotRankedLevels { what, of, extremes: extremes(&found), tested, alone }
        }
        Some(ranking) => Verdict::RankedLevels { what, of, ranking, tested },
    })
}
