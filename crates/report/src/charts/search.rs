//! A search for the highest rate under a service-level objective: every step at its requested rate and measured figure,
//! the limit, and the rate that was found.

use super::axis::{Axis, px};
use super::marks::{self, Frame};
use crate::figures::figure;
use crate::words::searches::step_remarks;
use maud::{Markup, html};
use tare_results::search::{Limit, SearchRecord, StepRecord};
use tare_results::unit::Unit;

const WIDE: Frame = Frame::WIDE;
const TOP: f64 = 22.0;
const BOTTOM: f64 = 262.0;
const HEIGHT: f64 = BOTTOM + 40.0;
/// Above the chart, the name of the value axis takes the space to the left of this.
const NAMED: f64 = 400.0;
const RADIUS: f64 = 5.0;

pub fn verdict(search: &SearchRecord, step: &StepRecord) -> String {
    (if step.met { "met" } else { "not met" }).to_owned() + &step_remarks(search, step)
}

/// Draws a search; `name` identifies the search and its trial.
pub(crate) fn draw(name: &str, search: &SearchRecord) -> Markup {
    let limit = search.slo.limit_ms;
    let values = search.steps.iter().filter_map(|step| step.value).chain([limit]);
    let y = Axis::spanning(values, Unit::Ms, BOTTOM, TOP);
    let x = Axis::spanning(search.steps.iter().map(|step| step.requested_tps), Unit::PerS, WIDE.left, WIDE.right);
    html! {
        svg.chart viewBox=(format!("0 0 {} {HEIGHT}", WIDE.width)) role="img" {
            title { "The search for " (search.slo) ", " (name) }
            desc { (search.steps.len()) " steps, " (search.steps.iter().filter(|step| step.met).count()) " of which met the "
                "SLO: " (found_words(search)) "." }
            (x.horizontal(TOP, BOTTOM))
            (y.vertical(WIDE.left, WIDE.right))
            text.axis x=(px(WIDE.left)) y="11" text-anchor="start" { (y.label(&search.slo.metric)) }
            text.axis x=(px((WIDE.left + WIDE.right) / 2.0)) y=(px(BOTTOM + 33.0)) text-anchor="middle" { (x.label("rate requested")) }
            (bounds(search, limit, &x, &y))
            @for (place, step) in search.steps.iter().enumerate() { (mark(search, place, step, &x, &y)) }
        }
    }
}

fn found_words(search: &SearchRecord) -> String {
    match (search.found_tps, search.bracket_tps) {
        (_, Some([low, high])) => format!("between {} and {}", figure(low, Unit::PerS), figure(high, Unit::PerS)),
        (Some(found), None) => format!("found {}", figure(found, Unit::PerS)),
        (None, None) => "no rate found".to_owned(),
    }
}

/// The limit, labelled in the half of the chart with fewer steps, and the rate that was found.
fn bounds(search: &SearchRecord, limit: f64, x: &Axis, y: &Axis) -> Markup {
    let found = search.found_tps.map(|found| x.at(found));
    let is_right = found.is_some_and(|at| at > (WIDE.left + WIDE.right) / 2.0);
    html! {
        @let at = y.at(limit);
        @let (edge, anchor) = if is_right { (WIDE.left + 6.0, "start") } else { (WIDE.right - 6.0, "end") };
        line.none x1=(px(WIDE.left)) x2=(px(WIDE.right)) y1=(px(at)) y2=(px(at)) {}
        text.label x=(px(edge)) y=(px(if at < TOP + 16.0 { at + 14.0 } else { at - 5.0 })) text-anchor=(anchor) {
            (search.slo)
        }
        @if let Some(at) = found {
            @let (label_x, anchor) = if is_right { (at, "end") } else { (at.max(NAMED), "start") };
            line.none x1=(px(at)) x2=(px(at)) y1=(px(TOP)) y2=(px(BOTTOM)) stroke-dasharray="5 4" {}
            text.label x=(px(label_x)) y=(px(TOP - 7.0)) text-anchor=(anchor) { (found_words(search)) }
        }
    }
}

/// A step; empty if nothing was due in it.
fn mark(search: &SearchRecord, place: usize, step: &StepRecord, x: &Axis, y: &Axis) -> Markup {
    let Some(value) = step.value else { return html! {} };
    let (at, high) = (x.at(step.requested_tps), y.at(value));
    let words = format!(
        "step {}: {} requested, {} done: {}, {}",
        place + 1,
        figure(step.requested_tps, Unit::PerS),
        figure(step.done_tps, Unit::PerS),
        figure(value, Unit::Ms),
        verdict(search, step)
    );
    let of_client = matches!(step.limit, Some(Limit::Client(_)));
    html! {
        @if step.met {
            path class=(format!("trial {}", marks::class(0))) d=(marks::path(0, at, high, RADIUS)) { title { (words) } }
        } @else if of_client {
            path.trial.m7 d=(marks::path(3, at, high, RADIUS)) { title { (words) } }
        } @else {
            path.trial.m1 d=(marks::path(2, at, high, RADIUS)) { title { (words) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::search::{ClientLimit, Slo};

    fn step(requested_tps: f64, value: Option<f64>, limit: Option<Limit>) -> StepRecord {
        let met = limit.is_none() && value.is_some();
        let done_tps = requested_tps;
        StepRecord {
            requested_tps,
            done_tps,
            value,
            value_of_prompt_client: None,
            beyond: None,
            met,
            limit,
            repeated: false,
        }
    }

    #[test]
    fn each_step_is_marked_by_what_it_came_to_and_the_found_rate_stands_where_it_is() {
        let client = Limit::Client(ClientLimit::CpuUsedFraction(0.97));
        let search = SearchRecord {
            search: 0,
            slo: Slo { metric: "latency_ms_p99".into(), limit_ms: 5.0 },
            closed_loop_tps: 2000.0,
            found_tps: Some(1000.0),
            bracket_tps: None,
            limit: Some(Limit::Server),
            steps: vec![
                step(1000.0, Some(2.0), None),
                step(2000.0, Some(400.0), Some(Limit::Server)),
                step(1500.0, Some(9.0), Some(client)),
                step(1900.0, Some(4.0), Some(Limit::Server)),
                step(0.0, None, Some(Limit::Server)),
            ],
        };
        let drawn = draw("base, trial 3", &search).into_string();
        let count = |what: &str| drawn.matches(what).count();
        assert_eq!(
            (count("class=\"trial m0\""), count("class=\"trial m7\""), count("class=\"trial m1\"")),
            (1, 1, 2),
            "{drawn}"
        );
        assert!(drawn.contains("found 1.00 k/s") && drawn.contains("(logarithmic axis)"), "{drawn}");
        assert!(drawn.contains("not met, the client&#39;s limit") || drawn.contains("not met, the client's limit"));
        assert_eq!(count("not met, a queue grew"), 1, "within the limit, but far behind the rate: {drawn}");
        // The middle of the axis from 0 to 2000.
        let middle = px((WIDE.left + WIDE.right) / 2.0);
        assert!(drawn.contains(&format!("line class=\"none\" x1=\"{middle}\" x2=\"{middle}\"")), "{drawn}");
        let turned = SearchRecord { bracket_tps: Some([900.0, 1500.0]), ..search.clone() };
        assert!(draw("base", &turned).into_string().contains("between 900 /s and 1.50 k/s"));
        let none = SearchRecord { found_tps: None, steps: Vec::new(), ..search };
        let drawn = draw("base", &none).into_string();
        assert!(drawn.contains("no rate found") && !drawn.contains("NaN"), "{drawn}");
    }
}
