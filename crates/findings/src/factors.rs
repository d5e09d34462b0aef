//! Factors that vary between conditions, ladders of one factor alone, the columns of a design, and the terms that
//! effects are about: a factor, a level of one, or a combination.

use super::collect::ConditionTrials;
use super::confidence;
use serde::{Serialize, Serializer};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use tare_results::factor::LOADS;
use tare_results::schema::{Levels, SIDE};
use tare_stats::Interval;

/// Number of factors of main effects; each further level of a factor has an effect of its own.
pub fn number_of<'t>(mains: impl IntoIterator<Item = &'t Term>) -> usize {
    mains.into_iter().filter_map(Term::main).map(TermFactor::factor).collect::<BTreeSet<_>>().len()
}

/// The load of a condition, if a factor sets it.
pub(crate) fn load_of(levels: &Levels) -> Option<&String> {
    LOADS.iter().find_map(|factor| levels.get(*factor))
}

/// Factors with more than one level among these conditions.
pub(crate) fn varying_factors<'a>(conditions: impl Iterator<Item = &'a Levels>) -> Vec<String> {
    let conditions: Vec<&Levels> = conditions.collect();
    let names: BTreeSet<&String> = conditions.iter().flat_map(|levels| levels.keys()).collect();
    names
        .into_iter()
        .filter(|name| conditions.iter().map(|levels| levels.get(*name)).collect::<BTreeSet<_>>().len() > 1)
        .cloned()
        .collect()
}

/// The level of a factor whose levels are numbers.
pub(crate) fn number(level: &str) -> Option<f64> {
    level.parse::<f64>().ok().filter(|n| n.is_finite())
}

/// Levels as in a condition's name: `factor=level` words.
pub fn words_of(levels: &Levels) -> String {
    levels.iter().map(|(factor, level)| format!("{factor}={level}")).collect::<Vec<_>>().join(" ")
}

pub(super) const LADDERS_OVER: [&str; 3] = ["threads", "nodes", "caches"];

/// Conditions that differ in one number only.
pub(super) struct Ladder<'c, 'r> {
    /// The factor: `threads`, `nodes` or `caches`.
    pub over: &'static str,
    pub levels: Levels,
    /// The number and its condition, in the order of the plan.
    pub rungs: Vec<(f64, &'c ConditionTrials<'r>)>,
}

/// All ladders: over threads, then over nodes and caches.
pub(super) fn ladders<'c, 'r>(conditions: &'c [ConditionTrials<'r>]) -> Vec<Ladder<'c, 'r>> {
    LADDERS_OVER.into_iter().flat_map(|over| ladders_over(over, conditions)).collect()
}

fn ladders_over<'c, 'r>(over: &'static str, conditions: &'c [ConditionTrials<'r>]) -> Vec<Ladder<'c, 'r>> {
    let mut ladders: BTreeMap<Levels, Vec<(f64, &ConditionTrials<'r>)>> = BTreeMap::new();
    for condition in conditions {
        let Some(n) = condition.levels.get(over).and_then(|level| number(level)) else { continue };
        let mut others = condition.levels.clone();
        others.remove(over);
        ladders.entry(others).or_default().push((n, condition));
    }
    ladders.into_iter().map(|(levels, rungs)| Ladder { over, levels, rungs }).collect()
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TermFactor {
    /// The factor; several if they always change together (confounded).
    pub factors: Vec<String>,
    /// The level that is compared with the first one, if the factor has more than two.
    pub level: Option<String>,
}

impl TermFactor {
    /// The factors' names joined by `+`.
    pub fn factor(&self) -> String {
        self.factors.join("+")
    }
}

impl fmt::Display for TermFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.factor())?;
        self.level.as_ref().map_or(Ok(()), |level| write!(f, "={level}"))
    }
}

/// A main effect (one factor) or an interaction (several). It is formatted as text only for output: `aslr`, `aslr:ahi`,
/// `allocator=jemalloc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term(pub Vec<TermFactor>);

impl Term {
    /// The factor of a main effect; none for an interaction.
    pub fn main(&self) -> Option<&TermFactor> {
        match self.0.as_slice() {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, factor) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(":")?;
            }
            write!(f, "{factor}")?;
        }
        Ok(())
    }
}

impl Serialize for Term {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// The second of two conditions or levels compared with the first, in the order of the study.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Second {
    /// The one that the study names first, such as the older build.
    pub from: String,
    pub to: String,
    /// Mean at the second over that at the first.
    pub ratio: f64,
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
}

/// The ratio of two means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Extremes {
    pub ratio: f64,
    /// 95% interval of the ratio, simultaneous for all pairs.
    #[serde(flatten, serialize_with = "confidence::ci")]
    pub ci: Option<Interval>,
}

/// With more columns, effects are not estimated: ladders of threads by dozens of strategies have other charts.
const MOST_COLUMNS: usize = 40;

/// One level of a factor compared with another: ratios are high level / low level.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub term: TermFactor,
    pub factor: String,
    pub low: String,
    pub high: String,
    /// The levels as text, including those of all factors that change together with this one.
    pub low_words: String,
    pub high_words: String,
    /// The factor has further levels.
    pub of_many: bool,
}

/// The columns of the factors that vary; none if a condition does not set one of them, or if there are too many.
pub(super) fn columns(conditions: &[ConditionTrials<'_>]) -> Option<Vec<Column>> {
    let measured: Vec<&ConditionTrials<'_>> = conditions.iter().filter(|condition| !condition.ok.is_empty()).collect();
    let mut names = varying_factors(measured.iter().map(|condition| condition.levels));
    // In the order of the study, so that terms read `aslr:ahi` as the study wrote them.
    let first = measured.first()?;
    names.sort_by_key(|name| {
        (name == SIDE, first.factors.iter().position(|factor| factor == name).unwrap_or(usize::MAX))
    });
    let mut columns = Vec::new();
    for factor in names {
        let levels: Option<BTreeSet<&String>> = measured.iter().map(|c| c.levels.get(&factor)).collect();
        let mut levels: Vec<&String> = levels?.into_iter().collect();
        levels.sort_by(|a, b| low_first(a, b));
        let of_many = levels.len() > 2;
        // The first condition of a study is the base of one-at-a-time changes. Words have no order of their own
        // either, so the first level of the study, such as the older build, is the low one.
        let low = if of_many || !has_order(&levels) { first.levels.get(&factor)? } else { levels[0] };
        for high in levels.iter().filter(|level| **level != low) {
            let term = TermFactor { factors: vec![factor.clone()], level: of_many.then(|| (*high).clone()) };
            let (low, high) = (low.clone(), (*high).clone());
            let words = if of_many { vec![low.clone(), high.clone()] } else { tare_text::apart(&[&low, &high]) };
            let (low_words, high_words) = (words[0].clone(), words[1].clone());
            columns.push(Column { term, factor: factor.clone(), low, high, low_words, high_words, of_many });
        }
    }
    // Columns of factors with many levels are never joined with others.
    if columns.iter().filter(|column| column.of_many).count() > MOST_COLUMNS {
        return None;
    }
    let columns = joined(columns, &measured);
    // A single factor with many levels gives the same comparison as the conditions themselves.
    let alone = columns.iter().all(|column| column.of_many && column.factor == columns[0].factor);
    (columns.len() <= MOST_COLUMNS && !alone).then_some(columns)
}

/// Two-level factors that always change together are confounded, so neither may be named alone: they become one term,
/// `placement+aslr`.
fn joined(columns: Vec<Column>, conditions: &[&ConditionTrials<'_>]) -> Vec<Column> {
    let pattern = |column: &Column| -> Vec<bool> {
        conditions.iter().map(|c| c.levels.get(&column.factor) == Some(&column.high)).collect()
    };
    let mut kept: Vec<Column> = Vec::new();
    for column in columns {
        let own = pattern(&column);
        let twin = kept.iter_mut().filter(|_| !column.of_many).find_map(|other| {
            let others = pattern(other);
            let opposite = own.iter().zip(&others).all(|(a, b)| a != b);
            (!other.of_many && (own == others || opposite)).then_some((other, opposite))
        });
        match twin {
            None => kept.push(column),
            // The side factor sets nothing; it only allows both sides to be equal.
            Some(_) if column.factor == SIDE => {}
            Some((other, opposite)) => {
                let (high, low) = if opposite { (&column.low, &column.high) } else { (&column.high, &column.low) };
                other.term.factors.push(column.factor);
                other.high_words = format!("{}+{high}", other.high_words);
                other.low_words = format!("{}+{low}", other.low_words);
            }
        }
    }
    kept
}

/// Off before on, numbers by size, else by name.
fn low_first(a: &str, b: &str) -> Ordering {
    is_off(b).cmp(&is_off(a)).then_with(|| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b),
        _ => a.cmp(b),
    })
}

fn is_off(level: &str) -> bool {
    matches!(level.to_ascii_lowercase().as_str(), "off" | "false" | "no" | "none" | "disabled")
}

/// Whether the levels have an order of their own: one is off, or all are numbers.
fn has_order(levels: &[&String]) -> bool {
    levels.iter().any(|level| is_off(level)) || levels.iter().all(|level| level.parse::<f64>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_with_a_colon_does_not_become_an_interaction() {
        let one = |factor: &str, level: Option<&str>| TermFactor {
            factors: vec![factor.into()],
            level: level.map(str::to_owned),
        };
        let main = Term(vec![one("client", Some("node:0.core:1"))]);
        assert_eq!(main.to_string(), "client=node:0.core:1");
        assert_eq!(main.main().map(TermFactor::factor).as_deref(), Some("client"));
        let both = Term(vec![one("aslr", None), one("ahi", None)]);
        assert_eq!((both.to_string().as_str(), both.main()), ("aslr:ahi", None));
    }

    #[test]
    fn the_low_level_is_off_or_the_smaller_number() {
        for (low, high) in [("off", "on"), ("no", "yes"), ("4", "16"), ("float", "same-pu"), ("off", "a")] {
            assert_eq!(low_first(low, high), Ordering::Less, "{low} {high}");
            assert_eq!(low_first(high, low), Ordering::Greater, "{high} {low}");
        }
    }
}
