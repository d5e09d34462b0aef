//! A complete history: which lines it has.

use super::gate::gate;
use super::line;
use super::model::{ERROR_RATE, History, HistoryError, MetricHistory, Options};
use super::run::Run;
use std::collections::BTreeSet;
use tare_results::metric;

/// Maximum number of lines of one history: each is compared with chance over all of them, which takes quadratic time.
pub const MOST_LINES: usize = 500;

/// Searches for changes in every line of the runs, which are in order.
pub fn history(runs: &[Run], by_time: bool, options: &Options) -> Result<History, HistoryError> {
    let chosen = chosen(runs, options)?;
    let rate = ERROR_RATE / chosen.len() as f64;
    let lines: Vec<MetricHistory> =
        chosen.iter().map(|(condition, metric)| line::of(runs, condition, metric, rate, options)).collect();
    let is_without = |run: &&Run| !chosen.iter().any(|(condition, metric)| run.value(condition, metric).is_some());
    let is_requested = |name: &&String| options.conditions.is_empty() || options.conditions.contains(name);
    let lacks = |run: &Run| run.lacks.iter().filter(is_requested).cloned().collect();
    let last = runs.last().filter(|run| !is_without(run)).map(lacks);
    Ok(History {
        gate: options.fail_if_slower.map(|margin| gate(&lines, last, margin)),
        lines,
        by_time,
        minimum_effect: options.minimum_effect,
        without: runs.iter().filter(is_without).map(|run| run.name.clone()).collect(),
    })
}

fn chosen(runs: &[Run], options: &Options) -> Result<Vec<(String, String)>, HistoryError> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (condition, metric) in runs.iter().rev().flat_map(Run::names) {
        let key = (condition.to_owned(), metric.to_owned());
        if seen.insert(key.clone()) {
            all.push(key);
        }
    }
    known("the metric", &options.metrics, all.iter().map(|(_, metric)| metric))?;
    known("the condition", &options.conditions, all.iter().map(|(condition, _)| condition))?;
    let primary = all.iter().any(|(_, metric)| metric::describe(metric).is_primary());
    let requested = |metric: &String| match options.metrics.is_empty() {
        true => metric::describe(metric).is_primary() || !primary,
        false => options.metrics.contains(metric),
    };
    all.retain(|(condition, metric)| {
        requested(metric) && (options.conditions.is_empty() || options.conditions.contains(condition))
    });
    match all.len() {
        0 => Err(HistoryError::Nothing),
        many if many > MOST_LINES => Err(HistoryError::TooMany(many)),
        _ => Ok(all),
    }
}

fn known<'a>(
    what: &'static str,
    requested: &[String],
    there: impl Iterator<Item = &'a String>,
) -> Result<(), HistoryError> {
    let there: BTreeSet<&String> = there.collect();
    match requested.iter().find(|name| !there.contains(name)) {
        Some(name) => {
            Err(HistoryError::Unknown { what, name: name.clone(), known: there.into_iter().cloned().collect() })
        }
        None => Ok(()),
    }
}
