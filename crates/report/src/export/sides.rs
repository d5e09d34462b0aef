//! A comparison of several sides as plain rows, for spreadsheets and other programs.

use super::columns::better;
use crate::words::word;
use tare_findings::compare::groups::letters;
use tare_findings::compare::{AgainstFirst, ManyComparison};

/// A column: its name, and its field in a row, empty if there is none.
type Column = (&'static str, fn(&ManyComparison, &AgainstFirst) -> String);

const COLUMNS: [Column; 23] = [
    ("base", |found, _| found.sides.first().cloned().unwrap_or_default()),
    ("side", |_, row| row.against.clone()),
    ("condition", |_, row| row.metric.condition.to_string()),
    ("metric", |_, row| row.metric.name.clone()),
    ("unit", |_, row| row.metric.unit.to_string()),
    ("better", |_, row| better(row.metric.better).to_owned()),
    ("trials_base", |_, row| row.metric.trials_a.to_string()),
    ("trials_side", |_, row| row.metric.trials_b.to_string()),
    ("mean_base", |_, row| row.metric.mean_a.to_string()),
    ("mean_side", |_, row| row.metric.mean_b.to_string()),
    ("ratio", |_, row| number(row.metric.ratio)),
    ("ci_low", |_, row| number(row.metric.ci.map(|ci| ci.low))),
    ("ci_high", |_, row| number(row.metric.ci.map(|ci| ci.high))),
    ("adjusted_by", |_, row| row.metric.adjusted.as_ref().map_or(String::new(), |found| found.by.to_string())),
    ("adjusted_ratio", |_, row| number(row.metric.adjusted.as_ref().map(|found| found.ratio))),
    ("adjusted_ci_low", |_, row| number(row.metric.adjusted.as_ref().and_then(|found| Some(found.ci?.low)))),
    ("adjusted_ci_high", |_, row| number(row.metric.adjusted.as_ref().and_then(|found| Some(found.ci?.high)))),
    ("verdict", |_, row| word(row.metric.verdict).to_owned()),
    ("disturbed", |_, row| row.metric.disturbed.to_string()),
    ("group", |found, row| letters(&found.groups, &row.against, &row.metric).to_owned()),
    ("difference", |_, row| number(row.metric.difference.map(|found| found.value))),
    ("difference_ci_low", |_, row| number(row.metric.difference.and_then(|found| Some(found.ci?.low)))),
    ("difference_ci_high", |_, row| number(row.metric.difference.and_then(|found| Some(found.ci?.high)))),
];

/// The names of the columns, then one row per metric of each other side, judged metrics first.
pub fn rows(found: &ManyComparison) -> Vec<[String; 23]> {
    let rows = found.metrics.iter().map(|row| COLUMNS.map(|(_, field)| field(found, row)));
    std::iter::once(COLUMNS.map(|(name, _)| name.to_owned())).chain(rows).collect()
}

fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}
