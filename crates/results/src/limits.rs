//! Limits on conditions, trials, and texts of a record: servers and logs may produce any amount of text, and every
//! reader has to handle a record.

use super::lists::{MOST_NAMES, MOST_READINGS};
use super::schema::TrialRecord;

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
