//! The share of the spread that remains after adjusting by a probe, and the adjusted means.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{captioned, row};
use crate::figures::Scale;
use crate::words::between;
use maud::{Markup, html};
use tare_findings::summary::{self, ProbeRow};
use tare_text::percent;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let rows = summary::probe_rows(page.summary);
    let first = rows.first()?;
    let scale = Scale::new(&first.metric.unit, rows.iter().map(|row| row.metric.max).fold(0.0, f64::max), 4);
    let by = rows.iter().find_map(|row| row.adjusted).map(|found| found.probe.clone());
    let interval = |ci| between(ci, "–", |end| scale.number(end));
    let left: Vec<String> = first.left.iter().map(|(probe, _)| format!("left by {probe}")).collect();
    let mut heads = vec![L("condition"), R("between")];
    heads.extend(left.iter().map(|head| R(head)));
    heads.extend([R("mean"), R("95% interval")]);
    heads.extend(by.iter().flat_map(|_| [R("adjusted mean"), R("95% interval")]));
    let row = |row: &ProbeRow<'_>| {
        let mut cells = row![row.condition, row.between.map_or("–".to_owned(), percent)];
        cells.extend(first.left.iter().map(|(name, _)| {
            let left = row.left.iter().find(|(probe, _)| probe == name);
            html! { (left.map_or("–".to_owned(), |(_, left)| format!("{left:.2}"))) }
        }));
        let mean = match row.metric.has_mean() {
            true => scale.number(row.metric.mean),
            false => scale.middle(row.metric.middle()).join(" or "),
        };
        cells.extend(row![mean, interval(row.metric.interval())]);
        if by.is_some() {
            let mean = row.adjusted.and_then(|found| found.adjusted_mean);
            let ci = row.adjusted.and_then(|found| found.ci);
            cells.extend(row![mean.map_or("–".to_owned(), |mean| scale.number(mean)), interval(ci)]);
        }
        cells
    };
    let unit = if scale.unit.is_empty() { String::new() } else { format!(", {}", scale.unit) };
    let caption = format!("{}{unit}", first.metric.name);
    Some(html! {
        p.note {
            "A probe is known work, done before and after each sample on its own PUs while the server idles: loads from memory "
            "(chain), steps in registers (spin), two threads that wake each other (wakeup). What it leaves is the share of the "
            "spread between trials that it does not explain: 1 is all of it."
            @match &by {
                Some(by) => { " The study said before it ran that means are compared at the same reading of " (by) "." },
                None => { " The study declared no adjustment before it ran, so nothing is adjusted." },
            }
        }
        (captioned("Table of probes", &caption, &heads, rows.iter().map(row)))
    })
}
