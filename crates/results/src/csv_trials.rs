//! Rows of a CSV file -> trials: rows that share condition and trial become one record, its samples columns.

use super::levels::levels_of;
use super::plain::Place;
use super::schema::{PlannedTrial, TrialRecord};
use std::collections::HashMap;

/// One row of the file.
pub(super) struct Row<'r> {
    pub condition: &'r str,
    pub trial: usize,
    pub sample: usize,
    pub metric: &'r str,
    pub value: f64,
    /// 0 where the file has none.
    pub block: usize,
    /// What disturbed the trial; empty where nothing did.
    pub disturbed: &'r str,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Added {
    Yes,
    /// Its value is there already.
    Twice,
    /// An earlier row of its trial says another block or disturbance.
    Otherwise,
}

/// The trials of the rows so far; conditions and trials keep the order of the file.
#[derive(Default)]
pub(super) struct Trials {
    records: Vec<TrialRecord>,
    /// Number of each condition's name: names are compared once a run of rows.
    conditions: HashMap<String, usize>,
    index_of: HashMap<(usize, usize), usize>,
    /// Place of each sample of the trials whose samples do not rise: a search would cost their square.
    places: HashMap<usize, HashMap<usize, usize>>,
    /// The row before belonged to this trial.
    last: Option<usize>,
    condition: usize,
}

impl Trials {
    /// Takes a row, unless it contradicts an earlier one.
    pub fn add(&mut self, row: &Row<'_>) -> Added {
        let index = self.index(row);
        let record = &self.records[index];
        if (record.block, record.reason.as_deref().unwrap_or_default()) != (row.block, row.disturbed) {
            return Added::Otherwise;
        }
        let plain = &mut self.records[index].plain;
        let place = match plain.place(row.sample) {
            Some(Place::Known(place)) => place,
            // What rises goes on rising, mostly; what does not is known from then on.
            Some(Place::New) => plain.push(row.sample),
            None => {
                let numbered = || (0..plain.len()).map(|place| (plain.number(place), place)).collect();
                let places = self.places.entry(index).or_insert_with(numbered);
                *places.entry(row.sample).or_insert_with(|| plain.push(row.sample))
            }
        };
        if plain.set(place, row.metric, row.value) { Added::Yes } else { Added::Twice }
    }

    fn index(&mut self, row: &Row<'_>) -> usize {
        if let Some(last) = self.last {
            let record = &self.records[last];
            if record.trial == row.trial && record.condition == row.condition {
                return last;
            }
        }
        let known = self.last.is_some_and(|last| self.records[last].condition == row.condition);
        if !known {
            let next = self.conditions.len();
            self.condition = match self.conditions.get(row.condition) {
                Some(known) => *known,
                None => *self.conditions.entry(row.condition.to_owned()).or_insert(next),
            };
        }
        let records = &mut self.records;
        let index = *self.index_of.entry((self.condition, row.trial)).or_insert_with(|| {
            let planned = PlannedTrial {
                trial: row.trial,
                block: row.block,
                condition: row.condition.to_owned(),
                lifetime: None,
            };
            let mut record = TrialRecord::new(&planned, 1, levels_of(row.condition), String::new());
            record.reason = Some(row.disturbed.to_owned()).filter(|reason| !reason.is_empty());
            records.push(record);
            records.len() - 1
        });
        self.last = Some(index);
        index
    }

    /// All trials, each sample with a place in every column.
    pub fn finish(mut self) -> Vec<TrialRecord> {
        self.records.iter_mut().for_each(|record| record.plain.finish());
        self.records
    }
}
