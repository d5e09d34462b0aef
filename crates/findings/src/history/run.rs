//! The data that a history keeps of one set of results, and as lines of text in their place.

use crate::collect;
use crate::differences::{self, What};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use tare_results::Results;
use tare_text::shown_name;

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
fn commit_of(name: &str) -> Option<String> {
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

const SCHEMA: &str = "tare-history-run";
/// The version that is written. Version 1 has neither `lacks` nor builds and settings of servers.
const VERSION: u32 = 2;
const OLDEST: u32 = 1;

/// Why a line is no run.
#[derive(Debug, thiserror::Error)]
pub enum KeptError {
    #[error("the line is not a run of a history: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("the line is a document `{0}`, not `{SCHEMA}`")]
    OtherSchema(String),
    #[error("the line has version {0}, and this version of tare reads {OLDEST} to {VERSION}")]
    OtherVersion(u32),
    #[error("the mean `{0}` is not a finite number")]
    NotANumber(String),
    #[error("the line has two means of one metric of one condition")]
    Twice,
}

/// The name of a run without a time that is already in use.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the history has other values of a run with the name {0}, and runs of CSV files differ by name only")]
pub struct NotAdded(pub String);

/// Read first: the rest of another version may not parse.
#[derive(Deserialize)]
struct Header {
    schema: String,
    version: u32,
}

#[derive(Serialize)]
struct Written<'a> {
    schema: &'static str,
    version: u32,
    run: &'a str,
    time: Option<&'a str>,
    commit: Option<&'a str>,
    lacks: &'a [String],
    means: Vec<Mean<'a, f64>>,
    facts: Vec<(Kind, &'a str, &'a str)>,
}

#[derive(Deserialize)]
struct Read<'a> {
    run: String,
    time: Option<String>,
    commit: Option<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(borrow)]
    means: Vec<Mean<'a, &'a RawValue>>,
    facts: Vec<(Kind, String, String)>,
}

#[derive(Serialize, Deserialize)]
struct Mean<'a, T> {
    condition: Cow<'a, str>,
    metric: Cow<'a, str>,
    mean: T,
}

/// The variants of [`What`].
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Factor,
    ServerVersion,
    ServerBuild,
    ServerSetting,
    Machine,
    Tare,
    Setting,
    Study,
}

impl Run {
    /// The run as a line without its end.
    ///
    /// # Errors
    /// Of the serializer.
    pub fn to_line(&self) -> serde_json::Result<String> {
        let mean = |(condition, metric)| {
            let mean = self.value(condition, metric)?;
            Some(Mean { condition: Cow::Borrowed(condition), metric: Cow::Borrowed(metric), mean })
        };
        let written = Written {
            schema: SCHEMA,
            version: VERSION,
            run: &self.name,
            time: self.time.as_deref(),
            commit: self.commit.as_deref(),
            lacks: &self.lacks,
            means: self.names().into_iter().filter_map(mean).collect(),
            facts: self.facts.iter().map(|(what, value)| written(what, value)).collect(),
        };
        serde_json::to_string(&written)
    }

    /// # Errors
    /// For a line that [`Run::to_line`] did not write, or that another version wrote.
    pub fn from_line(line: &[u8]) -> Result<Self, KeptError> {
        let header: Header = serde_json::from_slice(line)?;
        if header.schema != SCHEMA {
            return Err(KeptError::OtherSchema(header.schema));
        }
        if !(OLDEST..=VERSION).contains(&header.version) {
            return Err(KeptError::OtherVersion(header.version));
        }
        let read: Read<'_> = serde_json::from_slice(line)?;
        let mut values = HashMap::<String, HashMap<String, Value>>::new();
        for (place, Mean { condition, metric, mean }) in read.means.into_iter().enumerate() {
            let not_a_number = || KeptError::NotANumber(shown_name(mean.get()).into_owned());
            let mean = mean.get().parse().ok().filter(|mean: &f64| mean.is_finite()).ok_or_else(not_a_number)?;
            let metrics = values.entry(condition.into_owned()).or_default();
            if metrics.insert(metric.into_owned(), Value { place, mean }).is_some() {
                return Err(KeptError::Twice);
            }
        }
        Ok(Self {
            name: shown_name(&read.run).into_owned(),
            time: read.time,
            commit: read.commit.map(|commit| shown_name(&commit).into_owned()),
            lacks: read.lacks.iter().map(|name| shown_name(name).into_owned()).collect(),
            values,
            facts: read.facts.into_iter().map(|(kind, name, value)| (kind.what(name), value)).collect(),
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.time) == (&other.name, &other.time)
    }
}

fn written<'a>(what: &'a What, value: &'a str) -> (Kind, &'a str, &'a str) {
    let (kind, name) = match what {
        What::Factor(name) => (Kind::Factor, name.as_str()),
        What::ServerVersion => (Kind::ServerVersion, ""),
        What::ServerBuild(what) => (Kind::ServerBuild, what.as_str()),
        What::ServerSetting(name) => (Kind::ServerSetting, name.as_str()),
        What::Machine(name) => (Kind::Machine, name.as_ref()),
        What::Tare => (Kind::Tare, ""),
        What::Setting(name) => (Kind::Setting, name.as_str()),
        What::Study(name) => (Kind::Study, name.as_str()),
    };
    (kind, name, value)
}

impl Kind {
    fn what(self, name: String) -> What {
        match self {
            Self::Factor => What::Factor(name),
            Self::ServerVersion => What::ServerVersion,
            Self::ServerBuild => What::ServerBuild(name),
            Self::ServerSetting => What::ServerSetting(name),
            Self::Machine => What::Machine(name.into()),
            Self::Tare => What::Tare,
            Self::Setting => What::Setting(name),
            Self::Study => What::Study(name),
        }
    }
}

/// Adds a run, or replaces the same one, which may have got more trials since. A known commit stays. Returns
/// whether the runs have changed.
///
/// # Errors
/// For a run without a time if one of its name has other values: it may be another run.
pub fn add(runs: &mut Vec<Run>, mut run: Run) -> Result<bool, NotAdded> {
    let Some(known) = runs.iter_mut().find(|known| known.is_same(&run)) else {
        runs.push(run);
        return Ok(true);
    };
    run.commit = known.commit.clone().or(run.commit);
    if run.time.is_none() && known.values != run.values {
        return Err(NotAdded(run.name));
    }
    let is_other = *known != run;
    *known = run;
    Ok(is_other)
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
