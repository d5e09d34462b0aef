//! A comparison of all sides: groups of sides that are not distinguishable in a metric.

use super::conclusion::{Gate, Note};
use super::model::{ConditionPair, Losses, MetricComparison};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::metric::Better;
use tare_stats::groups::groups;
use tare_stats::ratio::Verdict;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgainstFirst {
    pub against: String,
    #[serde(flatten)]
    pub metric: MetricComparison,
}

/// Sides of one condition and metric, the best first, with their groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grouped {
    pub condition: String,
    pub name: String,
    /// Every side that has the metric, the best mean first.
    pub sides: Vec<InGroups>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InGroups {
    pub side: String,
    /// Letters of its groups: sides that share a letter are not distinguishable at 95%, all pairs together.
    pub letters: String,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ManyComparison {
    /// The sides as the caller named them; the first is the base.
    pub sides: Vec<String>,
    /// Every metric of every other side; verdicts hold for all judged ones together.
    pub metrics: Vec<AgainstFirst>,
    /// Groups of sides that are not distinguishable, by condition and judged metric; empty for two sides, and for more
    /// than `MOST_SIDES`.
    pub groups: Vec<Grouped>,
    /// Failed trials, by side and condition; empty if none failed.
    pub losses: Vec<Losses>,
    /// Whether all sides are from one run, which compares them block by block.
    pub one_run: bool,
    pub gate: Option<Gate>,
    pub notes: Vec<Note>,
}

pub(super) const MOST_SIDES: usize = 40;

/// The comparison of two sides, identified by their indices.
pub(super) struct Compared {
    pub a: usize,
    pub b: usize,
    pub metric: MetricComparison,
}

/// The groups of every condition and metric that the first side has.
pub(super) fn of(names: &[&str], compared: &[Compared]) -> Vec<Grouped> {
    // The first side's name for each condition of each side.
    let mut called: BTreeMap<(usize, &str), &str> = BTreeMap::new();
    for pair in compared.iter().filter(|pair| pair.a == 0) {
        let ConditionPair { a: first, b: other } = &pair.metric.condition;
        called.insert((pair.b, other.as_str()), first.as_str());
        called.insert((0, first.as_str()), first.as_str());
    }
    let mut cells: BTreeMap<(&str, &str), Vec<&Compared>> = BTreeMap::new();
    let mut order: Vec<(&str, &str)> = Vec::new();
    for pair in compared {
        let Some(condition) = called.get(&(pair.a, pair.metric.condition.a.as_str())) else { continue };
        let key = (*condition, pair.metric.name.as_str());
        let cell = cells.entry(key).or_default();
        if cell.is_empty() {
            order.push(key);
        }
        cell.push(pair);
    }
    let grouped = |(condition, name): (&str, &str)| {
        Some(Grouped {
            condition: condition.to_owned(),
            name: name.to_owned(),
            sides: lettered(names, cells.get(&(condition, name))?)?,
        })
    };
    order.into_iter().filter_map(grouped).collect()
}

/// None if there are more groups than letters.
fn lettered(names: &[&str], pairs: &[&Compared]) -> Option<Vec<InGroups>> {
    let mut means: BTreeMap<usize, f64> = BTreeMap::new();
    for pair in pairs {
        means.insert(pair.a, pair.metric.mean_a);
        means.insert(pair.b, pair.metric.mean_b);
    }
    let better = pairs.first()?.metric.better;
    let mut sides: Vec<(usize, f64)> = means.into_iter().collect();
    sides.sort_by(|(_, a), (_, b)| match better {
        Better::Higher => b.total_cmp(a),
        Better::Lower => a.total_cmp(b),
    });
    let place = |side: usize| sides.iter().position(|(own, _)| *own == side);
    let decided = |pair: &&&Compared| matches!(pair.metric.verdict, Verdict::Faster | Verdict::Slower);
    let apart: Vec<(usize, usize)> =
        pairs.iter().filter(decided).filter_map(|pair| Some((place(pair.a)?, place(pair.b)?))).collect();
    let found = groups(sides.len(), &apart).filter(|found| found.len() <= 26)?;
    let letters = |place: usize| {
        let own = found.iter().zip('a'..='z').filter(|(group, _)| group.contains(&place));
        own.map(|(_, letter)| letter).collect::<String>()
    };
    let named = |(place, (side, _)): (usize, &(usize, f64))| {
        Some(InGroups { side: (*names.get(*side)?).to_owned(), letters: letters(place) })
    };
    sides.iter().enumerate().map(named).collect()
}

/// The letters of a side; empty if there are none. Conditions are named as in a comparison with the first side.
pub fn letters<'g>(grouped: &'g [Grouped], side: &str, metric: &MetricComparison) -> &'g str {
    let own = grouped.iter().find(|cell| cell.condition == metric.condition.a && cell.name == metric.name);
    let found = own.and_then(|cell| cell.sides.iter().find(|known| known.side == side));
    found.map_or("", |known| known.letters.as_str())
}
