//! Which condition, or which level of a factor, is the best: all pairs at once.

use super::basis::Basis;
use super::confidence::{ANSWER, CONFIDENCE};
use super::factors;
use super::ladders::OVER;
use super::verdict::{LevelsOf, Ranked, Untested, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use tare_results::metric::Better;
use tare_results::schema::Levels;
use tare_stats::simultaneous::{self, Condition, Ranking};

/// The best condition against the worst, or the best level of a factor.
pub(super) fn verdict(basis: &Basis<'_>, factor: Option<&str>) -> Verdict {
    factor.and_then(|factor| levels(basis, factor)).unwrap_or_else(|| conditions(basis))
}

fn blocked(basis: &Basis<'_>) -> bool {
    basis.conditions.iter().all(|condition| condition.blocked)
}

/// The ends of a ranking by their names; none where nothing was ranked.
fn ranked(found: &Ranking, better: Better, name: impl Fn(usize) -> String) -> Option<Ranked> {
    let low = (*found.order.first()?, &found.lowest);
    let high = (*found.order.last()?, &found.highest);
    let [(best, best_ties), (worst, worst_ties)] = match better {
        Better::Higher => [high, low],
        Better::Lower => [low, high],
    };
    let others = |end: usize, ties: &[usize]| ties.iter().filter(|i| **i != end).map(|i| name(*i)).collect();
    Some(Ranked {
        best: name(best),
        best_ties: others(best, best_ties),
        worst: name(worst),
        worst_ties: others(worst, worst_ties),
        ratio: found.difference.exp(),
        ci: found.ci.map(|ci| ci.map(f64::exp)),
        p_value: found.p_value,
    })
}

/// The best condition against the worst.
pub(super) fn conditions(basis: &Basis<'_>) -> Verdict {
    let name = |i: usize| basis.conditions.get(i).map_or_else(String::new, |condition| condition.name.to_owned());
    let ranking = simultaneous::rank(&basis.composite.cells, CONFIDENCE, blocked(basis))
        .and_then(|found| ranked(&found, basis.composite.better, name));
    let Some(ranking) = ranking else { return Verdict::Untested(Untested::NotRankable) };
    let (what, range, fewest_trials) = (basis.what(), basis.range(), basis.fewest_trials());
    if ranking.p_value > ANSWER {
        return Verdict::NotRanked { what, conditions: basis.conditions.len(), range, fewest_trials };
    }
    let factors = factors::varying_factors(basis.conditions.iter().map(|condition| condition.levels));
    Verdict::Ranked { what, factors, ranking, range, fewest_trials }
}

/// Levels of one factor, the other factors averaged out, at the largest number of threads or nodes.
fn levels(basis: &Basis<'_>, factor: &str) -> Option<Verdict> {
    let over = OVER.into_iter().find(|over| {
        let numbers = basis.conditions.iter().filter_map(|c| c.levels.get(*over));
        *over != factor && numbers.collect::<BTreeSet<_>>().len() > 1
    });
    let number = |levels: &Levels| super::curves::number(levels.get(over?)?);
    let most = basis.conditions.iter().filter_map(|c| number(c.levels)).fold(f64::NEG_INFINITY, f64::max);
    let at_most = |levels: &Levels| over.is_none() || number(levels) == Some(most);
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
    let name = |i: usize| names.get(i).copied().unwrap_or_default().to_owned();
    let ranking = ranked(&found, basis.composite.better, name)?;
    let of = LevelsOf { factor: factor.to_owned(), levels: names.len(), at: over.map(|over| (over, most)) };
    Some(match ranking.p_value > ANSWER {
        true => Verdict::NotRankedLevels(of),
        false => Verdict::RankedLevels { what: basis.what(), of, ranking },
    })
}
