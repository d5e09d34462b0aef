//! The search for the highest rate under a service-level objective: one chart and one table per search.

use super::given::Page;
use super::scroll::scroll;
use crate::charts::search::{self, verdict};
use crate::figures::{Scale, figure};
use crate::words::searches::in_ms;
use maud::{Markup, html};
use tare_results::schema::TrialRecord;
use tare_results::search::SearchRecord;

/// Maximum searches drawn; `trials.jsonl` has all.
const DRAWN: usize = 24;

/// One chart per search, the first one unfolded.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let all: Vec<(String, &SearchRecord)> = page
        .conditions
        .iter()
        .flat_map(|condition| condition.ok.iter().flat_map(|trial| of_trial(condition.name, trial)))
        .collect();
    (!all.is_empty()).then(|| {
        html! {
            p.note {
                "Each step requests a rate: dots met the service-level objective (SLO), triangles did not, diamonds did "
                "not because the client was the limit. The line across is the limit, the dashed one the highest rate that "
                "met it."
            }
            @for (place, (name, search)) in all.iter().take(DRAWN).enumerate() {
                details open[place == 0] {
                    summary { (name) ": " (outcome(search)) }
                    (scroll(&format!("Steps of the search of {name}"), &search::draw(name, search)))
                    (scroll(&format!("Table of the steps of {name}"), &table(search)))
                }
            }
            @if all.len() > DRAWN { p.note { (all.len() - DRAWN) " more searches are in the record." } }
        }
    })
}

fn of_trial<'a>(condition: &'a str, trial: &'a TrialRecord) -> impl Iterator<Item = (String, &'a SearchRecord)> {
    let several = trial.searches.len() > 1;
    trial.searches.iter().map(move |search| {
        let which = if several { format!(", search {}", search.search + 1) } else { String::new() };
        (format!("{condition}, trial {}{which}", trial.trial), search)
    })
}

fn outcome(search: &SearchRecord) -> String {
    let steps = tare_text::count(search.steps.len(), "step");
    match search.found_tps {
        _ if search.bracket_tps.is_some() => format!("not converged in {steps}"),
        Some(found) => format!("{} in {steps}", figure(found, "1/s")),
        None => format!("no rate in {steps}"),
    }
}

fn table(search: &SearchRecord) -> Markup {
    let largest = search.steps.iter().map(|step| step.requested_tps).fold(0.0, f64::max);
    let rate = Scale::new("1/s", largest, 4);
    html! {
        table {
            thead { tr {
                th scope="col" { "step" }
                th scope="col" { "requested, " (rate.unit) } th scope="col" { "done, " (rate.unit) }
                th scope="col" { (search.slo.metric) ", ms" } th.l scope="col" { "SLO" }
            } }
            tbody { @for (place, step) in search.steps.iter().enumerate() { tr {
                td { (place + 1) } td { (rate.number(step.requested_tps)) } td { (rate.number(step.done_tps)) }
                td { (step.value.map_or("nothing due".to_owned(), |value| in_ms(value, search.slo.limit_ms))) }
                td.l { (verdict(search, step)) }
            } } }
        }
    }
}
