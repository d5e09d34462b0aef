//! The machine with its threads, one drawing per condition (or per mode if there are two), the table of threads, memory
//! by node, and several machines compared.

use super::document::Head::{L, R};
use super::document::{row, scroll, table};
use super::given::Page;
use crate::charts::machine::Layout;
use crate::figures::figure;
use maud::{Markup, html};
use tare_findings::collect::{self, ConditionTrials};
use tare_findings::condition::MetricSummary;
use tare_findings::hosts::HostRow;
use tare_findings::places::{self, NodeSummary, ThreadSummary};
use tare_results::schema::{ThreadClass, TrialRecord};
use tare_results::unit::Unit;
use tare_text::{count, decimal, percent};

const DRAWINGS: usize = 60;
/// Maximum threads per condition in the table; the rest are counted.
const THREADS: usize = 24;
/// Maximum rows of the table of threads, over all conditions.
const THREAD_ROWS: usize = 1000;

struct Group<'a> {
    condition: &'a str,
    caption: String,
    trials: Vec<&'a TrialRecord>,
}

impl Group<'_> {
    /// The host of the clients, if it is not the machine that is drawn.
    fn clients_elsewhere(&self) -> Option<&str> {
        self.trials.iter().find_map(|trial| Some(trial.client_host.as_ref()?.ran_on.host.as_str()))
    }

    fn not_drawn(&self) -> String {
        self.clients_elsewhere().map_or_else(String::new, |host| format!(", clients on {host} not drawn"))
    }
}

pub(super) fn drawings(page: &Page<'_>) -> Option<Markup> {
    let machine = page.machine.as_ref()?;
    let layout = Layout::new(machine);
    let groups: Vec<Group<'_>> = page.conditions.iter().flat_map(|condition| groups(page, condition)).collect();
    let drawn: Vec<(&Group<'_>, Vec<ThreadSummary>)> = groups
        .iter()
        .map(|group| (group, places::threads_table(&group.trials)))
        .map(|(group, mut threads)| {
            threads.retain(|thread| group.clients_elsewhere().is_none() || thread.class != ThreadClass::Client);
            (group, threads)
        })
        .filter(|(_, threads)| threads.iter().any(|thread| thread.pair.is_some()))
        .take(DRAWINGS)
        .collect();
    (!drawn.is_empty()).then(|| {
        html! {
            (layout.symbol())
            p.note {
                "Where threads were observed, not where they were bound: circles are client threads, squares the server "
                "threads of the same number, dashed lines join them. Paler means observed there less often. The smallest boxes "
                "are PUs: logical CPUs, that is cores or their hardware threads."
            }
            div.machines {
                @for (group, threads) in &drawn {
                    figure data-c=(group.condition) {
                        figcaption {
                            (page.swatch(group.condition)) (group.condition) " "
                            span { (group.caption) (group.not_drawn()) }
                        }
                        (layout.draw(&format!("Threads on the machine, {}", group.condition), threads))
                    }
                }
            }
            @if groups.len() > DRAWINGS { p.note { "The first " (DRAWINGS) " conditions are drawn." } }
        }
    })
}

fn groups<'a>(page: &Page<'_>, condition: &ConditionTrials<'a>) -> Vec<Group<'a>> {
    let all = || Group {
        condition: condition.name,
        caption: count(condition.ok.len(), "trial"),
        trials: condition.ok.clone(),
    };
    let Some(metric) = page.summary.headline_metric.as_deref() else { return vec![all()] };
    let Some(summary) = page.summary.metric(condition.name, metric).filter(|m| m.modes.len() > 1) else {
        return vec![all()];
    };
    let mut groups: Vec<Group<'a>> = summary
        .modes
        .iter()
        .map(|mode| Group {
            condition: condition.name,
            caption: format!("mode of {}", figure(mode.mean, summary.unit)),
            trials: Vec::new(),
        })
        .collect();
    for trial in &condition.ok {
        if let Some(nearest) = collect::trial_mean(trial, metric).and_then(|mean| nearest_mode(summary, mean)) {
            groups[nearest].trials.push(trial);
        }
    }
    groups
        .iter_mut()
        .for_each(|group| group.caption = format!("{}, {}", group.caption, count(group.trials.len(), "trial")));
    groups
}

fn nearest_mode(summary: &MetricSummary, mean: f64) -> Option<usize> {
    let distances = summary.modes.iter().map(|mode| (mode.mean - mean).abs()).enumerate();
    distances.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(index, _)| index)
}

pub(super) fn threads(page: &Page<'_>) -> Option<Markup> {
    let tables: Vec<(&str, Vec<ThreadSummary>)> = page
        .conditions
        .iter()
        .map(|c| (c.name, places::threads_table(&c.ok)))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let per_condition = (THREAD_ROWS / tables.len().max(1)).clamp(2, THREADS);
    let scheduled = tables.iter().any(|(_, rows)| rows.iter().any(|row| row.schedule.is_some()));
    (!tables.is_empty()).then(|| {
        html! {
            p.note { "Means per sample, over all samples of the analysed trials. Seen: share of observations on each \
                      CPU." }
            (scroll("Table of threads", &html! {
                table {
                    thead { tr {
                        th.l scope="col" { "condition" } th.l.c scope="col" { "thread" } th.l.c scope="col" { "allowed CPUs" }
                        th.l scope="col" { "seen on CPU" } th scope="col" { "migrations" } th scope="col" { "voluntary" br; "switches" }
                        th scope="col" { "involuntary" br; "switches" } th scope="col" { "CPU" br; "time, s" }
                        @if scheduled { th scope="col" { "waited" br; "for a CPU" } th scope="col" { "slept" } }
                    } }
                    @for (condition, rows) in &tables { tbody {
                        @for row in rows.iter().take(per_condition) { (thread_row(condition, row, scheduled)) }
                        @if rows.len() > per_condition {
                            tr { th scope="row" { (condition) } td.l colspan=(7 + 2 * usize::from(scheduled)) { "and " (count(rows.len() - per_condition, "more thread")) } }
                        }
                    } }
                }
            }))
        }
    })
}

fn thread_row(condition: &str, row: &ThreadSummary, scheduled: bool) -> Markup {
    let name = match (row.class, row.pair) {
        (ThreadClass::Client, Some(pair)) => format!("client {pair}"),
        (ThreadClass::Connection, Some(pair)) => format!("server {pair}"),
        _ => row.name.clone(),
    };
    let allowed = match row.allowed.iter().collect::<Vec<_>>().as_slice() {
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first} and {}", count(rest.len(), "other set")),
        [] => "–".to_owned(),
    };
    html! {
        tr {
            th scope="row" { (condition) } td.l.c { (name) } td.l.c { (allowed) } td.l { (seen_words(row)) }
            td { (number(row.migrations)) } td { (number(row.voluntary_switches)) } td { (number(row.involuntary_switches)) }
            td { (decimal(row.cpu_s, 2)) }
            @if scheduled {
                @let share = |part: usize| row.schedule.map_or("–".to_owned(), |spent| percent(spent[part]));
                td { (share(1)) } td { (share(2)) }
            }
        }
    }
}

/// `0 (62%), 4 (38%)`, the most frequent first, at most six.
fn seen_words(row: &ThreadSummary) -> String {
    let mut seen: Vec<(usize, f64)> = row.seen.iter().map(|(cpu, share)| (*cpu, *share)).collect();
    seen.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut words: Vec<String> = seen
        .iter()
        .take(6)
        .map(|(cpu, share)| if seen.len() == 1 { cpu.to_string() } else { format!("{cpu} ({})", percent(*share)) })
        .collect();
    if seen.len() > 6 {
        words.push(format!("{} more", seen.len() - 6));
    }
    if words.is_empty() { "never seen running".to_owned() } else { words.join(", ") }
}

fn number(value: f64) -> String {
    if value >= 100.0 || value == 0.0 { decimal(value, 0) } else { decimal(value, 1) }
}

/// Maximum rows of the table; for a study of many conditions `tare show --json` has the rest.
const ROWS: usize = 400;

/// Where the server's memory was; `None` on a machine with a single node.
pub(super) fn nodes(page: &Page<'_>) -> Option<Markup> {
    let nodes = &page.summary.nodes;
    (!nodes.is_empty()).then(|| {
        html! {
            p.note {
                "Means over samples. Pages of the whole machine: allocated on this node as requested (hit), here because "
                "another node was full (miss), or here for a thread of another node (other)."
            }
            (table("Memory by node", &[L("condition"), R("node"), R("server's memory"), R("share"), R("hit, pages"),
                R("miss, pages"), R("other, pages")], nodes.iter().take(ROWS).map(|node| row![
                node.condition, node.node, figure(node.server_bytes, Unit::Bytes), percent(share(node, nodes)),
                decimal(node.hit_pages, 0), decimal(node.miss_pages, 0), decimal(node.other_pages, 0)
            ])))
        }
    })
}

fn share(node: &NodeSummary, nodes: &[NodeSummary]) -> f64 {
    let all: f64 = nodes.iter().filter(|other| other.condition == node.condition).map(|other| other.server_bytes).sum();
    if all > 0.0 { node.server_bytes / all } else { 0.0 }
}

fn differs_in(host: &HostRow) -> &'static str {
    match (host.odd_level, host.odd_spread) {
        (true, true) => "level and spread",
        (true, false) => "level",
        (false, true) => "spread",
        (false, false) => "",
    }
}

/// `None` if all trials ran on one machine.
pub(super) fn hosts(page: &Page<'_>) -> Option<Markup> {
    let hosts = page.summary.machines.as_ref()?;
    let covs = hosts.between_cov.zip(hosts.within_cov);
    Some(html! {
        p.note {
            "Each block ran on one machine, so comparisons of conditions contain no differences between machines."
            @if let Some((between, within)) = covs {
                " Coefficient of variation between machines " (percent(between)) ", between blocks of one machine " (percent(within)) "."
            }
        }
        (table("Machines side by side", &[L("machine"), R("blocks"), R("trials"), R("against the others"),
            R("95% interval"), R("spread in a block"), L("differs in")], hosts.rows.iter().map(|host| row![
            host.name, host.blocks, host.trials,
            host.ratio.map(|ratio| format!("{}x", decimal(ratio, 3))).unwrap_or_default(),
            host.ci.map(|ci| format!("{} to {}", decimal(ci.low, 3), decimal(ci.high, 3))).unwrap_or_default(),
            host.spread.map(percent).unwrap_or_default(), differs_in(host)
        ])))
    })
}
