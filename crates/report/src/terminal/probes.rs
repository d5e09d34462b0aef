//! The share of the spread that remains after adjusting by a probe, and the adjusted means.

use super::rows::{lined, titled};
use super::style::Style;
use super::text::plain;
use crate::figures::Scale;
use tare_findings::summary::{self, ProbeRow, Summary};
use tare_stats::Interval;
use tare_text::percent;

/// One row per condition; `None` without probes.
pub(super) fn probes(summary: &Summary, style: Style) -> Option<String> {
    let rows: Vec<ProbeRow<'_>> = summary::probe_rows(summary);
    let first = rows.first()?;
    let by = rows.iter().find_map(|row| row.adjusted).map(|found| format!("mean at the same {}", found.probe));
    let mut heads = vec!["condition", "between"];
    let names: Vec<&str> = first.left.iter().map(|(probe, _)| *probe).collect();
    heads.extend(&names);
    heads.push("mean, 95% interval");
    heads.extend(by.as_deref());
    let line = |row: &ProbeRow<'_>| {
        let scale = Scale::new(&row.metric.unit, row.metric.max, 4);
        let estimate = |mean: f64, ci: Option<Interval>| match ci {
            Some(ci) => format!("{} ({} to {})", scale.number(mean), scale.number(ci.low), scale.number(ci.high)),
            None => scale.number(mean),
        };
        let mut line = vec![plain(row.condition), row.between.map_or("-".to_owned(), percent)];
        line.extend(names.iter().map(|name| {
            let left = row.left.iter().find(|(probe, _)| probe == name);
            left.map_or("-".to_owned(), |(_, left)| format!("{left:.2}"))
        }));
        line.push(match row.metric.has_mean() {
            true => estimate(row.metric.mean, row.metric.ci),
            false => scale.middle(row.metric.middle()).join(" or "),
        });
        if by.is_some() {
            let adjusted = row.adjusted.and_then(|found| Some(estimate(found.adjusted_mean?, found.ci)));
            line.push(adjusted.unwrap_or_else(|| "-".to_owned()));
        }
        line
    };
    let unit = Scale::new(&first.metric.unit, first.metric.max, 4).unit;
    let head = format!(
        "what each probe leaves of the spread between trials (1: explains nothing; average over {}), and {}{}",
        tare_text::count(first.metrics, "metric"),
        first.metric.name,
        if unit.is_empty() { String::new() } else { format!(", {unit}") },
    );
    Some(titled(style, &head, &lined(style, &heads, 1, rows.iter().map(line))))
}
