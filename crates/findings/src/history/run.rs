//! The data that a history keeps of one set of results.

use crate::collect;
use crate::differences::{self, What};
use std::collections::{BTreeSet, HashMap};
use tare_results::Results;

/// One run, reduced to the data that a history needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its display name: the directory or the file.
    pub name: String,
    /// Start of its first trial, RFC 3339 in UTC; none if not recorded.
    pub time: Option<String>,
    /// The commit that it measured, in hexadecimal digits: the one in its name, unless a more reliable source is known.
    pub commit: Option<String>,
    /// Conditions that it was to measure and that have no value.
    pub(super) lacks: Vec<String>,
    /// By condition and metric.
    pub(super) values: HashMap<String, HashMap<String, Value>>,
    pub(super) facts: Vec<(What, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Value {
    /// In the order of the results, from 0.
    pub(super) place: usize,
    /// Mean over its undisturbed trials, or over all if every one was disturbed.
    pub(super) mean: f64,
}

impl Run {
    pub fn of(name: String, results: &Results) -> Self {
        let times = results.trials.iter().map(|trial| trial.started_at.as_str()).filter(|time| !time.is_empty());
        let (mut values, mut place) = (HashMap::<String, HashMap<String, Value>>::new(), 0);
        for condition in collect::conditions(results) {
            let condition = condition.clean_or_all();
            for metric in condition.metrics() {
                let means: Vec<f64> = condition.means(&metric);
                if let Some(mean) = collect::mean(&means).filter(|_| !means.is_empty()) {
                    values.entry(condition.name.to_owned()).or_default().insert(metric, Value { place, mean });
                    place += 1;
                }
            }
        }
        let time = times.min().map(str::to_owned);
        let lacks = lacks(results, &values);
        Self { commit: commit_of(&name), name, time, lacks, values, facts: differences::facts(results) }
    }

    pub(super) fn value(&self, condition: &str, metric: &str) -> Option<f64> {
        self.values.get(condition)?.get(metric).map(|value| value.mean)
    }

    /// Conditions with their metrics, in the order of the results.
    pub(super) fn names(&self) -> Vec<(&str, &str)> {
        let all = self.values.iter().flat_map(|(condition, metrics)| {
            metrics.iter().map(move |(metric, value)| (value.place, (condition.as_str(), metric.as_str())))
        });
        let mut all: Vec<(usize, (&str, &str))> = all.collect();
        all.sort_unstable();
        all.into_iter().map(|(_, names)| names).collect()
    }
}

/// Conditions that were planned, or tried, without a value.
fn lacks(results: &Results, values: &HashMap<String, HashMap<String, Value>>) -> Vec<String> {
    let conditions = results.plan.iter().flat_map(|plan| &plan.conditions);
    let planned = conditions.filter(|condition| condition.realizable).map(|condition| &condition.name);
    let tried = results.trials.iter().map(|trial| &trial.condition);
    let all: BTreeSet<&String> = planned.chain(tried).filter(|name| !values.contains_key(*name)).collect();
    all.into_iter().cloned().collect()
}

/// Sorts runs by the time of their first trial; leaves them unchanged if one has no time. Returns whether they were
/// sorted.
pub fn in_order(runs: &mut [Run]) -> bool {
    let known = runs.iter().all(|run| run.time.is_some());
    if known {
        runs.sort_by(|a, b| a.time.cmp(&b.time));
    }
    known
}

/// The commit in a name: a word of 7 to 40 hexadecimal digits, with `g` before it as `git describe` writes it, or with
/// both digits and letters: other words of digits are dates and counters. The last of several.
pub(crate) fn commit_of(name: &str) -> Option<String> {
    let is_hash = |word: &str| (7..=40).contains(&word.len()) && word.chars().all(|c| c.is_ascii_hexdigit());
    let of_word = |word: &'_ str| -> Option<String> {
        let described = word.strip_prefix('g').filter(|hash| is_hash(hash));
        let plain = Some(word).filter(|word| is_hash(word) && is_mixed(word));
        described.or(plain).map(str::to_owned)
    };
    name.split(|c: char| !c.is_ascii_alphanumeric()).rev().find_map(of_word)
}

fn is_mixed(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit()) && word.contains(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::{Levels, PlannedTrial, SampleRecord, TrialRecord};

    #[test]
    fn a_run_counts_as_the_mean_of_its_undisturbed_trials() {
        let of = |disturbed: usize| {
            let trial = |trial: usize| {
                let planned = PlannedTrial { trial, block: trial, condition: "base".to_owned(), lifetime: None };
                let mut record = TrialRecord::new(&planned, 1, Levels::new(), String::new());
                record.reason = (trial < disturbed).then(|| "another program".to_owned());
                let metrics = [("tps".to_owned(), if trial == 0 { 500.0 } else { 1000.0 })].into();
                record.samples = vec![SampleRecord { elapsed_s: 1.0, metrics, ..SampleRecord::default() }];
                record
            };
            let results = Results { trials: (0..3).map(trial).collect(), ..Results::default() };
            Run::of("run".to_owned(), &results).value("base", "tps")
        };
        assert_eq!([of(0), of(1), of(3)], [2500.0 / 3.0, 1000.0, 2500.0 / 3.0].map(Some));
    }

    #[test]
    fn a_commit_is_a_word_of_hexadecimal_digits() {
        let expected = [
            ("night-2026-11-23-9cf9f09c9717", Some("9cf9f09c9717")),
            ("run_9cf9f09", Some("9cf9f09")),
            ("v12", None),
            ("night-20261130", None),
            ("run-4821097", None),
            ("run-12345678901-4", None),
            ("deadbeef", None),
            ("abcdef12_4f5a6b7c", Some("4f5a6b7c")),
            ("v17.2-14-g4821097", Some("4821097")),
            ("9cf9f09-20261130", Some("9cf9f09")),
            ("night-gdeadbee", Some("deadbee")),
            ("g482109", None),
        ];
        assert_eq!(expected.map(|(name, _)| commit_of(name)), expected.map(|(_, commit)| commit.map(str::to_owned)));
    }
}
