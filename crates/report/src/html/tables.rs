//! Tables of figures. Each is a plain HTML table that can be copied into a spreadsheet: one number per cell, units in
//! the heads.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{drawn, head, scroll};
use crate::figures::Scale;
use crate::{tables, words};
use maud::{Markup, html};
use tare_findings::condition::{ConditionSummary, MetricSummary};
use tare_findings::mode::Middle;
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
                caption { (metric) @if !scale.unit.is_empty() { ", " (scale.unit) } }
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
                        Some(metric) => { (cells(metric, &scale)) @if with_modes { td.l { (words::modes(&metric.modes, &metric.unit)) } } },
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
            @if names.len() > shown { p.note { "The remaining " (names.len() - shown) " metrics: tare show --json" } }
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
    let unit = metrics.peek().map_or("", |first| first.unit.as_str());
    Scale::of_middles(unit, metrics.map(MetricSummary::middle))
}
