//! Limits on conditions, trials, lists and texts of a record, and the range of its times: servers and logs may produce
//! any amount, and every reader must be able to hold it. Limits of lists are longer than any that is written;
//! `list_limits` assigns them to fields.

use super::schema::TrialRecord;
use std::fmt;

/// Maximum number of conditions of a study, and of results that are read: tables and charts have a row for each.
pub const MOST_CONDITIONS: usize = 5_000;

/// Maximum number of trials of a plan: the plan is read whole before each of them.
pub const MOST_TRIALS: usize = 250_000;

/// Maximum number of records of a study: trials may be repeated.
pub(crate) const MOST_RECORDS: usize = 2 * MOST_TRIALS;

/// Maximum number of metrics of a CSV file: every trial has a column for each.
pub(crate) const MOST_METRICS: usize = 1_000;

/// Maximum number of metrics of all records together: tables have a row for each, and comparisons test each.
pub(crate) const MOST_METRICS_OF_RECORDS: usize = 10_000;

/// Maximum size of the files of records in one folder, bytes: 250,000 records of 64 KiB.
pub(crate) const MOST_BYTES: u64 = 16 << 30;

/// Maximum number of damaged lines of records: each is listed.
pub(crate) const MOST_DAMAGED: usize = 10_000;

/// Maximum number of histograms per sample that are read: typically one per statement.
pub(crate) const MOST_HISTOGRAMS: usize = 1_000;

/// Maximum capacity of the columns of a CSV file's trials, in values, including missing ones.
pub(crate) const MOST_VALUES: usize = 100_000_000;

/// Maximum length of a row of a CSV file, bytes: five fields.
pub(crate) const LONGEST_ROW: u64 = 64 << 10;

/// Maximum length of a record, bytes: a plain record of 100,000 samples is shorter.
pub const LONGEST_LINE: u64 = 64 << 20;

/// Maximum length of a text in a record, bytes.
const LONGEST_TEXT: usize = 16 << 10;

/// The record with every external text shortened to [`LONGEST_TEXT`], with its original length noted. External lists
/// are truncated to the reader's limit.
pub(super) fn within_limits(record: &TrialRecord) -> TrialRecord {
    let mut record = record.clone();
    record.reason.iter_mut().chain(&mut record.server_version).for_each(cut);
    for setting in &mut record.settings {
        cut(&mut setting.verified);
        cut(&mut setting.level);
        setting.found.iter_mut().for_each(cut);
    }
    let outlived = record.outlived.iter_mut().map(|process| &mut process.name);
    record.captures_missing.values_mut().chain(outlived).for_each(cut);
    if let Some(server) = &mut record.server {
        server.arguments.iter_mut().chain(server.build.values_mut()).for_each(cut);
        server.changed.values_mut().for_each(|setting| cut(&mut setting.value));
        server.arguments.truncate(MOST_NAMES);
        server.option_files.truncate(MOST_NAMES);
        while server.changed.len() > MOST_NAMES {
            server.changed.pop_last();
        }
    }
    record.outlived.truncate(MOST_NAMES);
    // The list is in descending order.
    record.disturbed_by.truncate(MOST_NAMES);
    for sample in record.samples.iter_mut().chain(&mut record.dropped) {
        // From an external program, which may print a line at any time.
        sample.tps_each_second.truncate(MOST_READINGS);
    }
    for thread in record.samples.iter_mut().flat_map(|sample| &mut sample.threads) {
        cut(&mut thread.name);
    }
    record
}

/// Keeps the beginning and the end: the beginning usually names what failed, the end why.
fn cut(text: &mut String) {
    let all = text.len();
    if all <= LONGEST_TEXT {
        return;
    }
    let half = LONGEST_TEXT / 2;
    let head = (0..=half).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let tail = (all - half..=all).find(|at| text.is_char_boundary(*at)).unwrap_or(all);
    *text = format!("{} [... {all} bytes in all ...] {}", &text[..head], &text[tail..]);
}

/// Named items: factors, options of a server, its counters, its processes, queries. The engines have up to a thousand
/// options and counters; each factor or query takes a line in a study of 16 MiB, and no study has so many.
pub(super) const MOST_NAMES: usize = 5_000;
/// Metrics of a sample: 500 transactions of a file of statements, or 500 steps with their roles, with nine each.
pub(super) const MOST_OF_A_SAMPLE: usize = 10_000;
/// Samples of a trial: each takes at least 1.5 KB of a line of 64 MiB, or 100 bytes with a single metric and nothing
/// else.
pub const MOST_SAMPLES: usize = 100_000;
/// Throughput readings of a sample, one per second for at most a day (86,400 s); executions before the measured ones,
/// at most 100,000 and those that a pilot adds.
pub(super) const MOST_READINGS: usize = 200_000;
/// Threads of a sample: 65,536 clients, one connection each, and further threads of the server or the client program.
pub(super) const MOST_THREADS: usize = 200_000;
/// One more than the largest CPU number.
pub(super) const MOST_CPUS: usize = 65_536;
/// Steps of a search: 20, each possibly repeated because the client was the limit.
pub(super) const MOST_STEPS: usize = 1_000;
/// Client programs: the one that was started, and the one that measured.
pub(super) const MOST_PROGRAMS: usize = 100;

/// The longest time that is read, seconds: 300 years.
const LONGEST_S: f64 = 1e10;
/// The shortest length of a sample, seconds, next to 0 for one that was not recorded: figures are divided by it.
const SHORTEST_S: f64 = 1e-9;

/// A list that is longer than any that is written, or a time that nothing can take.
#[derive(Debug, Clone, PartialEq)]
pub struct OutOfRange {
    /// Path of the field: `samples[3].threads`.
    pub field: String,
    pub found: Found,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    Entries { found: usize, most: usize },
    Seconds { found: f64, least: f64 },
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.found {
            Found::Entries { found, most } => {
                write!(f, "{} has {found} entries: at most {most} are read", self.field)
            }
            Found::Seconds { found, least } => {
                write!(f, "{} is {found:e} s, expected 0 or from {least:e} s to {LONGEST_S:e} s", self.field)
            }
        }
    }
}

impl OutOfRange {
    pub(super) fn within(mut self, outer: impl fmt::Display) -> Self {
        self.field = format!("{outer}.{}", self.field);
        self
    }
}

pub(super) type Checked = Result<(), OutOfRange>;

pub trait Limited {
    /// # Errors
    /// The first list that is too long, or time that is out of range.
    fn check(&self) -> Checked;
}

/// Checks each list, given as name, length and limit.
pub(super) fn each<const N: usize>(lists: [(&str, usize, usize); N]) -> Checked {
    match lists.into_iter().find(|(_, found, most)| found > most) {
        Some((field, found, most)) => {
            Err(OutOfRange { field: field.to_owned(), found: Found::Entries { found, most } })
        }
        None => Ok(()),
    }
}

/// Checks each time, given as name and seconds.
pub(super) fn times<const N: usize>(times: [(&str, f64); N]) -> Checked {
    times.into_iter().try_for_each(|(field, seconds)| time(field, seconds, 0.0))
}

/// Checks the length of a sample.
pub(super) fn length(field: &str, seconds: f64) -> Checked {
    time(field, seconds, SHORTEST_S)
}

fn time(field: &str, found: f64, least: f64) -> Checked {
    match found == 0.0 || (least..=LONGEST_S).contains(&found) {
        true => Ok(()),
        false => Err(OutOfRange { field: field.to_owned(), found: Found::Seconds { found, least } }),
    }
}

pub(super) fn all<'t, T: Limited + 't>(field: &str, list: impl IntoIterator<Item = &'t T>) -> Checked {
    list.into_iter().enumerate().try_for_each(|(at, one)| {
        let place = || format!("{field}[{at}]");
        one.check().map_err(|out_of_range| out_of_range.within(place()))
    })
}

/// Checks the lengths of the lists in a list or map.
pub(super) fn widths<'t, T: 't>(field: &str, rows: impl IntoIterator<Item = &'t Vec<T>>, most: usize) -> Checked {
    each([(field, rows.into_iter().map(Vec::len).max().unwrap_or(0), most)])
}

impl<T: Limited> Limited for Option<T> {
    fn check(&self) -> Checked {
        self.as_ref().map_or(Ok(()), T::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_ends_and_says_how_long_it_was() {
        let mut short = "ö".repeat(LONGEST_TEXT / 2);
        let before = short.clone();
        cut(&mut short);
        assert_eq!(short, before);
        let mut long = format!("begin {}ö end", "ö".repeat(LONGEST_TEXT));
        let all = long.len();
        cut(&mut long);
        assert!(long.starts_with("begin ") && long.ends_with("ö end"));
        assert!(long.contains(&format!("{all} bytes in all")) && long.len() < LONGEST_TEXT + 100);
    }
}
