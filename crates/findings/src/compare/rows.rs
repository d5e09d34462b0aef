//! A comparison as plain rows, for spreadsheets and other programs.

use super::groups::letters;
use super::model::{AgainstFirst, Grouped, ManyComparison};
use tare_stats::ratio::Verdict;

/// Names of the columns.
pub const COLUMNS: [&str; 23] = [
    "base",
    "side",
    "condition",
    "metric",
    "unit",
    "better",
    "trials_base",
    "trials_side",
    "mean_base",
    "mean_side",
    "ratio",
    "ci_low",
    "ci_high",
    "adjusted_by",
    "adjusted_ratio",
    "adjusted_ci_low",
    "adjusted_ci_high",
    "verdict",
    "disturbed",
    "group",
    "difference",
    "difference_ci_low",
    "difference_ci_high",
];

/// One row for each metric of each further side, those that are judged first; what does not exist is empty.
pub fn rows(found: &ManyComparison) -> Vec<[String; 23]> {
    let base = found.sides.first().map_or("", String::as_str);
    found.metrics.iter().map(|row| of(base, row, &found.groups)).collect()
}

fn of(base: &str, row: &AgainstFirst, groups: &[Grouped]) -> [String; 23] {
    let (side, metric) = (row.against.as_str(), &row.metric);
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let adjusted = metric.adjusted.as_ref();
    let verdict = match metric.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
    };
    [
        base.to_owned(),
        side.to_owned(),
        metric.condition.to_string(),
        metric.name.clone(),
        metric.unit.clone(),
        format!("{:?}", metric.better).to_lowercase(),
        metric.trials_a.to_string(),
        metric.trials_b.to_string(),
        metric.mean_a.to_string(),
        metric.mean_b.to_string(),
        number(metric.ratio),
        number(metric.ci.map(|ci| ci.low)),
        number(metric.ci.map(|ci| ci.high)),
        adjusted.map_or(String::new(), |found| found.by.clone()),
        number(adjusted.map(|found| found.ratio)),
        number(adjusted.and_then(|found| found.ci).map(|ci| ci.low)),
        number(adjusted.and_then(|found| found.ci).map(|ci| ci.high)),
        verdict.to_owned(),
        metric.disturbed.to_string(),
        letters(groups, side, metric).to_owned(),
        number(metric.difference.map(|found| found.value)),
        number(metric.difference.and_then(|found| found.ci).map(|ci| ci.low)),
        number(metric.difference.and_then(|found| found.ci).map(|ci| ci.high)),
    ]
}
