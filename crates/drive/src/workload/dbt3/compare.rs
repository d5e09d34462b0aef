//! Compares the answers of two engines: rows are compared by value, not by their text. Errors of the workload dbt3, of
//! which a difference is one.

use crate::workload::SessionError;
use std::path::PathBuf;
use std::{fmt, io};
use tare_cpuset::ThreadRefused;

/// A row as [`tare_engine::Session::query`] returns it: NULL as None.
pub type AnswerRow = Vec<Option<String>>;

/// Engines compute with decimal or binary numbers and round their output: MariaDB to six decimals or more.
pub const SIX_DECIMALS: f64 = 1e-6;
/// Relative tolerance of two numbers: a sum of binary numbers has 15 correct digits.
const RELATIVE: f64 = 1e-12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// From 1; None when the number of rows differs.
    pub row: Option<usize>,
    /// The expected row, or the expected number of rows.
    pub expected: String,
    pub got: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row {
            Some(row) => write!(f, "row {row}: expected {}, got {}", self.expected, self.got),
            None => write!(f, "expected {}, got {}", self.expected, self.got),
        }
    }
}

/// Compares an answer with the expected one. Rows that are equal in all columns of `order` may come in any order among
/// themselves; numbers may differ by `tolerance`, plus 1e-12 of their value.
pub fn compare(expected: &[AnswerRow], got: &[AnswerRow], order: &[usize], tolerance: f64) -> Result<(), Difference> {
    // Rows are compared before their number: this names the missing row.
    let mut start = 0;
    while start < expected.len().min(got.len()) {
        let first = &expected[start];
        let tied = |row: &AnswerRow| order.iter().all(|c| same(row.get(*c), first.get(*c), tolerance));
        let end = start + expected[start..].iter().take_while(|row| tied(row)).count().max(1);
        if let Some((row, want, have)) =
            unmatched(start, &expected[start..end], &got[start..end.min(got.len())], tolerance)
        {
            return Err(Difference { row: Some(row), expected: show(want), got: show(have) });
        }
        start = end;
    }
    if expected.len() == got.len() {
        return Ok(());
    }
    let rows = |count: usize| format!("{count} row{}", if count == 1 { "" } else { "s" });
    Err(Difference { row: None, expected: rows(expected.len()), got: rows(got.len()) })
}

/// The first expected row that matches none of the returned rows, with its number counted from `start`, and the first
/// returned row that is left over. The numbers of rows are not compared.
fn unmatched<'a>(
    start: usize,
    expected: &'a [AnswerRow],
    got: &'a [AnswerRow],
    tolerance: f64,
) -> Option<(usize, &'a AnswerRow, &'a AnswerRow)> {
    let like = |a: &AnswerRow, b: &AnswerRow| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(Some(a), Some(b), tolerance))
    };
    let mut left: Vec<&AnswerRow> = got.iter().collect();
    let mut missed = None;
    for (i, want) in expected.iter().enumerate() {
        match left.iter().position(|have| like(want, have)) {
            // Usually the first: both come in the same order.
            Some(at) => drop(left.remove(at)),
            None => drop(missed.get_or_insert((start + i + 1, want))),
        }
    }
    let (row, want) = missed?;
    left.first().map(|have| (row, want, *have))
}

fn same(a: Option<&Option<String>>, b: Option<&Option<String>>, tolerance: f64) -> bool {
    match (a, b) {
        (Some(Some(a)), Some(Some(b))) => match (number(a), number(b)) {
            (Some(a), Some(b)) => (a - b).abs() <= tolerance + RELATIVE * a.abs().max(b.abs()),
            // Some engines pad CHAR columns.
            (None, None) => a.trim() == b.trim(),
            _ => false,
        },
        (a, b) => a == b,
    }
}

/// Only digits, sign, decimal point and exponent: "inf", "nan" and phone numbers are text.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    (plain && text.bytes().any(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok().filter(|n: &f64| n.is_finite()))
        .flatten()
}

/// A row for display: values separated by `|`.
pub(crate) fn show(row: &AnswerRow) -> String {
    row.iter().map(|value| value.as_deref().unwrap_or("NULL")).collect::<Vec<_>>().join("|")
}

#[derive(Debug, thiserror::Error)]
pub enum Dbt3Error {
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The system started no thread for concurrent work.
    #[error(transparent)]
    Thread(#[from] ThreadRefused),
    #[error("Q{query}: {source}")]
    Query { query: u8, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("table {table} has {found} rows: expected {expected}; drop and prepare the tables again")]
    Rows { table: &'static str, expected: u64, found: u64 },
    #[error("cannot {what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "Q{query} gives a wrong answer: {difference} (against {against}); the tables are not those of this scale, or the \
         server computes it wrongly"
    )]
    Wrong { query: u8, difference: Difference, against: String },
    #[error(
        "Q{query} returned {found} rows while it was measured: expected {expected}; another client may have changed the \
         tables"
    )]
    RowCount { query: u8, expected: u64, found: u64 },
    #[error(
        "Q{query} took longer than the {timeout_s} s that workload.query_timeout_s allows: raise it, or leave the query \
         out of workload.queries"
    )]
    Timeout { query: u8, timeout_s: f64 },
    #[error("answers {}: line {line} is not an answer; remove the file to create it again", path.display())]
    Answers { path: PathBuf, line: usize },
    #[error("interrupted while filling tables")]
    Interrupted,
}

impl From<Dbt3Error> for crate::workload::LoadError {
    fn from(error: Dbt3Error) -> Self {
        Self::own(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(texts: &[&str]) -> Vec<AnswerRow> {
        let value = |text: &str| (text != "NULL").then(|| text.to_owned());
        texts.iter().map(|row| row.split('|').map(value).collect()).collect()
    }

    fn differ(expected: &[&str], got: &[&str], order: &[usize]) -> Option<Difference> {
        compare(&rows(expected), &rows(got), order, SIX_DECIMALS).err()
    }

    #[test]
    fn values_that_differ_only_in_notation_are_equal() {
        for (a, b) in [
            ("25.500000|A  ", "25.5|A"),
            ("56586554400.7300", "56586554400.730034"),
            ("0.034436", "0.0344358904066548"),
            ("10", "10.0"),
            ("1995-03-05|NULL", "1995-03-05|NULL"),
            ("13-456-789", "13-456-789"),
            ("1e3", "1000"),
            ("1e310", "1e310"),
        ] {
            assert_eq!(differ(&[a], &[b], &[]), None, "{a} {b}");
        }
    }

    #[test]
    fn a_differing_value_is_found_and_reported() {
        for (a, b) in [
            ("25.51", "25.5"),
            ("56586554400.73", "56586554401.00"),
            ("1995-03-05", "1995-03-06"),
            ("NULL", "0"),
            ("NULL", ""),
            ("0", "NULL"),
            ("13-4", "13-5"),
            ("a|b", "a"),
            ("nan", "1"),
        ] {
            assert!(differ(&[a], &[b], &[]).is_some(), "{a} {b}");
        }
        let difference = differ(&["a|1", "b|2", "c|3"], &["a|1", "b|9", "c|3"], &[0]).unwrap();
        assert_eq!(difference.to_string(), "row 2: expected b|2, got b|9");
        let difference = differ(&["a", "b"], &["a"], &[0]).unwrap();
        assert_eq!(difference.to_string(), "expected 2 rows, got 1 row");
        assert!(differ(&["a"], &["a", "a"], &[0]).is_some());
        assert!(differ(&[], &["a"], &[0]).is_some());
    }

    #[test]
    fn row_order_matters_except_among_equal_sort_keys() {
        assert_eq!(differ(&["x|9", "y|9", "z|8"], &["y|9.0", "x|9", "z|8"], &[1]), None);
        assert!(differ(&["x|9", "y|9", "z|8"], &["z|8", "x|9", "y|9"], &[1]).is_some());
        assert!(differ(&["x|9", "y|8"], &["y|8", "x|9"], &[1]).is_some());
        assert!(differ(&["x|9", "y|9"], &["x|9", "w|9"], &[1]).is_some());
    }

    fn value() -> impl Strategy<Value = Option<String>> {
        prop_oneof![
            Just(None),
            "[a-z0-9.eE+ -]{0,6}".prop_map(Some),
            (-1e9f64..1e9).prop_map(|n| Some(format!("{n:.4}"))),
        ]
    }

    proptest! {
        #[test]
        fn rows_are_the_same_as_themselves_in_any_order_among_equals(
            mut all in prop::collection::vec(prop::collection::vec(value(), 3), 0..12),
            swap in any::<prop::sample::Index>(),
        ) {
            prop_assert_eq!(compare(&all, &all, &[0, 2], SIX_DECIMALS), Ok(()));
            let before = all.clone();
            if !all.is_empty() {
                let at = swap.index(all.len());
                all.swap(0, at);
            }
            prop_assert_eq!(compare(&before, &all, &[], SIX_DECIMALS), Ok(()));
            let _ = compare(&before, &all, &[1, 7], SIX_DECIMALS);
        }
    }
}
