//! The machine and its settings as found, and the settings that trials made and verified.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{row, table};
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use tare_results::server::ServerRecord;
use tare_text::count;

/// Up to this many settings are shown unfolded.
const OPEN: usize = 12;

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
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

const LISTED: usize = 200;

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
            shown.server.changed.len(), shown.server.path, conditions(shown)
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

fn conditions(shown: &Shown<'_>) -> String {
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
            summary { "How " (server.product) " " (server.version) " was built, started and set (" (conditions(shown)) ")" }
            pre.command tabindex="0" { (server.arguments.join(" ")) }
            @if !server.option_files.is_empty() { p { "Option files: " (server.option_files.join(", ")) } }
            @if !server.build.is_empty() { p.note { @for (name, value) in &server.build { (name) ": " (value) br; } } }
            @if !server.changed.is_empty() {
                (table("Table of settings that differ from the defaults", &[L("setting"), L("in the trial"),
                    L("the program's own")], server.changed.iter().take(LISTED).map(|(name, setting)| row![
                    name, html! { (setting.value) @if let Some(unit) = &setting.unit { " (" (unit) ")" } },
                    setting.default.as_deref().unwrap_or("not reported")
                ])))
            }
        }
    }
}
