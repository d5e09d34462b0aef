//! Converts rows of a CSV file to trials: rows with the same condition and trial become one record, with samples as
//! columns.

use super::limits::{MOST_CONDITIONS, MOST_METRICS, MOST_TRIALS, MOST_VALUES};
use super::names::levels_of;
use super::plain::Place;
use super::schema::{Outcome, PlannedTrial, TrialRecord};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

pub(super) struct CsvRow<'r> {
    pub condition: Cow<'r, str>,
    pub trial: usize,
    pub sample: usize,
    pub metric: Cow<'r, str>,
    pub value: f64,
    /// 0 if the file has no such column.
    pub block: usize,
    /// What disturbed the trial; empty if it is clean.
    pub disturbed: Cow<'r, str>,
    /// Why the trial failed, which then has no values; else empty.
    pub failed: Cow<'r, str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Twice,
    /// It contradicts the block or disturbance of an earlier row of its trial.
    Otherwise,
    /// It exceeds a limit: what there is too much of (a plural noun), and the limit.
    TooMany(&'static str, usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Most {
    pub conditions: usize,
    pub trials: usize,
    pub metrics: usize,
    pub values: usize,
}

impl Default for Most {
    fn default() -> Self {
        Self { conditions: MOST_CONDITIONS, trials: MOST_TRIALS, metrics: MOST_METRICS, values: MOST_VALUES }
    }
}

/// The trials of the rows so far; conditions and trials keep the order of the file.
#[derive(Default)]
pub(super) struct Trials {
    records: Vec<TrialRecord>,
    /// Index of each condition's name: a name is looked up once per run of equal rows.
    conditions: HashMap<String, usize>,
    index_of: HashMap<(usize, usize), usize>,
    /// Index of each sample, for trials with unsorted sample numbers: a linear search would take quadratic time.
    places: HashMap<usize, HashMap<usize, usize>>,
    last: Option<usize>,
    condition: usize,
    /// Number of failed attempts by condition and trial.
    failed: HashMap<(usize, usize), u32>,
    /// Names of the metrics, and the total capacity of all trials' columns, in values.
    metrics: HashSet<String>,
    values: usize,
    most: Most,
}

impl Trials {
    pub(crate) fn within(most: Most) -> Self {
        Self { most, ..Self::default() }
    }

    /// Adds a row. Fails if it contradicts an earlier one or exceeds a limit.
    pub(crate) fn add(&mut self, row: &CsvRow<'_>) -> Result<(), Refused> {
        if !self.metrics.contains(&*row.metric) {
            self.metrics.insert(row.metric.clone().into_owned());
            at_most(self.most.metrics, self.metrics.len(), "metrics")?;
        }
        let index = self.index(row);
        at_most(self.most.conditions, self.conditions.len(), "conditions")?;
        at_most(self.most.trials, self.records.len(), "trials")?;
        let record = &self.records[index];
        if (record.block, record.reason.as_deref().unwrap_or_default()) != (row.block, &*row.disturbed) {
            return Err(Refused::Otherwise);
        }
        let plain = &mut self.records[index].plain;
        let before = plain.values();
        let place = match plain.place(row.sample) {
            Some(Place::Known(place)) => place,
            // Sample numbers are usually ascending; once they are not, an index is kept.
            Some(Place::New) => plain.push(row.sample),
            None => {
                let numbered = || (0..plain.len()).map(|place| (plain.number(place), place)).collect();
                let places = self.places.entry(index).or_insert_with(numbered);
                *places.entry(row.sample).or_insert_with(|| plain.push(row.sample))
            }
        };
        let free = plain.set(place, &row.metric, row.value);
        self.values += plain.values() - before;
        at_most(self.most.values, self.values, "values with those that are missing")?;
        if free { Ok(()) } else { Err(Refused::Twice) }
    }

    /// Adds a failed attempt at a trial, which has no values.
    pub(crate) fn add_failed(&mut self, row: &CsvRow<'_>, reason: &str) -> Result<(), Refused> {
        let (place, levels) = (self.condition_of(row), levels_of(&row.condition));
        let made = self.failed.entry((place, row.trial)).or_default();
        *made += 1;
        let mut record = TrialRecord::new(&planned(row), *made, levels, String::new());
        (record.outcome, record.reason) = (Outcome::Failed, Some(reason.to_owned()));
        self.records.push(record);
        self.last = None;
        at_most(self.most.conditions, self.conditions.len(), "conditions")?;
        at_most(self.most.trials, self.records.len(), "trials")
    }

    fn condition_of(&mut self, row: &CsvRow<'_>) -> usize {
        let next = self.conditions.len();
        match self.conditions.get(&*row.condition) {
            Some(known) => *known,
            None => *self.conditions.entry(row.condition.clone().into_owned()).or_insert(next),
        }
    }

    fn index(&mut self, row: &CsvRow<'_>) -> usize {
        if let Some(last) = self.last {
            let record = &self.records[last];
            if record.trial == row.trial && record.condition == row.condition {
                return last;
            }
        }
        let known = self.last.is_some_and(|last| self.records[last].condition == row.condition);
        if !known {
            self.condition = self.condition_of(row);
        }
        let records = &mut self.records;
        let index = *self.index_of.entry((self.condition, row.trial)).or_insert_with(|| {
            let mut record = TrialRecord::new(&planned(row), 1, levels_of(&row.condition), String::new());
            record.reason = Some(row.disturbed.clone().into_owned()).filter(|reason| !reason.is_empty());
            records.push(record);
            records.len() - 1
        });
        self.last = Some(index);
        index
    }

    /// All trials, with all columns at full length.
    pub(crate) fn finish(mut self) -> Vec<TrialRecord> {
        self.records.iter_mut().for_each(|record| record.plain.finish());
        self.records
    }
}

fn planned(row: &CsvRow<'_>) -> PlannedTrial {
    PlannedTrial { trial: row.trial, block: row.block, condition: row.condition.clone().into_owned(), lifetime: None }
}

fn at_most(limit: usize, found: usize, what: &'static str) -> Result<(), Refused> {
    if found > limit { Err(Refused::TooMany(what, limit)) } else { Ok(()) }
}
