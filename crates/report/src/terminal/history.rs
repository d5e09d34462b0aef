//! `tare history`: a table of segments a line, and what changed between them.

use super::rows;
use super::style::Style;
use super::text::{heading, plain, wrap};
use crate::words::{self, between, hash};
use tare_findings::figures::{Scale, change};
use tare_findings::history::{History, MetricHistory, Segment};
use tare_stats::Estimate;

/// Everything that it prints; `margin` is that of the gate.
pub fn history(found: &History, margin: Option<f64>, style: Style) -> String {
    let mut parts = vec![style.bold(&wrap(style, "", "", &plain(&words::history_sentence(found))))];
    parts.extend(found.lines.iter().map(|line| of_line(line, style)));
    parts.extend(words::history(found).iter().map(|said| wrap(style, "", "", &plain(said))));
    let gate = margin.and_then(|margin| words::history_gate(found, margin));
    parts.extend(gate.map(|said| style.bold(&wrap(style, "", "", &plain(&said)))));
    parts.join("\n")
}

fn of_line(line: &MetricHistory, style: Style) -> String {
    let head = format!("{}, {}", plain(&line.condition), plain(&line.name));
    let said: String = words::line(line).iter().map(|said| wrap(style, "  ", "    ", &plain(said))).collect();
    format!("{}\n{}{said}", heading(style, &head), table(line, style))
}

fn table(line: &MetricHistory, style: Style) -> String {
    let (heads, all) = segments(line);
    rows::table(&heads, &all, style)
}

/// A row for each segment, below the heads of its columns.
pub(crate) fn segments(line: &MetricHistory) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let largest = line.segments.iter().map(|segment| segment.mean.abs()).fold(0.0, f64::max);
    let scale = Scale::new(&line.unit, largest, 4);
    let ratio = |found: Option<Estimate>| found.map_or("-".to_owned(), |found| change(found.value - 1.0));
    let interval = |found: Option<Estimate>| between(found.and_then(|of| of.ci), "-", |end| change(end - 1.0));
    let commits = line.changes.iter().any(|change| change.commits.is_some());
    let mut columns = vec!["from", "runs", "mean", "change", "95% interval", "since first"];
    columns.extend(commits.then_some("commits"));
    let row = |(place, segment): (usize, &Segment)| {
        let step = place.checked_sub(1).and_then(|place| line.changes.get(place)).map(|found| found.ratio);
        let mut cells = vec![
            first(line, segment),
            segment.runs.len().to_string(),
            scale.figure(segment.mean),
            ratio(step),
            interval(step),
            ratio(segment.against_first),
        ];
        if commits {
            let change = place.checked_sub(1).and_then(|place| line.changes.get(place));
            let range = change.and_then(|change| change.commits.as_ref());
            cells.push(range.map_or("-".to_owned(), |(last, first)| format!("{}..{}", hash(last), hash(first))));
        }
        cells
    };
    let rows = line.segments.iter().enumerate().map(row).collect();
    (columns, rows)
}

fn first(line: &MetricHistory, segment: &Segment) -> String {
    line.points.get(segment.runs.start).map_or(String::new(), |point| plain(&point.run))
}
