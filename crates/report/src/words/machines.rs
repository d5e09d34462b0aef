//! Sentences on machines: several in one study, clients on another host than their server, and the cost of distance.

use crate::figures::{change, changes};
use std::collections::BTreeMap;
use tare_findings::collect::ConditionTrials;
use tare_findings::factors::words_of;
use tare_findings::hosts::{HostRow, Hosts};
use tare_findings::placement::{Cost, DistanceCost, PER_NS};
use tare_results::covariate::CLIENT_HOST;
use tare_results::schema::ClientHost;
use tare_text::{count, decimal, percent};

pub(super) fn differing_machines(hosts: &Hosts) -> Vec<String> {
    let mut message: Vec<String> = hosts.rows.iter().filter(|row| row.odd_level).filter_map(level_sentence).collect();
    message.extend(hosts.rows.iter().filter(|row| row.odd_spread).map(|row| {
        let spread = row.spread.map_or(String::new(), |spread| format!(" (spread within a block {})", percent(spread)));
        format!("{} varies more or less than the other machines{spread}.", row.name)
    }));
    message.extend(hosts.rows.iter().filter(|row| row.open_level).filter_map(open_level));
    message.extend(hosts.rows.iter().map(|row| (row, differs(row))).filter(|(_, differs)| !differs.is_empty()).map(
        |(row, differs)| {
            format!("{} is set up differently from {}: {}.", row.name, hosts.rows[0].name, differs.join("; "))
        },
    ));
    message
}

/// What differs from the first machine.
pub(crate) fn differs(row: &HostRow) -> Vec<String> {
    let settings = row.differences.iter().map(|found| {
        let here = if found.b.is_empty() { "(none)" } else { &found.b };
        format!("{} {here} in place of {}", found.what, found.a)
    });
    row.changes.iter().map(ToString::to_string).chain(settings).collect()
}

fn open_level(row: &HostRow) -> Option<String> {
    Some(format!(
        "{} measures {:.3}x what the other machines do. Whether it differs from them is not shown: blocks that are \
         like the ones before them differ as much by chance.",
        row.name, row.ratio?
    ))
}

fn level_sentence(row: &HostRow) -> Option<String> {
    let (ratio, ci) = (row.ratio?, row.ci?);
    Some(format!(
        "{} measures {ratio:.3}x what the other machines do ({:.3} to {:.3}); conditions are compared only within \
         machines.",
        row.name, ci.low, ci.high
    ))
}

/// Prefixes of names of covariates, and what they count.
const COUNTS: [(&str, &str); 2] =
    [("network_receiving_cpu", "packets received on"), ("network_interrupts_cpu", "interrupts of network devices on")];

/// Maximum CPUs named in a sentence.
const NAMED: usize = 4;

/// A sentence for each host of clients, and one for the network of both; empty if clients were on the host of their
/// server.
pub(super) fn client_hosts(conditions: &[ConditionTrials<'_>]) -> Vec<String> {
    let trials: Vec<_> = conditions.iter().flat_map(|c| &c.ok).filter(|trial| trial.client_host.is_some()).collect();
    let mut hosts: BTreeMap<&str, Vec<&ClientHost>> = BTreeMap::new();
    for host in trials.iter().filter_map(|trial| trial.client_host.as_ref()) {
        hosts.entry(&host.ran_on.host).or_default().push(host);
    }
    let mut sentences: Vec<String> = hosts.iter().filter_map(|(name, all)| of_host(name, all)).collect();
    let samples = || trials.iter().flat_map(|trial| &trial.samples);
    for (side, beginning) in [("the server's host", ""), ("the clients' host", CLIENT_HOST)] {
        let parts: Vec<String> = COUNTS
            .iter()
            .filter_map(|(name, what)| {
                let beginning = format!("{beginning}{name}");
                let counts = samples().flat_map(|sample| &sample.covariates);
                let of_cpus = counts.filter_map(|(name, count)| Some((name.strip_prefix(&beginning)?, *count)));
                Some(format!("{what} {}", cpus(of_cpus)?))
            })
            .collect();
        if !parts.is_empty() {
            sentences.push(format!("Network of {side}: {}.", parts.join("; ")));
        }
    }
    sentences
}

fn of_host(name: &str, all: &[&ClientHost]) -> Option<String> {
    // The measurement with the smallest uncertainty gives the best estimate of the offset.
    let best = all.iter().min_by(|a, b| a.clock_uncertainty_s.total_cmp(&b.clock_uncertainty_s))?;
    let (offset_ms, known_ms) = (1e3 * best.clock_offset_s, 1e3 * best.clock_uncertainty_s);
    let ahead = if offset_ms < 0.0 { "behind" } else { "ahead of" };
    Some(format!(
        "The clients ran on {name} ({}), its clock {} ms {ahead} the server's host's (±{} ms).",
        best.requested,
        decimal(offset_ms.abs(), 2),
        decimal(known_ms, 2)
    ))
}

/// `CPU 3 (98%), CPU 0 (2%)`, the largest shares first; `None` if nothing was counted.
fn cpus<'a>(counts: impl Iterator<Item = (&'a str, f64)>) -> Option<String> {
    let mut by_cpu: BTreeMap<&str, f64> = BTreeMap::new();
    for (cpu, count) in counts {
        *by_cpu.entry(cpu).or_default() += count;
    }
    let all: f64 = by_cpu.values().sum();
    let mut most: Vec<_> = by_cpu.into_iter().collect();
    most.sort_by(|a, b| b.1.total_cmp(&a.1));
    let more = most.len().saturating_sub(NAMED);
    let words = most.iter().take(NAMED).map(|(cpu, count)| format!("CPU {cpu} ({:.0}%)", 100.0 * count / all));
    let mut words = words.collect::<Vec<_>>().join(", ");
    if more > 0 {
        words.push_str(&format!(" and {more} more"));
    }
    (all > 0.0 && all.is_finite()).then_some(words)
}

/// "Each 100 ns that a cache line takes between client and server, there and back, changes tps by -6.1% (95% interval
/// -7.2% to -5.0%).", with how well the line fits.
pub(crate) fn distance(found: &DistanceCost) -> String {
    let at = if found.levels.is_empty() { String::new() } else { format!("At {}: ", words_of(&found.levels)) };
    let of = |cost: &Option<Cost>, what: &str| {
        cost.as_ref().map(|cost| {
            let shown = if cost.shown { "" } else { ", which is not shown to be a cost" };
            let interval = cost.ci.map_or(String::new(), |ci| format!(" (95% interval {})", changes(ci)));
            format!(
                "Each {PER_NS:.0} ns that {what} corresponds to {} of {}{interval}{shown}. ",
                change(cost.change),
                found.metric
            )
        })
    };
    let line = of(&found.line, "a cache line takes between client and server, there and back,").unwrap_or_default();
    let memory = of(&found.memory, "a load takes from the server to its memory").unwrap_or_default();
    format!(
        "{at}{line}{memory}This explains {} of what {} differ by.",
        percent(found.r_squared),
        count(found.conditions, "condition")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_that_worked_most_come_first_and_few_are_named() {
        let counts = [("0", 1.0), ("3", 98.0), ("0", 1.0)];
        assert_eq!(cpus(counts.into_iter()).unwrap(), "CPU 3 (98%), CPU 0 (2%)");
        assert_eq!(cpus([("1", 0.0)].into_iter()), None);
        assert_eq!(cpus([("1", 1e308), ("0", 1e308)].into_iter()), None);
        let many = ["0", "1", "2", "3", "4", "5"].map(|cpu| (cpu, 1.0));
        assert!(cpus(many.into_iter()).unwrap().ends_with(" and 2 more"));
    }
}
