//! How queries warmed up: each execution before the measured ones, against those.

use super::given::Page;
use super::scroll::scroll;
use crate::charts::heat::{self, Figures, Heat};
use maud::{Markup, html};
use std::collections::BTreeSet;
use tare_findings::warm_up::WarmUp;
use tare_results::metric;

/// Conditions that are drawn; `tare show --json` has all.
const CONDITIONS: usize = 24;

/// A heat map a condition: queries by executions.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let all = &page.summary.warm_up;
    if all.is_empty() {
        return None;
    }
    let conditions: Vec<&str> = page.summary.conditions.iter().map(|condition| condition.name.as_str()).collect();
    let of = |name: &str| all.iter().filter(|warm| warm.condition == name).collect::<Vec<_>>();
    let drawn = conditions.iter().map(|name| (*name, of(name))).filter(|(_, found)| !found.is_empty());
    Some(html! {
        p.note {
            "Executions in their order, before the measured ones and against the mean of those: +80% took 1.8 times as long. "
            "Means over trials."
        }
        @for (place, (condition, found)) in drawn.take(CONDITIONS).enumerate() {
            details open[place == 0] {
                summary { (page.swatch(condition)) (condition) }
                (scroll(&format!("Warm-up under {condition}"), &map(condition, &found)))
            }
        }
    })
}

fn map(condition: &str, found: &[&WarmUp]) -> Markup {
    let runs = found.iter().map(|warm| warm.ratios.len()).max().unwrap_or(0);
    let short = |name: &str| metric::query(name).map_or_else(|| name.to_owned(), str::to_uppercase);
    heat::draw(&Heat {
        title: format!("Executions of each query before the measured ones, {condition}"),
        note: String::new(),
        rows: found.iter().map(|warm| short(&warm.metric)).collect(),
        columns: (1..=runs).map(|run| run.to_string()).collect(),
        values: found.iter().map(|warm| (0..runs).map(|run| Some(warm.ratios.get(run)? - 1.0)).collect()).collect(),
        unshown: BTreeSet::new(),
        figures: Figures::Change,
    })
}
