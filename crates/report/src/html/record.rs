//! How the run was made: the machine and its settings as found and as set, the command that repeats the run, the
//! resolved study, and all trials as tab-separated values.

use super::document::Head::{L, R};
use super::document::{row, scroll, table};
use super::given::Page;
use crate::figures::Scale;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use tare_findings::collect;
use tare_findings::state::{self, State};
use tare_results::Source;
use tare_results::schema::{Outcome, TrialRecord};
use tare_results::server::ServerRecord;
use tare_results::unit::Unit;
use tare_text::count;

/// Up to this many settings are shown unfolded.
const OPEN: usize = 12;

pub(super) fn environment(page: &Page<'_>) -> Option<Markup> {
    let environment = page.results.environment.as_ref()?;
    let machine: [(&str, &str); 4] = [
        ("CPU", &environment.cpu_model),
        ("hypervisor", environment.hypervisor.as_deref().unwrap_or("none seen")),
        ("operating system", &environment.os),
        ("kernel", &environment.kernel),
    ];
    let set = settings(page);
    let uncontrolled = uncontrolled(page);
    Some(html! {
        (table("Table of the environment", &[L("what"), L("original value")], machine.iter().map(|(name, value)| row![name, value])))
        @let found = &environment.settings;
        @if !found.is_empty() {
            details.screen-only open[found.len() <= OPEN] {
                summary { (count(found.len(), "setting")) ", original values" }
                (table("Table of settings", &[L("what"), L("original value")],
                    found.iter().map(|(name, value)| row![name, value])))
            }
        }
        @if let Some(servers) = of_servers(page) { (servers) }
        @if !uncontrolled.is_empty() {
            h3 { "Not controlled: the server ran already" }
            (table("Table of what was not controlled", &[L("what"), L("value")],
                uncontrolled.iter().map(|(what, how)| row![what, how])))
        }
        @if !set.is_empty() {
            h3 { "Set by trials, and verified" }
            (table("Table of settings", &[L("factor"), L("level"), L("found before"), L("read back"),
                R("trials")], set.iter().take(200).map(|((factor, level, found, verified), trials)| row![
                factor, level, found, verified, trials
            ])))
        }
    })
}

/// What no trial set or verified, each once.
fn uncontrolled<'a>(page: &Page<'a>) -> BTreeSet<(&'a str, &'a str)> {
    let lists = page.results.trials.iter().flat_map(|trial| &trial.uncontrolled);
    lists.map(|(what, how)| (what.as_str(), how.as_str())).collect()
}

type Setting<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Each distinct setting, and the number of trials in which it was made.
fn settings<'a>(page: &Page<'a>) -> BTreeMap<Setting<'a>, usize> {
    let mut rows = BTreeMap::new();
    for setting in page.results.trials.iter().flat_map(|trial| &trial.settings) {
        let found = setting.found.as_deref().unwrap_or("–");
        *rows
            .entry((setting.factor.as_str(), setting.level.as_str(), found, setting.verified.as_str()))
            .or_default() += 1;
    }
    rows
}

const LISTED_SETTINGS: usize = 200;

struct Shown<'a> {
    server: &'a ServerRecord,
    conditions: BTreeSet<&'a str>,
}

fn of_servers(page: &Page<'_>) -> Option<Markup> {
    let servers = servers(page);
    if servers.is_empty() {
        return None;
    }
    Some(html! {
        h3 { "Servers" }
        (table("Table of servers", &[L("server"), L("build"), R("buffer pool, MiB"), R("set"), L("program"),
            L("conditions")], servers.iter().map(|shown| row![
            format!("{} {}", shown.server.product, shown.server.version),
            shown.server.build_id.as_ref().and_then(|id| id.get(..12)).unwrap_or("–"),
            shown.server.buffer_pool_bytes.map_or("–".to_owned(), |bytes| (bytes >> 20).to_string()),
            shown.server.changed.len(), shown.server.path, conditions_of(shown)
        ])))
        @for shown in &servers { (settings_of(shown)) }
    })
}

/// Each distinct server, in the order of the trials.
fn servers<'a>(page: &Page<'a>) -> Vec<Shown<'a>> {
    let mut all: Vec<Shown<'a>> = Vec::new();
    for trial in &page.results.trials {
        let Some(server) = &trial.server else { continue };
        let same = |shown: &&mut Shown<'a>| {
            let a = shown.server;
            (&a.path, &a.version, &a.build_id, &a.changed)
                == (&server.path, &server.version, &server.build_id, &server.changed)
        };
        match all.iter_mut().find(same) {
            Some(shown) => drop(shown.conditions.insert(&trial.condition)),
            None => all.push(Shown { server, conditions: BTreeSet::from([trial.condition.as_str()]) }),
        }
    }
    all
}

fn conditions_of(shown: &Shown<'_>) -> String {
    let first: Vec<&str> = shown.conditions.iter().take(3).copied().collect();
    match shown.conditions.len() - first.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

fn settings_of(shown: &Shown<'_>) -> Markup {
    let server = shown.server;
    html! {
        details {
            summary { "How " (server.product) " " (server.version) " was built, started and set (" (conditions_of(shown)) ")" }
            pre.command tabindex="0" { (server.arguments.join(" ")) }
            @if !server.option_files.is_empty() { p { "Option files: " (server.option_files.join(", ")) } }
            @if !server.build.is_empty() { p.note { @for (name, value) in &server.build { (name) ": " (value) br; } } }
            @if !server.changed.is_empty() {
                (table("Table of settings that differ from the defaults", &[L("setting"), L("in the trial"),
                    L("the program's own")], server.changed.iter().take(LISTED_SETTINGS).map(|(name, setting)| row![
                    name, html! { (setting.value) @if let Some(unit) = &setting.unit { " (" (unit) ")" } },
                    setting.default.as_deref().unwrap_or("not reported")
                ])))
            }
        }
    }
}

/// Maximum bytes of embedded values; beyond this only the headline metric is embedded.
const RECORD_BYTES: usize = 300_000;
const LISTED_TRIALS: usize = 250;

pub(super) fn record(page: &Page<'_>) -> Option<Markup> {
    let command = page.results.environment.as_ref().map(|environment| environment.command.as_str());
    let metrics = collect::all_metrics(&page.conditions);
    let mut values = values(page, &metrics);
    let cut = values.len() > RECORD_BYTES;
    if cut {
        values = self::values(page, page.summary.headline_metric.as_slice());
    }
    Some(html! {
        @if let Some(command) = command { p { "This command repeats the run:" } pre.command tabindex="0" { (command) } }
        @if page.results.source == Source::Directory {
            p {
                "Full record, if this file is in its results directory: "
                a href="trials.jsonl" { "trials.jsonl" } ", " a href="plan.json" { "plan.json" } ", "
                a href="environment.json" { "environment.json" } ", " a href="study.toml" { "study.toml" } ", "
                a href="logs/" { "logs" } "."
            }
        }
        @if let Some(study) = &page.results.study_toml {
            details { summary { "The resolved study" } pre tabindex="0" { (study.text) } }
        }
        details {
            summary { "Every trial as tab-separated values" }
            @if cut { p.note { "Only the headline metric, to keep this file small; trials.jsonl has the rest." } }
            pre tabindex="0" { (values) }
        }
    })
}

pub(super) fn trials(page: &Page<'_>) -> Option<Markup> {
    let trials = &page.results.trials;
    let metric = page.summary.headline_metric.as_deref();
    let unit = metric.map_or(Unit::Plain, |metric| tare_results::metric::describe(metric).unit);
    let in_directory = page.results.source == Source::Directory;
    let largest = trials.iter().filter_map(|t| collect::trial_mean(t, metric?)).fold(0.0, f64::max);
    let scale = Scale::new(unit, largest, 4);
    let log = |name: &str, trial: usize, attempt: u32| format!("logs/{name}-{trial:05}-{attempt}.log");
    (!trials.is_empty()).then(|| {
        html! {
            details {
                summary { (count(trials.len(), "attempt")) @if in_directory { ", with links to their logs" } }
                (scroll("Table of trials", &html! {
                    table {
                        thead { tr {
                            th.l.c scope="col" { "trial" } th.l scope="col" { "condition" } th.l.c scope="col" { "state" }
                            th scope="col" { (scale.with_unit(metric.unwrap_or(""))) }
                            th.l scope="col" { "reason" } @if in_directory { th.l.c scope="col" { "logs" } }
                        } }
                        tbody { @for trial in trials.iter().take(LISTED_TRIALS) { tr data-c=(trial.condition) {
                            td.l.c { (trial.trial) @if trial.attempt > 1 { " (" (trial.attempt) ")" } }
                            th scope="row" { (trial.condition) }
                            td.l.c { (word(trial)) }
                            td { @if let Some(mean) = metric.and_then(|m| collect::trial_mean(trial, m)) { (scale.number(mean)) } }
                            td.l { (trial.reason.as_deref().unwrap_or("")) }
                            @if in_directory { td.l.c {
                                a href=(log("trial", trial.trial, trial.attempt)) { "trial" } " "
                                a href=(log("server", trial.trial, trial.attempt)) { "server" }
                            } }
                        } } }
                    }
                }))
                @if trials.len() > LISTED_TRIALS { p.note { "The first " (LISTED_TRIALS) "; trials.jsonl has all." } }
            }
        }
    })
}

fn word(trial: &TrialRecord) -> &'static str {
    match state::of(trial) {
        State::Clean => "clean",
        State::Disturbed(_) if trial.outcome == Outcome::Disturbed => "set aside",
        State::Disturbed(_) => "disturbed",
        State::Failed(_) => "failed",
    }
}

/// One line per trial: number, attempt, condition, outcome, start, mean of each metric.
fn values(page: &Page<'_>, metrics: &[String]) -> String {
    let mut text = format!("trial\tattempt\tcondition\toutcome\tstarted_at\t{}\n", metrics.join("\t"));
    for trial in &page.results.trials {
        let outcome = match trial.outcome {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Disturbed => "disturbed, set aside",
        };
        text.push_str(&format!(
            "{}\t{}\t{}\t{outcome}\t{}",
            trial.trial, trial.attempt, trial.condition, trial.started_at
        ));
        for metric in metrics {
            text.push('\t');
            if let Some(mean) = collect::trial_mean(trial, metric) {
                text.push_str(&significant(mean));
            }
        }
        text.push('\n');
    }
    text
}

/// Six significant digits: more than any benchmark can reproduce.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (5 - value.abs().log10().floor() as i32).clamp(0, 12) as usize;
    if value.abs() >= 1e12 { format!("{value:.5e}") } else { format!("{value:.decimals$}") }
}
