//! Tables of figures. Each is a plain HTML table that can be copied into a spreadsheet: one number per cell, units in
//! the heads.

use super::document::Head::{L, R};
use super::document::{captioned, drawn, head, row, scroll};
use super::given::Page;
use crate::figures::Scale;
use crate::tables;
use crate::words::{self, between};
use maud::{Markup, html};
use tare_findings::condition::{ConditionSummary, MetricSummary};
use tare_findings::factors::words_of;
use tare_findings::mode::Middle;
use tare_findings::placement::{GridCell, PlacementGrid};
use tare_findings::summary::{self, ProbeRow};
use tare_results::unit::Unit;
use tare_text::percent;

/// Maximum rows of the table of all metrics; for a study of many conditions `tare show --json` has the rest.
const ROWS: usize = 1200;

pub(super) fn conditions(page: &Page<'_>) -> Option<Markup> {
    let metric = page.summary.headline_metric.as_deref()?;
    let rows: Vec<(&ConditionSummary, Option<&MetricSummary>)> =
        page.summary.conditions.iter().map(|c| (c, c.metrics.iter().find(|m| m.name == metric))).collect();
    let scale = scale(rows.iter().filter_map(|(_, metric)| *metric));
    let with_modes = rows.iter().any(|(_, metric)| metric.is_some_and(|metric| !metric.modes.is_empty()));
    Some(html! {
        (scroll("Table of conditions", &html! {
            table {
                caption { (scale.with_unit(metric)) }
                thead { tr {
                    th.l scope="col" { "condition" }
                    th scope="col" { "trials" } th scope="col" { "mean" } th scope="col" { "95% from" } th scope="col" { "95% to" }
                    th scope="col" { "median" }
                    th scope="col" { "within" } th scope="col" { "between" } th scope="col" { "min" } th scope="col" { "max" }
                    @if with_modes { th.l scope="col" { "modes" } }
                    th scope="col" { "clean" } th scope="col" { "disturbed" } th scope="col" { "failed" }
                } }
                tbody { @for (condition, metric) in &rows { tr data-c=(condition.name) {
                    th scope="row" { (page.swatch(&condition.name)) (condition.name) }
                    @match metric {
                        Some(metric) => { (cells(metric, &scale)) @if with_modes { td.l { (words::modes(&metric.modes, metric.unit)) } } },
                        None => { td colspan={ (9 + usize::from(with_modes)) } { "no usable trial" } },
                    }
                    td { (condition.clean_trials) }
                    td { (condition.disturbed_trials) @if condition.set_aside_trials > 0 { " (+" (condition.set_aside_trials) " set aside)" } }
                    td { (condition.failed_trials) }
                } } }
            }
        }))
    })
}

fn cells(metric: &MetricSummary, scale: &Scale) -> Markup {
    let [low, high] = scale.ends(metric.mean, metric.ci);
    let cov = |cov: Option<f64>| cov.map_or("–".to_owned(), percent);
    html! {
        td { (metric.trials) }
        @match metric.middle() {
            Middle::Mean(mean, _) => { td { (scale.value(mean)) } td { (low) } td { (high) } },
            Middle::Modes(modes) => { td { (modes.len()) " modes" } td { "–" } td { "–" } },
            Middle::Range(..) => { td { "range" } td { "–" } td { "–" } },
        }
        td { (scale.value(metric.median)) }
        td { (cov(metric.within_cov)) } td { (cov(metric.between_cov)) }
        td { (scale.value(metric.min)) } td { (scale.value(metric.max)) }
    }
}

pub(super) fn all_metrics(page: &Page<'_>) -> Markup {
    let names = tare_findings::collect::all_metrics(&page.conditions);
    let find = |name: &str| {
        let rows: Vec<(&str, &MetricSummary)> = page
            .summary
            .conditions
            .iter()
            .filter_map(|c| Some((c.name.as_str(), c.metrics.iter().find(|m| m.name == name)?)))
            .collect();
        let scale = scale(rows.iter().map(|(_, metric)| *metric));
        (rows, scale)
    };
    let total = names.len() * page.summary.conditions.len();
    let shown = (ROWS / page.summary.conditions.len().max(1)).max(1);
    html! {
        details open[total <= 60] {
            summary { "Table of all metrics" }
            (scroll("Table of all metrics", &html! { table {
                (head(&[L("metric"), R("unit"), L("condition"), R("trials"), R("mean"), R("95% from"), R("95% to"),
                    R("within"), R("between"), R("min"), R("max")]))
                @for name in names.iter().take(shown) {
                    @let (rows, scale) = find(name);
                    tbody { @for (condition, metric) in &rows { tr data-c=(condition) {
                        th scope="row" { (name) } td { (scale.unit) } td.l { (condition) } (cells(metric, &scale))
                    } } }
                }
            } }))
            @if names.len() > shown { p.note { "The remaining " (names.len() - shown) " metrics are in the JSON of tare show" } }
        }
    }
}

pub(super) fn effects(page: &Page<'_>) -> Option<Markup> {
    let effects = &page.summary.effects;
    (!effects.is_empty()).then(|| {
        html! {
            p.note {
                "Ratio of the first level to the second; 1x is no effect. Spread is the coefficient of variation between "
                "trials. Intervals are for each effect alone; * marks what is shown with all effects tested together. "
                "Intervals of a spread are jackknifed from four trials per condition on."
            }
            (drawn("Table of effects", None, &tables::effects(effects.iter().take(400), true)))
        }
    })
}

fn scale<'a>(metrics: impl Iterator<Item = &'a MetricSummary>) -> Scale {
    let mut metrics = metrics.peekable();
    let unit = metrics.peek().map_or(Unit::Plain, |first| first.unit);
    Scale::of_middles(unit, metrics.map(MetricSummary::middle))
}

const LISTED_MEANS: usize = 12;

pub(super) fn grids(page: &Page<'_>) -> Option<Markup> {
    let grids = &page.summary.placement_grids;
    (!grids.is_empty()).then(|| {
        html! {
            p.note {
                "Clients by row, server by column, each with its CPUs on this machine. Mean ± half of the 95% interval over trials, or its modes with their shares of the trials; "
                "below it the mean of each trial, in the order in which they ran."
            }
            @for grid in grids { (grid_table(page, grid)) }
        }
    })
}

fn grid_table(page: &Page<'_>, grid: &PlacementGrid) -> Markup {
    let scale = tables::scale_of(grid, page.summary);
    let at = if grid.levels.is_empty() { String::new() } else { format!(", {}", words_of(&grid.levels)) };
    html! {
        (scroll(&format!("Clients by server locations{at}"), &html! {
            table {
                caption { (scale.with_unit(&grid.metric)) (at) }
                thead { tr {
                    th.l scope="col" { "clients on" }
                    @for server in &grid.servers { th scope="col" { "server on " (words::place(server)) } }
                } }
                tbody { @for (client, row) in grid.clients.iter().zip(&grid.cells) { tr {
                    th scope="row" { (words::place(client)) }
                    @for found in row { td { @match found {
                        Some(found) => (grid_cell(page, grid, found, &scale)),
                        None => "–",
                    } } }
                } } }
            }
        }))
    }
}

fn grid_cell(page: &Page<'_>, grid: &PlacementGrid, found: &GridCell, scale: &Scale) -> Markup {
    let listed: Vec<String> = found.trials.iter().take(LISTED_MEANS).map(|mean| scale.number(*mean)).collect();
    let more = if found.trials.len() > LISTED_MEANS { " …" } else { "" };
    let metric = page.summary.metric(&found.condition, &grid.metric);
    let middle = metric.map_or(Vec::new(), |metric| scale.middle(metric.middle()));
    html! { @for line in middle { (line) br; } small { (listed.join(" ")) (more) } }
}

pub(super) fn probes(page: &Page<'_>) -> Option<Markup> {
    let rows = summary::probe_rows(page.summary);
    let first = rows.first()?;
    let scale = Scale::new(first.metric.unit, rows.iter().map(|row| row.metric.max).fold(0.0, f64::max), 4);
    let by = rows.iter().find_map(|row| row.adjusted).map(|found| found.probe);
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
    let caption = scale.with_unit(&first.metric.name);
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
