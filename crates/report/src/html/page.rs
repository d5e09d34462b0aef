//! The report page: its first screen, its sections in the order in which a reader needs them, and its file in the
//! results directory.

use super::document::document;
use super::given::Page;
use super::{captures, distance, machines, plots, record, samples, scaling, stability, tables};
use crate::words;
use maud::{Markup, html};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tare_files::{FilesError, Folder};
use tare_findings::collect::ConditionTrials;
use tare_findings::relative::RelativeTable;
use tare_findings::summary::Summary;
use tare_results::Results;
use tare_text::count;

pub fn render(results: &Results, summary: &Summary) -> String {
    let page = Page::new(results, summary);
    let sections = sections(&page);
    let body = html! {
        header {
            (first_screen(&page))
            nav aria-label="Sections" {
                @for (id, title, _) in &sections { a href={ "#" (id) } { (title) } }
            }
        }
        main data-levels=[levels(&page)] {
            @for (id, title, body) in &sections {
                section id=(id) class=[SCREEN_ONLY.contains(id).then_some("screen-only")] aria-labelledby={ (id) "-title" } {
                    h2 id={ (id) "-title" } { (title) }
                    (body)
                }
            }
        }
        footer {
            p.on-paper { "Not printed: threads, all metrics, original settings, trials with their logs, the full \
                          record." }
            (footer(&page))
        }
    };
    document(&results.study, &body)
}

/// The levels of each condition as JSON, factors in the order of the study, by which the script filters; none if there
/// is nothing to filter.
fn levels(page: &Page<'_>) -> Option<String> {
    let factors = page.results.factors();
    let of = |condition: &ConditionTrials<'_>| {
        let level = |factor: &String| condition.levels.get(factor).map(|level| [factor.clone(), level.clone()]);
        (condition.name.to_owned(), factors.iter().filter_map(level).collect())
    };
    let levels: BTreeMap<String, Vec<[String; 2]>> = page.conditions.iter().map(of).collect();
    (levels.len() > 1).then(|| serde_json::to_string(&levels).ok()).flatten()
}

/// Every chart of the page, named by its section and its number there, from 1.
pub(crate) fn charts(results: &Results, summary: &Summary) -> Vec<(String, String)> {
    let page = Page::new(results, summary);
    let mut found = Vec::new();
    for (id, _, body) in sections(&page) {
        let text = body.into_string();
        // A symbol that several drawings of a section share is in the section only once.
        let symbol = text.split_once("<symbol").and_then(|(_, rest)| rest.split_once("</symbol>"));
        let shared = symbol.map_or_else(String::new, |(symbol, _)| format!("<symbol{symbol}</symbol>"));
        let drawn = text.split("<svg").skip(1).filter_map(|rest| rest.split_once("</svg>")).map(|(svg, _)| svg);
        let whole = drawn.filter(|svg| {
            let head = svg.split_once('>').map_or("", |(head, _)| head);
            // Charts for small screens are duplicates.
            head.contains("role=\"img\"") && !head.contains("slim")
        });
        let named = whole.enumerate().map(|(place, svg)| {
            let (head, drawing) = svg.split_once('>').unwrap_or((svg, ""));
            let shared = if drawing.contains("<use") { &shared } else { "" };
            (format!("{id}-{}", place + 1), format!("<svg{head}>{shared}{drawing}</svg>"))
        });
        found.extend(named);
    }
    found
}

/// Reference sections, which would fill pages of paper and are not printed.
const SCREEN_ONLY: [&str; 4] = ["threads", "metrics", "logs", "record"];

/// (anchor, title, content) of every section with content.
fn sections(page: &Page<'_>) -> Vec<(&'static str, &'static str, Markup)> {
    let all = [
        ("pairs", "Pair by pair", plots::pairs(page)),
        // For numeric factors a curve is more useful than a list.
        ("curves", "Curves", scaling::curves(page)),
        ("trials", "Every trial", plots::headline(page)),
        ("notes", "Results and their uncertainty", uncertainty(page)),
        ("steps", "Steps of the load", scaling::load_steps(page)),
        ("latencies", "Latency of transactions", samples::latencies(page)),
        ("grid", "Clients by server locations", tables::grids(page)),
        ("distance", "Costs of distance", distance::section(page)),
        ("counters", "Seconds by threads and strategy", scaling::counters(page)),
        ("order", "Trials in the order in which they ran", plots::run_order(page)),
        ("searches", "The search for the highest rate", scaling::searches(page)),
        ("seconds", "Second by second", samples::seconds(page)),
        ("conditions", "Conditions", tables::conditions(page)),
        ("spread", "How steady each query was", stability::spread(page)),
        ("probes", "Probes", tables::probes(page)),
        ("effects", "Effects of the factors", stability::effects(page)),
        ("queries", "Each query's trials", stability::queries(page)),
        ("plans", "Plans of the queries", stability::plans(page)),
        ("warm-up", "Warm-up of the queries", stability::warm_up(page)),
        ("scaling", "Scaling", scaling::section(page)),
        ("time", "Where the time of a transaction goes", samples::time(page)),
        ("relative", "Relative throughput, load by load", scaling::relative(page)),
        ("builds", "Builds side by side", captures::builds(page)),
        ("growth", "What grows with the load: locks and functions", captures::growth(page)),
        ("waits", "What the server's threads spend time on", captures::waits(page)),
        ("wakes", "What keeps the connections asleep", captures::wakes(page)),
        ("lines", "Cache lines that cores take from each other", captures::lines(page)),
        ("profiles", "Flame graphs", captures::profiles(page)),
        ("captures", "Captures", captures::tables(page)),
        ("machines", "Machines side by side", machines::hosts(page)),
        ("machine", "Where the threads ran", machines::drawings(page)),
        ("threads", "Threads", machines::threads(page)),
        ("nodes", "Memory by node", machines::nodes(page)),
        ("metrics", "All metrics", plots::others(page)),
        ("environment", "Environment", record::environment(page)),
        ("logs", "Trials and their logs", record::trials(page)),
        ("record", "How to repeat it, and the full record", record::record(page)),
    ];
    let mut shown: Vec<_> = all.into_iter().filter_map(|(id, title, body)| Some((id, title, body?))).collect();
    // The section with the answer comes first; the others keep their order.
    let is_answer = RelativeTable::is_the_answer(page.summary);
    shown.sort_by_key(|(id, ..)| !(is_answer && *id == "relative"));
    shown
}

fn footer(page: &Page<'_>) -> Markup {
    let written_by = page.results.environment.as_ref().map(|environment| environment.tare_version.as_str());
    html! {
        p {
            "Intervals are 95% t-intervals over trials, never over pooled samples. Within: coefficient of variation of the "
            "samples of one trial, averaged. Between: coefficient of variation of the trial means. ? in place of an interval: half "
            "of it is more than the mean, which is not known from so few trials."
        }
        p {
            @if let Some(version) = written_by { "Measured by tare " (version) ". " }
            "Drawn by tare " (env!("CARGO_PKG_VERSION")) "."
        }
    }
}

pub(super) fn first_screen(page: &Page<'_>) -> Markup {
    let screen = words::first_screen(page.summary, page.results);
    html! {
        p.study { "tare · " (page.results.study) }
        h1 { (screen.out) }
    }
}

/// Further results, what was run, how certain the answer is, and the warnings, counted and folded. The chart comes
/// before this section.
pub(super) fn uncertainty(page: &Page<'_>) -> Option<Markup> {
    let screen = words::first_screen(page.summary, page.results);
    let warnings = &screen.warnings;
    Some(html! {
        @for sentence in &screen.further { p.further { (sentence) } }
        @if !warnings.is_empty() {
            details.warnings open[warnings.len() == 1] {
                summary { (count(warnings.len(), "warning")) }
                ul { @for line in warnings { li { (line) } } }
            }
        }
        dl.first {
            dt { "What was run" } dd { (screen.run) }
            dt { "On what" } dd { (screen.machine) }
            dt { "How sure" } dd { (screen.sure) }
            @if warnings.is_empty() {
                dt { "Warnings" } dd { "None: no trial failed or was disturbed, and none is shown to be an outlier." }
            }
        }
    })
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct WriteError(#[from] pub FilesError);

const REPORT: &str = "report.html";

/// Writes `report.html` from results that are already read, through the handle of their directory, and returns its
/// path.
pub fn write_report_in(folder: &Folder, results: &Results) -> Result<PathBuf, WriteError> {
    folder.write(REPORT, rendered(results).as_bytes())?;
    Ok(folder.path().join(REPORT))
}

pub fn write_report_to(results: &Results, path: &Path) -> Result<(), WriteError> {
    // Atomically, and without following links, because the directory may belong to another user.
    Ok(tare_files::write_named(results.audience, path, |file| file.write_all(rendered(results).as_bytes()))?)
}

fn rendered(results: &Results) -> String {
    render(results, &tare_findings::summarize(results))
}
