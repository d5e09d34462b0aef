//! The machine and its settings as found, and what trials set and verified.

use super::given::Page;
use super::scroll::Head::{L, R};
use super::scroll::{row, table};
use super::servers;
use maud::{Markup, html};
use std::collections::{BTreeMap, BTreeSet};
use tare_findings::figures::count;

/// Settings up to which they are shown unfolded.
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
        (table("Table of the environment", &[L("what"), L("as found")], machine.iter().map(|(name, value)| row![name, value])))
        @let found = &environment.settings;
        @if !found.is_empty() {
            details.screen-only open[found.len() <= OPEN] {
                summary { (count(found.len(), "setting")) " as found" }
                (table("Table of settings as found", &[L("what"), L("as found")],
                    found.iter().map(|(name, value)| row![name, value])))
            }
        }
        @if let Some(servers) = servers::section(page) { (servers) }
        @if !uncontrolled.is_empty() {
            h3 { "Not controlled: the server ran already" }
            (table("Table of what was not controlled", &[L("what"), L("how it is")],
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

/// What no trial set or proved, once each.
fn uncontrolled<'a>(page: &Page<'a>) -> BTreeSet<(&'a str, &'a str)> {
    let lists = page.results.trials.iter().flat_map(|trial| &trial.uncontrolled);
    lists.map(|(what, how)| (what.as_str(), how.as_str())).collect()
}

type Setting<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Each distinct setting and in how many trials it was made.
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
