//! Factors that vary between conditions, and the factors that are loads.

use super::term::{Term, TermFactor};
use std::collections::BTreeSet;
use tare_results::schema::Levels;

/// Number of factors of main effects; each further level of a factor has an effect of its own.
pub fn number_of<'t>(mains: impl IntoIterator<Item = &'t Term>) -> usize {
    mains.into_iter().filter_map(Term::main).map(TermFactor::factor).collect::<BTreeSet<_>>().len()
}

/// Factors whose levels are loads: workloads, or transactions of a file of statements.
pub(crate) const LOADS: [&str; 2] = ["workload", "transaction"];

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
