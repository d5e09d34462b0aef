//! What the probes alongside the trials leave of their spread, and the means that are adjusted by one.

use super::given::Page;
use super::scroll::scroll;
use crate::words::between;
use maud::{Markup, html};
use tare_findings::figures::{Scale, percent};
use tare_findings::probe_rows;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let rows = probe_rows::rows(page.summary);
    let first = rows.first()?;
    let scale = Scale::new(&first.metric.unit, rows.iter().map(|row| row.metric.max).fold(0.0, f64::max), 4);
    let by = rows.iter().find_map(|row| row.adjusted).map(|found| found.probe.clone());
    let interval = |ci| between(ci, "–", |end| scale.number(end));
    Some(html! {
        p.note {
            "A probe is known work, done before and after each sample on its own PUs while the server idles: loads from memory "
            "(chain), steps in registers (spin), two threads that wake each other (wakeup). What it leaves is the spread "
            "between trials that goes not with it, over all of the spread: 1 is everything."
            @match &by {
                Some(by) => { " The study said before it ran that means are compared at the same reading of " (by) "." },
                None => { " The study did not say before it ran that anything is adjusted, so nothing is." },
            }
        }
        (scroll("Table of probes", &html! {
            table {
                caption { (first.metric.name) @if !scale.unit.is_empty() { ", " (scale.unit) } }
                thead { tr {
                    th.l scope="col" { "condition" } th scope="col" { "between" }
                    @for (probe, _) in &first.left { th scope="col" { "left by " (probe) } }
                    th scope="col" { "mean" } th scope="col" { "95% interval" }
                    @if by.is_some() { th scope="col" { "adjusted mean" } th scope="col" { "95% interval" } }
                } }
                tbody { @for row in &rows { tr {
                    th scope="row" { (row.condition) }
                    td { (row.between.map_or("–".to_owned(), percent)) }
                    @for (name, _) in &first.left {
                        td { (row.left.iter().find(|(probe, _)| probe == name)
                            .map_or("–".to_owned(), |(_, left)| format!("{left:.2}"))) }
                    }
                    td { (scale.number(row.metric.mean)) } td { (interval(row.metric.ci)) }
                    @if by.is_some() {
                        td { (row.adjusted.and_then(|found| found.adjusted_mean)
                            .map_or("–".to_owned(), |mean| scale.number(mean))) }
                        td { (interval(row.adjusted.and_then(|found| found.ci))) }
                    }
                } } }
            }
        }))
    })
}
