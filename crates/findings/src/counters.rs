//! Results of the global counter workload: seconds by threads and strategy, in the layout of the original article,
//! and the counted increments.

use super::collect::ConditionTrials;
use serde::Serialize;
use std::collections::BTreeMap;
use tare_results::covariate::{INCREMENTS_COUNTED, INCREMENTS_EXPECTED};
use tare_results::metric::GENERATOR_FRACTION;
use tare_results::schema::Levels;

const THREADS: &str = "threads";
const STRATEGY: &str = "strategy";

/// Seconds over threads (rows) and strategies (columns).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CounterTable {
    /// The other levels, which all of its conditions share.
    pub levels: Levels,
    pub strategies: Vec<String>,
    pub threads: Vec<u64>,
    /// One row per number of threads.
    pub cells: Vec<Vec<Option<CounterCell>>>,
}

/// One strategy at one number of threads, over all samples of its trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CounterCell {
    /// Time of all rounds of all threads, from the start of the first to the end of the last: mean of the samples.
    pub seconds: f64,
    pub expected: u64,
    pub counted: u64,
    /// Share of the threads' time spent drawing random numbers, including waits for the generator's lock; null if
    /// each thread has its own generator.
    pub generator_fraction: Option<f64>,
}

impl CounterCell {
    /// Increments that the counters do not show.
    pub fn lost(&self) -> u64 {
        self.expected.saturating_sub(self.counted)
    }
}

pub(super) fn tables(conditions: &[ConditionTrials<'_>]) -> Vec<CounterTable> {
    let mut groups: BTreeMap<Levels, Vec<(&ConditionTrials<'_>, CounterCell)>> = BTreeMap::new();
    for condition in conditions {
        if let Some(cell) = cell(condition) {
            let mut others = condition.levels.clone();
            others.retain(|factor, _| factor != THREADS && factor != STRATEGY);
            groups.entry(others).or_default().push((condition, cell));
        }
    }
    groups.into_iter().map(|(levels, group)| table(levels, &group)).collect()
}

fn cell(condition: &ConditionTrials<'_>) -> Option<CounterCell> {
    let samples: Vec<_> = condition.ok.iter().flat_map(|trial| &trial.samples).collect();
    let sum = |name: String| samples.iter().map(|sample| sample.covariates.get(&name).copied()).sum::<Option<f64>>();
    let (expected, counted) = (sum(INCREMENTS_EXPECTED.name_at(0))?, sum(INCREMENTS_COUNTED.name_at(0))?);
    if samples.is_empty() {
        return None;
    }
    let mean = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
    let of_generator = samples.iter().filter_map(|sample| sample.metrics.get(GENERATOR_FRACTION.name()).copied());
    Some(CounterCell {
        seconds: mean(samples.iter().map(|sample| sample.elapsed_s).collect())?,
        expected: expected as u64,
        counted: counted as u64,
        generator_fraction: mean(of_generator.collect()),
    })
}

fn table(levels: Levels, group: &[(&ConditionTrials<'_>, CounterCell)]) -> CounterTable {
    let level = |condition: &ConditionTrials<'_>, factor| condition.levels.get(factor).cloned().unwrap_or_default();
    let number = |condition: &ConditionTrials<'_>| level(condition, THREADS).parse::<u64>().unwrap_or(1);
    let (mut strategies, mut threads) = (Vec::new(), Vec::new());
    for (condition, _) in group {
        let (strategy, number) = (level(condition, STRATEGY), number(condition));
        if !strategies.contains(&strategy) {
            strategies.push(strategy);
        }
        if !threads.contains(&number) {
            threads.push(number);
        }
    }
    threads.sort_unstable();
    let at = |wanted: u64, strategy: &String| {
        let is = |(condition, _): &&(&ConditionTrials<'_>, CounterCell)| {
            number(condition) == wanted && level(condition, STRATEGY) == *strategy
        };
        group.iter().find(is).map(|(_, cell)| cell.clone())
    };
    let cells = threads.iter().map(|number| strategies.iter().map(|strategy| at(*number, strategy)).collect());
    CounterTable { levels, cells: cells.collect(), strategies, threads }
}
