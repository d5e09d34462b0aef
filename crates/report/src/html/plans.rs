//! Plans of queries that ran with more than one.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{row, table};
use maud::{Markup, html};
use tare_findings::figures::figure;
use tare_findings::plans::QueryPlans;
use tare_results::metric;

/// Every query with more than one plan: who ran with which, and the plans themselves.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let plans = &page.summary.plans;
    (!plans.is_empty()).then(|| {
        html! {
            p.note {
                "As the server said after the measured executions (EXPLAIN), without its estimates. Where one condition has several, "
                "the plan is a cause of what its trials differ by."
            }
            @for query in plans { (one(query)) }
        }
    })
}

fn one(query: &QueryPlans) -> Markup {
    let unit = metric::describe(&query.metric).unit;
    let name = metric::query(&query.metric).map_or_else(|| query.metric.clone(), str::to_uppercase);
    html! {
        details open[!query.changed_within.is_empty()] {
            summary {
                (name) ": " (query.plans.len()) " plans"
                @if !query.changed_within.is_empty() { ", changed between trials of one condition" }
            }
            (table(&format!("Plans of {name}"), &[L("condition"), L("plan"), R("trials"), R("mean")], query.plans.iter()
                .flat_map(|plan| plan.conditions.iter().map(|(condition, of)| row![
                    condition, plan.name, of.trials.len(), figure(of.mean, unit)
                ]))))
            @for plan in &query.plans {
                h3 { "Plan " (plan.name) }
                pre tabindex="0" { (plan.text) }
            }
        }
    }
}
