//! What happened within the samples: latency by percentile, throughput per second with gaps and standstills, and where
//! the time of a transaction goes.

use super::document::Head::{L, R};
use super::document::{drawn, either, row, scroll, table};
use super::given::Page;
use crate::charts::distribution::{self, DistributionLine, LINES};
use crate::charts::marks::Frame;
use crate::charts::over_time::{self, SampleSeries};
use crate::figures::{Scale, figure};
use crate::tables;
use crate::words::{suspects, trials, why as words};
use maud::{Markup, html};
use std::collections::BTreeSet;
use tare_findings::client_limit::LongestStall;
use tare_findings::latencies::Distribution;
use tare_findings::time::{self, ConditionTime, Part};
use tare_findings::why;
use tare_results::schema::{SampleRecord, TrialRecord};
use tare_results::unit::Unit;
use tare_text::count;

/// Maximum conditions drawn; `tare show --json` has all.
const CONDITIONS_WITH_LATENCIES: usize = 3 * LINES;
const PARTS: usize = 24;
const COLUMNS: [(&str, f64); 6] =
    [("p50", 50.0), ("p90", 90.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9), ("longest", 100.0)];

/// Charts and a table for transactions, and folded ones for each statement or kind of transaction.
pub(super) fn latencies(page: &Page<'_>) -> Option<Markup> {
    let conditions = &page.summary.conditions;
    let parts: BTreeSet<&str> = conditions.iter().flat_map(|c| &c.latencies).map(|found| found.of.as_str()).collect();
    let whole = conditions.iter().flat_map(|c| c.latencies.first()).map(|found| found.of.as_str()).next()?;
    let others: Vec<&str> = parts.into_iter().filter(|part| *part != whole).collect();
    let left_out = others.len().saturating_sub(PARTS);
    Some(html! {
        p.note {
            "All transactions of a condition's trials together, so percentiles here have no interval; those of the tables "
            "of metrics are means over trials, with an interval. A line ends at the longest latency of all."
        }
        (of_part(page, whole))
        @for part in others.iter().take(PARTS) {
            details { summary { (part) } (of_part(page, part)) }
        }
        @if left_out > 0 { p.note { (left_out) " more are in the JSON of tare show." } }
    })
}

fn of_part(page: &Page<'_>, part: &str) -> Markup {
    let all: Vec<DistributionLine<'_>> = page
        .summary
        .conditions
        .iter()
        .filter_map(|condition| Some((&condition.name, condition.latencies.iter().find(|found| found.of == part)?)))
        .enumerate()
        .map(|(place, (name, distribution))| {
            // With more conditions than marks, each chart numbers its own.
            let mark = if page.has_marks() { page.mark(name) } else { place % LINES };
            DistributionLine { name, mark, distribution }
        })
        .collect();
    let left_out = all.len().saturating_sub(CONDITIONS_WITH_LATENCIES);
    let drawn = &all[..all.len().min(CONDITIONS_WITH_LATENCIES)];
    html! {
        @for (number, lines) in drawn.chunks(LINES).enumerate() {
            @let label = format!("Latency of {part} by percentile{}", if number > 0 { format!(", {}", number + 1) } else { String::new() });
            @let frames = [Frame::wide(lines.iter().map(|line| line.name)), Frame::SLIM];
            @let [wide, slim] = frames.map(|frame| distribution::draw(part, lines, &frame));
            figure { figcaption { (label) } (either(&label, &wide, &slim)) }
        }
        (percentiles(&format!("Percentiles of the latency of {part}"), page, drawn))
        @if left_out > 0 { p.note { (count(left_out, "more condition")) " are in the JSON of tare show." } }
    }
}

fn percentiles(label: &str, page: &Page<'_>, lines: &[DistributionLine<'_>]) -> Markup {
    let cell =
        |found: &Distribution, percentile| found.at(percentile).map(|ms| figure(ms, Unit::Ms)).unwrap_or_default();
    let heads: Vec<_> =
        [L("condition"), R("transactions")].into_iter().chain(COLUMNS.map(|(name, _)| R(name))).collect();
    let rows = lines.iter().map(|line| {
        let mut row = row![html! { (page.swatch(line.name)) (line.name) }, line.distribution.count];
        row.extend(COLUMNS.map(|(_, percentile)| html! { (cell(line.distribution, percentile)) }));
        row
    });
    table(label, &heads, rows)
}

/// Maximum conditions drawn, and samples of each; `trials.jsonl` has all.
const CONDITIONS_WITH_SECONDS: usize = 12;
const SAMPLES: usize = 24;
const READINGS: usize = 3;

/// One chart per condition; the first one with a standstill is unfolded.
pub(super) fn seconds(page: &Page<'_>) -> Option<Markup> {
    let all: Vec<(&str, Vec<SampleSeries>)> = page
        .conditions
        .iter()
        .map(|condition| (condition.name, condition.ok.iter().flat_map(|trial| of_trial(trial)).collect::<Vec<_>>()))
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    let open = all.iter().position(|(_, lines)| lines.iter().any(|line| line.stall.is_some())).unwrap_or(0);
    (!all.is_empty()).then(|| {
        html! {
            p.note {
                "A line is a sample. Crosses are seconds below half of their sample's usual throughput; a shaded area is the "
                "longest time of a sample in which no transaction completed; its tooltip says which side stalled."
            }
            @for (place, (condition, mut lines)) in all.into_iter().take(CONDITIONS_WITH_SECONDS).enumerate() {
                @let left_out = lines.len().saturating_sub(SAMPLES);
                details open[place == open] {
                    summary { (page.swatch(condition)) (condition) }
                    (scroll(&format!("Throughput second by second under {condition}"), &html! {
                        ({ worst_first(&mut lines); over_time::draw_seconds(condition, &lines, page.mark(condition)) })
                    }))
                    @if left_out > 0 { p.note { (left_out) " more samples, without a longer stall, are in the \
                                                            record." } }
                }
            }
        }
    })
}

/// Keeps the samples with the longest standstills if there are too many to be distinguishable.
fn worst_first(lines: &mut Vec<SampleSeries>) {
    let length = |line: &SampleSeries| line.stall.as_ref().map_or(0.0, |(_, length_s, _)| *length_s);
    lines.sort_by(|a, b| length(b).total_cmp(&length(a)));
    lines.truncate(SAMPLES);
}

fn of_trial(trial: &TrialRecord) -> Vec<SampleSeries> {
    let series = trial.samples.iter().filter(|sample| sample.tps_each_second.len() >= READINGS);
    series.map(|sample| line(trial, sample)).collect()
}

fn line(trial: &TrialRecord, sample: &SampleRecord) -> SampleSeries {
    SampleSeries {
        name: format!("trial {}, sample {}", trial.trial, sample.sample),
        tps: sample.tps_each_second.clone(),
        stall: LongestStall::of(&sample.covariates)
            .map(|stall| (stall.from_s, stall.length_s, trials::stall_words(&stall))),
    }
}

/// Maximum rows of the table; for a study of many conditions `tare show --json` has the rest.
const ROWS: usize = 400;

/// One row per condition and one column per part. The unexplained time comes before the parts, so that narrow screens
/// show it. `None` when nothing was recorded.
pub(super) fn time(page: &Page<'_>) -> Option<Markup> {
    let times = &page.summary.time;
    let largest = times.iter().map(|time| time.us_per_transaction).fold(0.0, f64::max);
    let scale = Scale::new(Unit::Us, largest, 3);
    let parts: BTreeSet<&Part> = times.iter().flat_map(|time| &time.parts).map(|part| &part.part).collect();
    let cell = |time: &ConditionTime, part: &Part| {
        time.parts.iter().find(|found| found.part == *part).map_or("–".to_owned(), |found| scale.number(found.us))
    };
    let names: Vec<String> = parts.iter().map(|part| words::part(part)).collect();
    let mut heads = vec![L("condition"), R("all"), R("not explained")];
    heads.extend(names.iter().map(|name| R(name)));
    heads.push(R("background CPU alongside"));
    let row = |time: &ConditionTime| {
        let not_explained = scale.number(time.not_explained.us);
        let mut row = row![time.name, scale.number(time.us_per_transaction), not_explained];
        row.extend(parts.iter().map(|part| html! { (cell(time, part)) }));
        row.extend(row![scale.number(time.background_us)]);
        row
    };
    let labelled: Vec<(&str, &ConditionTime)> = times.iter().map(|time| (time.name.as_str(), time)).collect();
    let events = tables::events(times.iter().take(ROWS));
    (!times.is_empty()).then(|| {
        html! {
            p.note {
                "Microseconds of wall-clock time, clients / throughput; the parts and what is not explained add up to it. Waits for "
                "locks are those of the capture sample, as the same share of the time. Below 0: parts overlap."
            }
            (table("The time of a transaction", &heads, times.iter().take(ROWS).map(row)))
            @for overlap in words::overlaps(&labelled) { p.note { (overlap) } }
            @if !events.rows.is_empty() {
                p.note {
                    "Events of processors and kernel, per transaction of the capture sample, in the threads of either side."
                }
                (drawn("Events per transaction", None, &events))
            }
            @if let Some(difference) = difference(page) { (difference) }
        }
    })
}

/// The parts of the difference between the fastest and the slowest condition; `None` if no difference is shown.
fn difference(page: &Page<'_>) -> Option<Markup> {
    let chosen = time::extremes(&page.summary.time)?;
    let [a, b] = [chosen.fastest, chosen.slowest].map(|condition| condition.name.as_str());
    let side = |name| page.conditions.iter().find(|condition| condition.name == name);
    let found = why::of_conditions(side(a)?, side(b)?, page.results).ok();
    let found = found.filter(|found| chosen.differ(found.own().p_value))?;
    let over = if found.paired { "trials of the same block" } else { "trials" };
    // Above the table: a caption inside it is as wide as the table, and cut off on a narrow screen.
    let caption = format!(
        "From A ({a}) to B ({b}), µs per transaction; intervals over {over}; * is shown, all parts tested together"
    );
    Some(html! {
        p { (words::extremes(&chosen)) " " (words::why(&found)) }
        p.note { (caption) }
        (drawn("From A to B", None, &tables::waterfall(&found)))
        @if !found.causes.is_empty() {
            p.note { "Suspects, the largest first; they may overlap. tare why prints the experiment that would \
                      decide, if there is one." }
            ul { @for cause in suspects::listed(&found) {
                li { (suspects::suspect(&cause.suspect)) ": " (suspects::evidence(cause)) }
            } }
        }
    })
}
