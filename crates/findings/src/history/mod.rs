//! Many results in the order of their time: where a metric stepped, whether it drifts, and what else changed there.

mod environment;
mod line;

pub use environment::changed;

use crate::collect;
use crate::confidence::CONFIDENCE;
use crate::differences::{self, Difference, What};
use std::collections::BTreeSet;
use std::ops::Range;
use tare_results::Results;
use tare_results::metric::{self, Better};
use tare_stats::Estimate;
use tare_stats::change_points::Drift;

/// Chance that anything is said of a history in which nothing changes, over all of its lines together.
pub const ERROR_RATE: f64 = 0.05;

/// One run: what is kept of its results.
#[derive(Debug, Clone)]
pub struct Run {
    /// How it is called: the directory or the file.
    pub name: String,
    /// When its first trial began, RFC 3339 in UTC; none where it does not say.
    pub time: Option<String>,
    values: Vec<Value>,
    facts: Vec<(What, String)>,
}

/// The mean over the trials of one metric of one condition.
#[derive(Debug, Clone)]
struct Value {
    condition: String,
    metric: String,
    mean: f64,
}

impl Run {
    /// What a history needs of results.
    pub fn of(name: String, results: &Results) -> Self {
        let times = results.trials.iter().map(|trial| trial.started_at.as_str()).filter(|time| !time.is_empty());
        let mut values = Vec::new();
        for condition in collect::conditions(results) {
            for metric in condition.metrics() {
                let means: Vec<f64> = condition.with(&metric).into_iter().map(|(_, mean)| mean).collect();
                if let Some(mean) = collect::mean(&means).filter(|_| !means.is_empty()) {
                    values.push(Value { condition: condition.name.to_owned(), metric, mean });
                }
            }
        }
        Self { name, time: times.min().map(str::to_owned), values, facts: differences::facts(results) }
    }

    fn value(&self, condition: &str, metric: &str) -> Option<f64> {
        self.values.iter().find(|value| value.condition == condition && value.metric == metric).map(|value| value.mean)
    }
}

/// Runs by the time of their first trial; as they are where one of them has none. Whether they were sorted.
pub fn in_order(runs: &mut [Run]) -> bool {
    let known = runs.iter().all(|run| run.time.is_some());
    if known {
        runs.sort_by(|a, b| a.time.cmp(&b.time));
    }
    known
}

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Smallest change of interest as a fraction.
    pub minimum_effect: f64,
    /// Metrics to look at; when empty, throughputs and query times, or all where there are none.
    pub metrics: Vec<String>,
    /// Conditions to look at; when empty, all.
    pub conditions: Vec<String>,
    /// Gate: the last segment may be slower than the one before by this fraction.
    pub fail_if_slower: Option<f64>,
}

/// Why there is no history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// None of the runs has it.
    #[error("no run has {what} `{name}`")]
    Unknown {
        /// `the metric` or `the condition`.
        what: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Nothing was measured in any of them.
    #[error("no run has a usable trial")]
    Nothing,
}

/// One run of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// The run's name.
    pub run: String,
    /// When it began.
    pub time: Option<String>,
    /// The mean of its trials.
    pub value: f64,
    /// Far from the runs around it, and left out of every ratio.
    pub outlier: bool,
}

/// Runs between two changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    /// Places of its runs in the line.
    pub runs: Range<usize>,
    /// Their mean without outliers.
    pub mean: f64,
    /// Over the first segment; none for that itself.
    pub against_first: Option<Estimate>,
}

/// A step of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Place of the first run after it.
    pub first_after: usize,
    /// The segment after over the segment before.
    pub ratio: Estimate,
    /// By permutation of the maximum.
    pub p_value: f64,
    /// What is not the same in the last run before and the first run after.
    pub environment: Vec<Difference>,
}

/// One metric of one condition over all runs that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The condition's name.
    pub condition: String,
    /// The metric's name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which way it improves.
    pub better: Better,
    /// The runs, in the order of time.
    pub points: Vec<Point>,
    /// Runs between the changes; one where nothing changed.
    pub segments: Vec<Segment>,
    /// The steps.
    pub changes: Vec<Change>,
    /// A trend that no step explains, from the first run to the last.
    pub drift: Option<Drift>,
    /// Why nothing was looked for.
    pub not_tested: Option<NotTested>,
}

/// Why nothing was looked for in a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotTested {
    /// Fewer runs than two of the shortest segments.
    TooFewRuns,
    /// A value that is 0 or below has no ratio.
    NotPositive,
}

/// Everything that many results say over time.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// One a metric and condition, in the order of the last run that has it.
    pub lines: Vec<Line>,
    /// Whether runs were put in the order of their time; else they are in the order they were named.
    pub by_time: bool,
    /// What was asked.
    pub minimum_effect: f64,
    /// The gate's answer, where one was asked for: the lines whose last segment is slower by more than that.
    pub slower: Option<Vec<usize>>,
}

/// Looks for changes in every line of the runs, which are in order.
///
/// # Errors
/// [`HistoryError`] when nothing was measured or nothing of that name.
pub fn history(runs: &[Run], by_time: bool, options: &Options) -> Result<History, HistoryError> {
    let chosen = chosen(runs, options)?;
    let rate = ERROR_RATE / chosen.len() as f64;
    let lines: Vec<Line> =
        chosen.iter().map(|(condition, metric)| line::of(runs, condition, metric, rate, options)).collect();
    let slower = options.fail_if_slower.map(|margin| {
        let failed = lines.iter().enumerate().filter(|(_, line)| is_slower(line, margin));
        failed.map(|(place, _)| place).collect()
    });
    Ok(History { lines, by_time, minimum_effect: options.minimum_effect, slower })
}

/// Whether the last step made it worse by more than `margin`.
fn is_slower(line: &Line, margin: f64) -> bool {
    let ratio = line.changes.last().map_or(1.0, |change| change.ratio.value);
    match line.better {
        Better::Higher => ratio < 1.0 - margin,
        Better::Lower => ratio > 1.0 + margin,
    }
}

/// Conditions and metrics to look at.
fn chosen(runs: &[Run], options: &Options) -> Result<Vec<(String, String)>, HistoryError> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut seen = BTreeSet::new();
    for value in runs.iter().rev().flat_map(|run| &run.values) {
        let key = (value.condition.clone(), value.metric.clone());
        if seen.insert(key.clone()) {
            all.push(key);
        }
    }
    known("the metric", &options.metrics, all.iter().map(|(_, metric)| metric))?;
    known("the condition", &options.conditions, all.iter().map(|(condition, _)| condition))?;
    let primary = all.iter().any(|(_, metric)| metric::describe(metric).is_primary());
    let asked = |metric: &String| match options.metrics.is_empty() {
        true => metric::describe(metric).is_primary() || !primary,
        false => options.metrics.contains(metric),
    };
    all.retain(|(condition, metric)| {
        asked(metric) && (options.conditions.is_empty() || options.conditions.contains(condition))
    });
    if all.is_empty() { Err(HistoryError::Nothing) } else { Ok(all) }
}

fn known<'a>(
    what: &'static str,
    asked: &[String],
    there: impl Iterator<Item = &'a String>,
) -> Result<(), HistoryError> {
    let there: BTreeSet<&String> = there.collect();
    match asked.iter().find(|name| !there.contains(name)) {
        Some(name) => {
            Err(HistoryError::Unknown { what, name: name.clone(), known: there.into_iter().cloned().collect() })
        }
        None => Ok(()),
    }
}
