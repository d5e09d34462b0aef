//! A Markdown summary: the answer, then a table of conditions, for pull requests and notes.

use super::source::Source;
use crate::words::{AnswerJson, warnings};
use std::io::{self, Write};
use tare_findings::figures::{Scale, count, percent};
use tare_findings::summary::MetricSummary;

/// Writes the answer, the warnings, and the means of the primary metrics by condition.
pub fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let answer = AnswerJson::of(&source.summary.answer);
    writeln!(out, "### {}\n\n**{}**\n", escaped(&source.results.study), escaped(&answer.text))?;
    for detail in &answer.details {
        writeln!(out, "{}\n", escaped(detail))?;
    }
    let metrics = source.shown_metrics();
    let scales: Vec<Scale> = metrics.iter().map(|metric| scale(source, &metric.name)).collect();
    write!(out, "| condition | trials |")?;
    for (metric, scale) in metrics.iter().zip(&scales) {
        let unit = if scale.unit.is_empty() { String::new() } else { format!(", {}", scale.unit) };
        write!(out, " {}{unit} | between |", escaped(&metric.name))?;
    }
    writeln!(out, "\n| --- | ---: |{}", " ---: | ---: |".repeat(metrics.len()))?;
    for condition in &source.summary.conditions {
        write!(out, "| {} | {} |", escaped(&condition.name), condition.trials)?;
        for (metric, scale) in metrics.iter().zip(&scales) {
            match condition.metrics.iter().find(|found| found.name == metric.name) {
                Some(found) => {
                    write!(out, " {} | {} |", middle(found, scale), found.between_cov.map_or("-".into(), percent))?
                }
                None => write!(out, " - | - |")?,
            }
        }
        writeln!(out)?;
    }
    let warnings = warnings(&source.summary, source.results);
    if !warnings.is_empty() {
        writeln!(out, "\n<details><summary>{}</summary>\n", count(warnings.len(), "note"))?;
        warnings.iter().try_for_each(|line| writeln!(out, "- {}", escaped(line)))?;
        writeln!(out, "\n</details>")?;
    }
    Ok(())
}

/// One scale for a metric over all conditions.
pub(super) fn scale(source: &Source<'_>, name: &str) -> Scale {
    let found = source.summary.conditions.iter().flat_map(|condition| &condition.metrics).filter(|m| m.name == name);
    let (unit, largest) =
        found.fold(("", 0.0_f64), |(_, largest), metric| (&metric.unit, largest.max(metric.max.abs())));
    Scale::new(unit, largest, 4)
}

/// The mean with the half-width of its interval, or what stands in its place where it describes no trial.
pub(super) fn middle(metric: &MetricSummary, scale: &Scale) -> String {
    scale.middle(metric.middle()).join(" or ")
}

/// What comes from outside stays text: no markup, no table cell of its own, one line.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in tare_text::shown(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' => out.extend(['\\', c]),
            c if c.is_whitespace() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
