//! The servers that were measured: builds, memory, and what was set to something else than their own defaults.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{row, table};
use maud::{Markup, html};
use std::collections::BTreeSet;
use tare_results::server::ServerRecord;

const LISTED: usize = 200;

/// A server and the conditions that it served.
struct Shown<'a> {
    server: &'a ServerRecord,
    conditions: BTreeSet<&'a str>,
}

pub(super) fn section(page: &Page<'_>) -> Option<Markup> {
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
        @for shown in &servers { (settings(shown)) }
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

fn settings(shown: &Shown<'_>) -> Markup {
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
                    setting.default.as_deref().unwrap_or("not told")
                ])))
            }
        }
    }
}
