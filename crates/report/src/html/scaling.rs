//! Results over numeric factors and loads: curves, laws, steps and predictions, which are marked as such; relative
//! throughput, seconds of counters.

use super::document::Head::L;
use super::document::{cell, drawn, either, scroll, table};
use super::given::Page;
use crate::charts;
use crate::charts::marks::Frame;
use crate::charts::search::{self, verdict};
use crate::figures::{Scale, figure, is_known};
use crate::tables;
use crate::words::searches::in_ms;
use crate::words::{better_word, counters_head, generator, losses};
use maud::{Markup, html};
use tare_findings::collect;
use tare_findings::counters::CounterTable;
use tare_findings::curves::{self, Curves};
use tare_findings::factors::words_of;
use tare_findings::relative::{RelativeCell, RelativeTable};
use tare_findings::scaling::Scaling;
use tare_findings::state::is_disturbed;
use tare_results::metric;
use tare_results::schema::{Outcome, TrialRecord};
use tare_results::search::SearchRecord;
use tare_results::unit::Unit;
use tare_stats::ratio::Verdict;
use tare_text::decimal;

/// Laws and steps; `None` unless threads or nodes vary.
pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
    let laws = &page.summary.scaling;
    (!laws.is_empty()).then(|| {
        let mut known = tables::laws(laws);
        known.heads.push(L("predicted"));
        let cells = known.rows.iter().map(|row| row.iter().map(cell).collect::<Vec<Markup>>());
        let rows = cells.zip(laws).map(|(mut row, law)| {
            row.push(predicted(law));
            row
        });
        let heads = &known.heads;
        html! {
            p.note {
                "Universal scalability law: X(N) = λN / (1 + σ(N-1) + κN(N-1)), with the base rate λ (the result of one), "
                "contention σ (work that waits for others) and coherency κ (the cost of keeping all of them consistent). 95% "
                "intervals are below each value. A prediction assumes that the law continues to hold; nothing was measured "
                "there."
            }
            (table("Table of scaling laws", heads, rows))
            @if let Some((head, steps)) = tables::steps(page.summary) { (drawn("Steps of the ladders", Some(&head), &steps)) }
        }
    })
}

fn predicted(law: &Scaling) -> Markup {
    let unit = metric::describe(&law.metric).unit;
    html! {
        @if let Some(found) = &law.prediction {
            (figure(found.value, unit)) " at " (found.n)
            @if let Some(ci) = found.ci {
                br; small {
                    @if is_known(found.value, ci) { (figure(ci.low, unit)) " to " (figure(ci.high, unit)) } @else { "?" }
                }
            }
        }
    }
}

pub(super) const HOLLOW: &str = " A hollow dot is a trial that was disturbed in every attempt.";
/// Bytes after which further charts are left out.
const BYTES: usize = 400_000;

/// Every curve over a numeric factor; `None` if no numeric factor varies.
pub(super) fn curves(page: &Page<'_>) -> Option<Markup> {
    let headline = page.summary.headline_metric.as_deref()?;
    let mut metrics = vec![headline.to_owned()];
    let all = collect::all_metrics(&page.conditions);
    metrics.extend(all.into_iter().filter(|name| name != headline && metric::describe(name).is_primary()));
    let mut budget = BYTES;
    let mut left_out = 0;
    let mut parts = Vec::new();
    for name in &metrics {
        let charts = curves::curves(page.summary, &page.conditions, name);
        let mut drawn = Vec::new();
        for chart in &charts {
            let figure = curves_figure(chart);
            match budget.checked_sub(figure.0.len()) {
                Some(rest) => budget = rest,
                None => {
                    left_out += 1;
                    continue;
                }
            }
            drawn.push(figure);
        }
        if !drawn.is_empty() {
            parts.push((name, drawn));
        }
    }
    let first = parts.first()?.0;
    Some(html! {
        p.note { (note(page)) }
        @for (name, drawn) in &parts {
            @if *name == first { @for figure in drawn { (figure) } } @else {
                details { summary { (name) ", " (better_word(metric::describe(name).better)) } @for figure in drawn { (figure) } }
            }
        }
        @if left_out > 0 { p.note { (left_out) " more charts are left out to keep this file small; their figures are in the tables." } }
    })
}

fn curves_figure(chart: &Curves) -> Markup {
    let at = if chart.at.is_empty() { String::new() } else { format!(", {}", words_of(&chart.at)) };
    let name = format!("{} over {}{at}", chart.metric, chart.over);
    let frames = [Frame::wide(chart.lines.iter().map(|line| line.label.as_str())), Frame::SLIM];
    let [wide, slim] = frames.map(|frame| charts::curves::draw(chart, &frame));
    html! { figure { figcaption { (name) } (either(&name, &wide, &slim)) } }
}

fn note(page: &Page<'_>) -> String {
    let mut note = "A pale dot is a trial, a mark their mean, the whisker its 95% interval over trials.".to_owned();
    if !page.summary.scaling.is_empty() {
        note.push_str(
            " Dotted: the fitted scalability law; the bar at its end is what it predicts for twice the largest number \
             measured, with the interval of one more trial. It is a prediction: nothing was measured there.",
        );
    }
    let all = || page.summary.conditions.iter().flat_map(|condition| &condition.metrics);
    if page.results.trials.iter().any(|trial| trial.outcome == Outcome::Ok && is_disturbed(trial)) {
        note.push_str(HOLLOW);
    }
    if all().any(|metric| !metric.has_mean()) {
        note.push_str(" Where there is no mark and the line has a gap, the mean describes no trial.");
    }
    note
}

const COSTS: [&str; 8] = ["CPU µs", "of base", "switches", "reads", "writes", "flushes", "read KB", "written KB"];

/// The table; `None` unless loads vary together with builds or an option.
/// Every step of a load by condition.
pub(super) fn load_steps(page: &Page<'_>) -> Option<Markup> {
    let table = tables::load_steps(page.summary)?;
    Some(html! { p.note { "Of each step: " (tables::LOAD_STEPS) "." } (drawn("Steps of the load", None, &table)) })
}

pub(super) fn relative(page: &Page<'_>) -> Option<Markup> {
    let table = RelativeTable::of(page.summary)?;
    Some(html! {
        p.note {
            (table.metric) " divided by that of " (table.columns[0]) ", base = 1.00. Coloured where it is decided, "
            "over all cells together at the rate of the first sentence; intervals are 95% of each cell alone. "
            "Costs are those of the server per operation; "
            "reads, writes and flushes are requests to the devices that hold its files, whichever process made them."
        }
        @if !table.groups.is_empty() {
            (drawn("Groups of loads", Some("Groups of loads: geometric mean, least and most"), &tables::load_groups(&table)))
        }
        (scroll("Relative throughput", &html! {
            table {
                thead { tr {
                    th.l scope="col" { "group" } th.l scope="col" { "load" }
                    @for column in &table.columns { th scope="col" { (column) } }
                } }
                tbody { @for row in &table.rows { tr {
                    td.l { (row.group) } th scope="row" { (row.name()) }
                    @for cell in &row.cells { (relative_cell(cell.as_ref())) }
                } } }
            }
        }))
        @if table.has_costs() {
            (drawn("Cost of an operation", None, &tables::costs(&table, COSTS)))
        }
    })
}

fn relative_cell(cell: Option<&RelativeCell>) -> Markup {
    let Some(cell) = cell else { return html! { td { "–" } } };
    let (class, sign) = match cell.verdict {
        Some(Verdict::Faster) => ("faster", "▲ "),
        Some(Verdict::Slower) => ("slower", "▼ "),
        Some(Verdict::Equivalent | Verdict::Inconclusive) | None => ("", ""),
    };
    let interval = cell.ci.map(|ci| format!(" ({} to {})", decimal(ci.low, 2), decimal(ci.high, 2)));
    html! {
        td class=(class) {
            (sign) (format!("{:.2}", cell.ratio))
            @if let Some(interval) = interval { small { (interval) } }
        }
    }
}

pub(super) fn counters(page: &Page<'_>) -> Option<Markup> {
    let tables = &page.summary.counters;
    (!tables.is_empty()).then(|| html! { @for table in tables { (seconds_of(table)) } })
}

fn seconds_of(table: &CounterTable) -> Markup {
    html! {
        (drawn("Seconds by threads and strategy", Some(&counters_head(table)), &tables::counters(table)))
        ul { @for line in losses(table) { li { (line) } } }
        @if let Some(line) = generator(table) { p { (line) "." } }
    }
}

/// Maximum searches drawn; `trials.jsonl` has all.
const DRAWN: usize = 24;

/// One chart per search, the first one unfolded.
pub(super) fn searches(page: &Page<'_>) -> Option<Markup> {
    let all: Vec<(String, &SearchRecord)> = page
        .conditions
        .iter()
        .flat_map(|condition| condition.ok.iter().flat_map(|trial| searches_of_trial(condition.name, trial)))
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
                    summary { (name) ": " (search_outcome(search)) }
                    (scroll(&format!("Steps of the search of {name}"), &search::draw(name, search)))
                    (scroll(&format!("Table of the steps of {name}"), &search_table(search)))
                }
            }
            @if all.len() > DRAWN { p.note { (all.len() - DRAWN) " more searches are in the record." } }
        }
    })
}

fn searches_of_trial<'a>(
    condition: &'a str,
    trial: &'a TrialRecord,
) -> impl Iterator<Item = (String, &'a SearchRecord)> {
    let several = trial.searches.len() > 1;
    trial.searches.iter().map(move |search| {
        let which = if several { format!(", search {}", search.search + 1) } else { String::new() };
        (format!("{condition}, trial {}{which}", trial.trial), search)
    })
}

fn search_outcome(search: &SearchRecord) -> String {
    let steps = tare_text::count(search.steps.len(), "step");
    match search.found_tps {
        _ if search.bracket_tps.is_some() => format!("not converged in {steps}"),
        Some(found) => format!("{} in {steps}", figure(found, Unit::PerS)),
        None => format!("no rate in {steps}"),
    }
}

fn search_table(search: &SearchRecord) -> Markup {
    let largest = search.steps.iter().map(|step| step.requested_tps).fold(0.0, f64::max);
    let rate = Scale::new(Unit::PerS, largest, 4);
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
