//! Which condition, or which level of a factor, is the best: all pairs at once.

use super::basis::{Basis, extremes, fewest, named};
use super::confidence::{ANSWER, CONFIDENCE};
use super::figures::{count, list, times};
use super::ladders::OVER;
use super::reading;
use super::said::{Said, tested};
use std::collections::BTreeMap;
use tare_results::metric::Better;
use tare_stats::simultaneous::{self, Condition, Ranking};

/// The fewest trials of a condition from which anything is said without a caution.
const ENOUGH_TRIALS: usize = 5;

/// The best condition against the worst, or the best level of a factor.
pub(super) fn answer(basis: &Basis<'_>, factor: Option<&str>) -> Said {
    match factor.and_then(|factor| levels(basis, factor)) {
        Some(said) => said,
        None => conditions(basis),
    }
}

fn blocked(basis: &Basis<'_>) -> bool {
    basis.conditions.iter().all(|condition| condition.blocked)
}

/// The ends of a ranking, the best first: (its index, those that cannot be told from it), and the same of the worst.
fn ends(found: &Ranking, better: Better) -> Option<[(usize, &[usize]); 2]> {
    let low = (*found.order.first()?, found.lowest.as_slice());
    let high = (*found.order.last()?, found.highest.as_slice());
    Some(match better {
        Better::Higher => [high, low],
        Better::Lower => [low, high],
    })
}

/// "5.1x, 95% interval 4.9x to 5.2x for all pairs together": the larger over the smaller.
fn ratio_words(found: &Ranking) -> String {
    let interval = found.ci.map_or(String::new(), |ci| {
        format!(", 95% interval {} to {} for all pairs together", times(ci.low.exp()), times(ci.high.exp()))
    });
    format!("{}{interval}", times(found.difference.exp()))
}

fn conditions(basis: &Basis<'_>) -> Said {
    let what = basis.what();
    let Some((found, ends)) =
        simultaneous::rank(&basis.composite.cells, CONFIDENCE, blocked(basis)).and_then(|found| {
            Some((found.clone(), ends(&found, basis.composite.better)?.map(|(i, tied)| (i, tied.to_vec()))))
        })
    else {
        return super::said::untested("The conditions cannot be ranked.".to_owned());
    };
    let few = match fewest(basis.conditions) {
        n if n < ENOUGH_TRIALS => format!("; {} a condition are few, repeat before relying on it", count(n, "trial")),
        _ => String::new(),
    };
    let from_to = match basis.composite.metrics.as_slice() {
        [one] => format!(": {}", extremes(basis.summary, one, basis.conditions)),
        _ => String::new(),
    };
    if found.p_value > ANSWER {
        let n = basis.conditions.len();
        return tested(format!("No difference of {what} is shown between the {n} conditions{from_to}{few}."));
    }
    let factors = reading::varying_factors(basis.conditions.iter().map(|condition| condition.levels));
    let mover = match factors.as_slice() {
        [] => "The choice of condition".to_owned(),
        [one] => format!("{one} alone"),
        several => format!("{} together", list(several)),
    };
    let end = |(end, ties): &(usize, Vec<usize>)| {
        let others: Vec<usize> = ties.iter().copied().filter(|i| i != end).collect();
        let told = match others.is_empty() {
            true => "told from all others".to_owned(),
            false => format!("not told from {}", named(basis.conditions, &others)),
        };
        format!("{} ({told})", named(basis.conditions, &[*end]))
    };
    let [best, worst] = ends.each_ref().map(end);
    tested(format!(
        "{mover} moved {what} {}{from_to}; the best is {best}, the worst {worst}{few}.",
        ratio_words(&found)
    ))
}

/// Levels of one factor, the other factors averaged out, at the largest number of threads or nodes.
fn levels(basis: &Basis<'_>, factor: &str) -> Option<Said> {
    let over = OVER.into_iter().find(|over| {
        let numbers = basis.conditions.iter().filter_map(|c| c.levels.get(*over));
        *over != factor && numbers.collect::<std::collections::BTreeSet<_>>().len() > 1
    });
    let number = |levels: &tare_results::schema::Levels| super::curves::number(levels.get(over?)?);
    let most = basis.conditions.iter().filter_map(|c| number(c.levels)).fold(f64::NEG_INFINITY, f64::max);
    let at_most = |levels: &tare_results::schema::Levels| over.is_none() || number(levels) == Some(most);
    // Level -> block -> values of its conditions there.
    let mut names: Vec<&str> = Vec::new();
    let mut sums: Vec<BTreeMap<usize, Vec<f64>>> = Vec::new();
    for (condition, cell) in basis.conditions.iter().zip(&basis.composite.cells) {
        let Some(level) = condition.levels.get(factor).filter(|_| at_most(condition.levels)) else { continue };
        let place = names.iter().position(|name| name == level).unwrap_or_else(|| {
            names.push(level);
            sums.push(BTreeMap::new());
            names.len() - 1
        });
        cell.iter().for_each(|(block, ln)| sums[place].entry(*block).or_default().push(*ln));
    }
    // A block that lacks one of the conditions would compare other things.
    let whole = sums.iter().flat_map(|blocks| blocks.values().map(Vec::len)).max()?;
    let cells: Vec<Condition> = sums
        .iter()
        .map(|blocks| {
            let full = blocks.iter().filter(|(_, values)| values.len() == whole);
            full.map(|(block, values)| (*block, values.iter().sum::<f64>() / whole as f64)).collect()
        })
        .collect();
    if names.len() < 2 || cells.iter().any(Vec::is_empty) {
        return None;
    }
    let found = simultaneous::rank(&cells, CONFIDENCE, blocked(basis))?;
    let at = over.map_or(String::new(), |over| format!("At {most} {over}"));
    let at = if at.is_empty() { String::new() } else { format!("{at}, ") };
    let all = names.len();
    let no = if at.is_empty() { "No" } else { "no" };
    let name = |i: usize| names.get(i).copied().unwrap_or_default().to_owned();
    let [(best, ties), (worst, _)] = ends(&found, basis.composite.better)?;
    if found.p_value > ANSWER {
        return Some(tested(format!("{at}{no} {factor} of {all} is shown to be better than another.")));
    }
    let others: Vec<String> = ties.iter().filter(|i| **i != best).map(|i| name(*i)).collect();
    let tied = match others.len() {
        0 => "told from all others".to_owned(),
        1..=4 => format!("not told from {}", list(&others)),
        n => format!("not told from {n} others"),
    };
    Some(tested(format!(
        "{at}{} is the best {factor} of {all} ({tied}) and {} the worst: {} differs {}.",
        name(best),
        name(worst),
        basis.what(),
        ratio_words(&found)
    )))
}
