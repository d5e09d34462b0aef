//! Sections on captures: growth rankings, flame graphs of the first and the last rung, waits and wake-ups of threads,
//! builds compared, and the cost of capturing.

use super::document::Head::{L, R};
use super::document::{captioned, drawn, figure, row, table};
use super::given::Page;
use crate::charts::flame::{self, Width};
use crate::figures::times;
use crate::tables;
use crate::words::{at, between, waits};
use maud::{Markup, html};
use tare_findings::builds::{BuildComparison, Changed};
use tare_findings::captures::{CaptureSummary, GrowthRanking, Profiled};
use tare_findings::compare::Side;
use tare_findings::lines::LinesSummary;
use tare_findings::time;
use tare_findings::waits::{ClassTime, WaitsSummary, WakesSummary};
use tare_findings::why;
use tare_results::captures::{FOLDED, WALL};
use tare_text::{count, decimal, percent};

const FLAME_BYTES: usize = 150_000;
const COLOURS: &str =
    "orange takes longer in B, blue takes less, the darker the more of its time, grey differs by less than 5%";
/// Maximum rows of a ranking, and of the symbols and locks of a condition.
const ROWS: usize = 12;
/// Maximum conditions with their own tables; the rest are in `tare show --json`.
const CONDITIONS: usize = 24;

/// Locks and functions by the growth of their share; `None` without captures along a ladder.
pub(super) fn growth(page: &Page<'_>) -> Option<Markup> {
    let rankings = &page.summary.growth;
    (!rankings.is_empty()).then(|| {
        html! {
            p.note {
                "Scaling is limited by what grows, not by what is largest: shares on the first and the last "
                "rung, and their change with each doubling, in percentage points. Locks: share of the connections' time spent waiting. Functions: share "
                "of the server's samples inside them; with what they call, in the last kind of table."
            }
            @for ranking in rankings.iter().take(CONDITIONS) { (table_of(ranking)) }
        }
    })
}

fn table_of(ranking: &GrowthRanking) -> Markup {
    let (what, open) = match ranking.what {
        Profiled::Locks => ("Locks", true),
        Profiled::Symbols => ("Functions", true),
        Profiled::Calls => ("Functions with what they call", false),
    };
    let caption = format!("{what} over {}{}", ranking.over, at(&ranking.levels));
    html! {
        details open[open] {
            summary { (caption) }
            (drawn(&caption, None, &tables::growth(["name", "first rung", "last rung"], ranking.grown.iter().take(ROWS))))
        }
    }
}

/// Flame graphs of the first and the last rung of the first ladder, or of the first conditions that have one.
pub(super) fn profiles(page: &Page<'_>) -> Option<Markup> {
    let marked: Vec<&str> = page
        .summary
        .growth
        .iter()
        .filter(|ranking| ranking.what == Profiled::Symbols)
        .filter_map(|ranking| Some(ranking.grown.first()?.name.as_str()))
        .collect();
    let mut budget = FLAME_BYTES;
    let mut drawings = Vec::new();
    for condition in shown(page) {
        let Some((folded, width, about)) = folded_of(page, condition) else { continue };
        let title = format!("{condition}: {about}");
        let Some(drawing) = flame::draw(&title, &folded, &marked, width) else { continue };
        let Some(rest) = budget.checked_sub(drawing.0.len()) else { break };
        budget = rest;
        drawings.push((title, drawing));
    }
    drawings.extend(difference(page, &mut budget));
    (!drawings.is_empty()).then(|| {
        html! {
            p.note {
                "A box is a function, as wide as its share of the samples; what it calls is above it. Outlined: the function "
                "whose share grows fastest. Where the capture `waits` was on, the whole is the wall-clock time of the threads "
                "that serve connections: running time is divided as the profile of all the server's threads, and waits and "
                "sleeps have another colour. Interactive flame graphs of every trial, and the folded call chains, are in "
                "captures/ in the results directory."
            }
            @for (title, drawing) in &drawings { (figure(title, drawing)) }
        }
    })
}

/// Flame graph of the difference between the fastest and the slowest condition, by the wall-clock time of a
/// transaction; `None` if that was not recorded for both.
fn difference(page: &Page<'_>, budget: &mut usize) -> Option<(String, Markup)> {
    let chosen = time::extremes(&page.summary.time)?;
    let [a, b] = [chosen.fastest, chosen.slowest].map(|condition| condition.name.as_str());
    let side = |condition| Side { results: page.results, condition: Some(condition) };
    let chains = why::chains(side(a), side(b)).ok()?;
    let title = format!("The difference: from A ({a}) to B ({b}), wall-clock time of a transaction; {COLOURS}");
    let drawing = flame::draw_difference(&title, &chains)?;
    *budget = budget.checked_sub(drawing.0.len())?;
    Some((title, drawing))
}

/// Conditions whose flame graphs are most informative: the beginning and the end of a ladder.
fn shown<'p>(page: &'p Page<'_>) -> Vec<&'p str> {
    let with: Vec<&str> = page
        .summary
        .captures
        .iter()
        .filter(|c| c.samples > 0 || c.waits.is_some())
        .map(|c| c.condition.as_str())
        .collect();
    let Some(ranking) = page.summary.growth.iter().find(|ranking| ranking.what == Profiled::Symbols) else {
        return with.into_iter().take(2).collect();
    };
    let mut rungs: Vec<(f64, &str)> = page
        .conditions
        .iter()
        .filter(|condition| with.contains(&condition.name))
        .filter_map(|condition| {
            let mut others = condition.levels.clone();
            let n = others.remove(&ranking.over)?.parse().ok()?;
            (others == ranking.levels).then_some((n, condition.name))
        })
        .collect();
    rungs.sort_by(|a, b| a.0.total_cmp(&b.0));
    match rungs.as_slice() {
        [] => Vec::new(),
        [(_, only)] => vec![only],
        [(_, first), .., (_, last)] => vec![first, last],
    }
}

/// The chains of the first trial of a condition that has any, what they are shares of, and how they were recorded.
fn folded_of(page: &Page<'_>, condition: &str) -> Option<(String, Width, String)> {
    let condition = page.conditions.iter().find(|candidate| candidate.name == condition)?;
    condition.ok.iter().find_map(|trial| {
        let captured = page.results.captures.get(&(trial.trial, trial.attempt))?;
        if let Some(time) = &captured.waits {
            let about = format!(
                "wall-clock time of {}, {} looks in trial {}",
                count(time.connections.threads, "connection thread"),
                time.looks,
                trial.trial
            );
            return Some((captured.folded(trial, WALL)?, Width::Time, about));
        }
        let profile = captured.profile.as_ref()?;
        let kernel = if profile.kernel { "with the kernel" } else { "without the kernel" };
        let about = format!("{} samples of {} in trial {}, {kernel}", profile.samples, profile.event, trial.trial);
        Some((captured.folded(trial, FOLDED)?, Width::Samples, about))
    })
}

/// The content of each condition's captures, and their cost.
pub(super) fn tables(page: &Page<'_>) -> Option<Markup> {
    let captures = &page.summary.captures;
    let with_ratio: Vec<&CaptureSummary> = captures.iter().filter(|c| c.tps_ratio.is_some()).collect();
    (!with_ratio.is_empty()).then(|| {
        html! {
            p.note {
                "Profiled in one further sample of each trial, after the measured ones: no metric of this report contains its cost, "
                "which is throughput while capturing / throughput measured."
            }
            (table("Cost of capturing", &[L("condition"), R("trials"), R("while capturing / measured"),
                R("samples of the profile"), L("event")], with_ratio.iter().map(|capture| row![
                capture.condition, capture.trials, capture.tps_ratio.map_or("–".to_owned(), times), capture.samples,
                capture.event.as_deref().unwrap_or("–")
            ])))
            @for capture in captures.iter().take(CONDITIONS) { (of_condition(capture)) }
            @if captures.len() > CONDITIONS {
                p.note { (captures.len() - CONDITIONS) " more conditions are in the JSON of tare show" }
            }
        }
    })
}

fn of_condition(capture: &CaptureSummary) -> Markup {
    html! {
        @if !capture.locks.is_empty() || !capture.symbols.is_empty() {
            details {
                summary { (capture.condition) }
                @if !capture.locks.is_empty() {
                    (captioned(&format!("Lock waits of {}", capture.condition), "Lock waits in the server",
                        &[L("lock"), R("taken"), R("waited, ms"), R("of the connections' time")],
                        capture.locks.iter().take(ROWS).map(|lock| row![
                            lock.name, decimal(lock.count, 0), decimal(lock.wait_ms, 3),
                            percent(lock.wait_fraction)
                        ])))
                }
                @if !capture.symbols.is_empty() {
                    (captioned(&format!("Functions of {}", capture.condition), "Functions by their share of the samples",
                        &[L("function"), R("alone"), R("with what it calls")],
                        capture.symbols.iter().take(ROWS).map(|symbol| row![
                            symbol.symbol, percent(symbol.self_fraction), percent(symbol.total_fraction)
                        ])))
                }
            }
        }
    }
}

/// Maximum rows for a class of threads.
const PARTS: usize = 14;

pub(super) fn waits(page: &Page<'_>) -> Option<Markup> {
    let captures = &page.summary.captures;
    let with: Vec<(&CaptureSummary, &WaitsSummary)> =
        captures.iter().filter_map(|capture| Some((capture, capture.waits.as_ref()?))).collect();
    (!with.is_empty()).then(|| {
        html! {
            p.note {
                "What the server's threads did in the capture sample, observed many times per second. Running and waiting for "
                "a CPU are the kernel's own counts; the rest of the time is divided in proportion to the samples of sleeping "
                "threads. A futex on which several threads sleep is a lock or a condition variable; one on which a single "
                "thread was seen is a wait for a row, a commit or another thread's answer. Times per transaction are those of "
                "all threads together."
            }
            @for (index, (capture, found)) in with.iter().take(CONDITIONS).enumerate() {
                details open[index == 0] {
                    summary { (capture.condition) }
                    p.note { (waits::cost(capture, found)) }
                    (times_of(&capture.condition, ["thread that serves connections", "threads that serve connections"], &found.connections))
                    @if let Some(stacks) = &found.stacks { (callers(&capture.condition, &stacks.callers)) }
                    @if !found.background.parts.is_empty() {
                        (times_of(&capture.condition, ["background thread", "background threads"], &found.background))
                    }
                }
            }
            @if with.len() > CONDITIONS { p.note { (with.len() - CONDITIONS) " more conditions are in the JSON of tare show" } }
        }
    })
}

/// `one` and `class` name the threads: one, and all.
fn times_of(condition: &str, [one, class]: [&str; 2], time: &ClassTime) -> Markup {
    let number = format!("{:.0}", time.threads);
    let those = if number == "1" { one } else { class };
    html! {
        (captioned(&format!("Time of {class} of {condition}"), &format!("{number} {those}"),
            &[L("what"), R("threads"), R("share"), R("95% interval"), R("per transaction")],
            time.parts.iter().take(PARTS).map(|part| row![
                waits::what(part), if part.threads > 0 { part.threads.to_string() } else { "–".to_owned() },
                percent(part.fraction), between(part.ci, "–", percent),
                waits::per_transaction(part).unwrap_or_else(|| "–".to_owned())
            ])))
    }
}

pub(super) fn wakes(page: &Page<'_>) -> Option<Markup> {
    let captures = &page.summary.captures;
    let with: Vec<(&str, &WakesSummary)> =
        captures.iter().filter_map(|capture| Some((capture.condition.as_str(), capture.wakes.as_ref()?))).collect();
    (!with.is_empty()).then(|| {
        html! {
            p.note {
                "A sleep of a thread that serves a connection is attributed to what the thread that woke it did in that time; "
                "if that thread slept too, to the thread that woke it, and so on. A wake-up by a timer or a device while "
                "another thread runs there is attributed to that thread."
            }
            @for (index, (condition, found)) in with.iter().take(CONDITIONS).enumerate() {
                details open[index == 0] {
                    summary { (condition) }
                    p.note { (waits::woken(found)) }
                    (table(&format!("What kept connections of {condition} asleep"), &[L("who"), L("did"),
                        R("share")], found.charged.iter().map(|(who, doing, share)| row![
                        who, waits::doing(*doing), percent(*share)
                    ])))
                    (callers(condition, &found.callers))
                }
            }
        }
    })
}

fn callers(condition: &str, chains: &[(String, f64)]) -> Markup {
    html! {
        @if !chains.is_empty() {
            (table(&format!("Callers of the functions in which connections of {condition} slept, the nearest first"),
                &[L("called by"), R("share")],
                chains.iter().map(|(chain, share)| row![waits::waking_callers(chain), percent(*share)])))
        }
    }
}

pub(super) fn lines(page: &Page<'_>) -> Option<Markup> {
    let captures = &page.summary.captures;
    let with: Vec<(&str, &LinesSummary)> =
        captures.iter().filter_map(|capture| Some((capture.condition.as_str(), capture.lines.as_ref()?))).collect();
    let shown = || with.iter().take(CONDITIONS);
    let rows = shown().flat_map(|(name, found)| found.lines.iter().map(|line| (*name, line)));
    (!with.is_empty()).then(|| {
        html! {
            p.note {
                "Accesses to memory that the processor sampled in the capture sample. A load that finds its line in another core's "
                "cache waits for that core: modified there on Intel and AMD, perhaps unmodified on Arm. Where threads use different "
                "bytes of a line, the cause is the layout, not shared data."
            }
            @for (name, found) in shown() {
                p { (name) ": " (waits::shared_lines(found)) "." @if let Some(first) = waits::first_line(found) { " " (first) } }
            }
            (drawn("Cache lines that cores take from each other", None, &tables::lines("condition", rows)))
        }
    })
}

/// Every other build compared with the first; `None` if no build is a factor.
pub(super) fn builds(page: &Page<'_>) -> Option<Markup> {
    let builds = &page.summary.builds;
    let first = builds.first()?;
    let inside: Vec<&BuildComparison> =
        builds.iter().filter(|b| !b.symbols.is_empty() || !b.locks.is_empty()).collect();
    Some(html! {
        p.note {
            (first.metric) " of each build divided by that of " (first.a) ", other levels the same. Intervals are for each ratio alone, "
            "verdicts at 95% over all of them together."
        }
        (drawn("Builds side by side", None, &tables::builds(builds)))
        @for found in inside { (changes(found)) }
    })
}

fn changes(found: &BuildComparison) -> Markup {
    html! {
        details {
            summary { "What changed inside, " (found.a) " to " (found.b) (at(&found.levels)) }
            (changed("Functions, share of the samples", &found.symbols, found))
            (changed("Locks, share of the connections' time waiting", &found.locks, found))
        }
    }
}

fn changed(caption: &str, changed: &[Changed], found: &BuildComparison) -> Markup {
    html! {
        @if !changed.is_empty() {
            (captioned(caption, caption, &[L("name"), R(&found.a), R(&found.b)],
                changed.iter().map(|of| row![of.name, percent(of.a), percent(of.b)])))
        }
    }
}
