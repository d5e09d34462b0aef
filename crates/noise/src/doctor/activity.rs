//! Findings about the activity of the machine during the doctor's window: of the host, of processes that use CPU time,
//! and device interrupts by CPU.

use super::finding::{Finding, Severity};
use crate::interference::counters;
use crate::setting::{Setting, online_cpus};
use crate::system::System;
use serde::Serialize;
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;

/// Findings from the differences of [`crate::Snapshot::since`] and the processes that ran.
pub(crate) fn findings(system: &System, seen: &BTreeMap<String, f64>, users: &[CpuUser]) -> Vec<Finding> {
    let mut all = vec![load_average(system)];
    let fraction = |name: &'static str, limit: f64, cost: &str| {
        let value = seen.get(name)?;
        let whose = if name == "steal_fraction" { ", as the hypervisor reports" } else { "" };
        let text = format!("{:.2}% of the time{whose}", value * 100.0);
        Some(Finding::check(name, text, *value > limit, cost))
    };
    all.extend(
        [
            fraction("steal_fraction", 0.001, "the hypervisor ran another guest while a task here was runnable")
                .map(|f| f.command(Some("use a host or an instance type without shared CPUs".to_owned()))),
            fraction("psi_cpu_some_fraction", 0.01, "some task waited for a CPU: see the background processes"),
            fraction("psi_io_some_fraction", 0.01, "some task waited for a disk: see the background processes"),
            fraction("psi_memory_some_fraction", 0.001, "some task waited for memory: free some, or use less"),
        ]
        .into_iter()
        .flatten(),
    );
    let mut count = |name: &'static str, cost: &str| {
        if let Some(value) = seen.get(name) {
            all.push(Finding::check(name, format!("{value:.0}"), *value > 0.0, cost));
        }
    };
    count("swap_pages", "memory is short: a page that was swapped out costs a disk read when it is touched");
    count(
        "throttle_events",
        "a CPU is too hot and runs slower until it has cooled: improve the cooling, or switch turbo off",
    );
    all.push(background(users));
    all.extend(irqbalance(system));
    all
}

fn load_average(system: &System) -> Finding {
    let text = system.read_optional("/proc/loadavg").unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().take(3).collect();
    let cpus = online_cpus(system).len().max(1);
    let last_minute = words.first().and_then(|w| w.parse::<f64>().ok());
    let busy = last_minute.is_some_and(|load| load > 0.1 * cpus as f64);
    let value = if words.is_empty() { "not visible".to_owned() } else { format!("{} on {cpus} CPUs", words.join(" ")) };
    Finding::check("load_average", value, busy, "other work ran in the last minute, and may come back")
}

fn background(users: &[CpuUser]) -> Finding {
    let total: f64 = users.iter().map(|u| u.cpu_fraction).sum();
    let greatest: Vec<String> =
        users.iter().take(3).map(|u| format!("{} ({}) {:.0}%", u.name, u.pid, u.cpu_fraction * 100.0)).collect();
    let value = if greatest.is_empty() { "none above 1% of a CPU".to_owned() } else { greatest.join(", ") };
    let stop = users.first().map(|u| format!("kill -STOP {0}; after the benchmark: kill -CONT {0}", u.pid));
    Finding::check(
        "background_cpu",
        value,
        total > 0.05,
        "these take CPU time and cache from whatever shares a CPU, core or cache with them",
    )
    .command(stop)
}

/// The daemon irqbalance, which moves interrupts during a run, including those that `irq_affinity` has moved.
fn irqbalance(system: &System) -> Option<Finding> {
    let runs = |pid: &String| {
        let name = system.read_optional(&format!("/proc/{pid}/comm"));
        name.is_some_and(|n| n.trim() == "irqbalance")
    };
    system.names("/proc").iter().filter(|n| n.parse::<u32>().is_ok()).find(|pid| runs(pid)).map(|pid| {
        Finding::check(
            "irqbalance",
            format!("runs as process {pid}"),
            true,
            "it moves interrupts between CPUs during a run",
        )
        .command(Some("sudo systemctl stop irqbalance".to_owned()))
    })
}

/// A process that used CPU time during the doctor's window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CpuUser {
    /// Its id under /proc.
    pub pid: u32,
    /// Its name in the kernel (at most 15 bytes).
    pub name: String,
    /// CPU time divided by wall-clock time: 1 is one whole CPU.
    pub cpu_fraction: f64,
}

/// CPU time of all processes, in clock ticks.
pub(crate) struct ProcessTimes(BTreeMap<u32, (String, u64)>);

impl ProcessTimes {
    pub(crate) fn take(system: &System) -> Self {
        let processes = system.names("/proc").into_iter().filter_map(|name| {
            let pid: u32 = name.parse().ok()?;
            let stat = counters::parse_process_stat(&system.read_optional(&format!("/proc/{pid}/stat"))?)?;
            Some((pid, (stat.name, stat.ticks)))
        });
        Self(processes.collect())
    }

    /// Processes that used at least 1% of a CPU since `earlier`, the largest first, without this process.
    pub(crate) fn users_since(&self, earlier: &Self, elapsed_s: f64) -> Vec<CpuUser> {
        let ticks = elapsed_s * rustix::param::clock_ticks_per_second() as f64;
        let mut users: Vec<CpuUser> = self
            .0
            .iter()
            .filter(|(pid, _)| **pid != std::process::id())
            .map(|(pid, (name, now))| {
                // A process that started meanwhile has used all of its time since then.
                let before = earlier.0.get(pid).map_or(0, |(_, ticks)| *ticks);
                CpuUser { pid: *pid, name: name.clone(), cpu_fraction: now.saturating_sub(before) as f64 / ticks }
            })
            .filter(|user| user.cpu_fraction >= 0.01 && user.cpu_fraction.is_finite())
            .collect();
        users.sort_by(|a, b| b.cpu_fraction.total_cmp(&a.cpu_fraction));
        users
    }
}

/// Device interrupts so far: by source, by CPU.
pub(crate) struct Interrupts(BTreeMap<String, BTreeMap<u32, u64>>);

impl Interrupts {
    pub(crate) fn take(system: &System) -> Self {
        Self(parse_interrupts(&system.read_optional("/proc/interrupts").unwrap_or_default()))
    }

    /// Rate on `cpus` since `earlier`, with the three busiest sources.
    pub(crate) fn finding(&self, earlier: &Self, system: &System, cpus: &CpuSet, elapsed_s: f64) -> Finding {
        let mut rates: Vec<(f64, &str)> = self
            .0
            .iter()
            .map(|(source, now)| {
                let before = earlier.0.get(source);
                let of_cpu = |cpu| {
                    let count = |counts: &BTreeMap<u32, u64>| counts.get(&cpu).copied().unwrap_or(0);
                    count(now).saturating_sub(before.map_or(0, count))
                };
                (cpus.iter().map(of_cpu).sum::<u64>() as f64 / elapsed_s.max(1e-9), source.as_str())
            })
            .filter(|(rate, _)| *rate > 0.0)
            .collect();
        rates.sort_by(|a, b| b.0.total_cmp(&a.0));
        let total: f64 = rates.iter().map(|(rate, _)| rate).sum();
        let busiest: Vec<String> =
            rates.iter().take(3).map(|(rate, source)| format!("{source}: {rate:.0}/s")).collect();
        let value = match busiest.is_empty() {
            true => format!("0/s on CPUs {cpus}"),
            false => format!("{total:.0}/s on CPUs {cpus} ({})", busiest.join("; ")),
        };
        let severity = match total {
            t if t < 100.0 => Severity::Good,
            t if t < 1_000.0 => Severity::Note,
            _ => Severity::Warning,
        };
        let cost = "each takes some microseconds from the thread it hits, and cache with it";
        Finding::new("interrupts", value, severity, cost).study(system, Setting::IrqAffinity, &format!("cpus:{cpus}"))
    }
}

/// Parses the lines of /proc/interrupts whose name is a number, which are devices. Other interrupts (timers,
/// inter-processor interrupts) cannot be moved.
fn parse_interrupts(text: &str) -> BTreeMap<String, BTreeMap<u32, u64>> {
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default();
    let cpus: Vec<u32> = header.split_whitespace().filter_map(|w| w.strip_prefix("CPU")?.parse().ok()).collect();
    lines
        .filter_map(|line| {
            let (number, rest) = line.split_once(':')?;
            number.trim().parse::<u32>().ok()?;
            let counts: Vec<u64> = rest.split_whitespace().take(cpus.len()).map_while(|w| w.parse().ok()).collect();
            let names: Vec<&str> = rest.split_whitespace().skip(counts.len()).collect();
            // The last word is usually the device: "IR-PCI-MSI 524288-edge nvme0q1".
            let source = format!("{} {}", number.trim(), names.last().unwrap_or(&""));
            Some((source.trim().to_owned(), cpus.iter().copied().zip(counts).collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn readings_become_findings() {
        let dir = tempfile::tempdir().unwrap();
        crate::fake::create(dir.path()).unwrap();
        std::fs::write(dir.path().join("proc/loadavg"), "3.00 2.00 1.00 1/2 3\n").unwrap();
        std::fs::create_dir_all(dir.path().join("proc/77")).unwrap();
        std::fs::write(dir.path().join("proc/77/comm"), "irqbalance\n").unwrap();
        let seen = BTreeMap::from([("steal_fraction".to_owned(), 0.02), ("swap_pages".to_owned(), 0.0)]);
        let users = [CpuUser { pid: 5, name: "updatedb".into(), cpu_fraction: 0.9 }];
        let all = findings(&System::at(dir.path()), &seen, &users);
        let found: Vec<_> = all.iter().map(|f| (f.name, f.value.as_str(), f.severity == Severity::Warning)).collect();
        assert_eq!(
            found,
            [
                ("load_average", "3.00 2.00 1.00 on 4 CPUs", true),
                ("steal_fraction", "2.00% of the time, as the hypervisor reports", true),
                ("swap_pages", "0", false),
                ("background_cpu", "updatedb (5) 90%", true),
                ("irqbalance", "runs as process 77", true),
            ]
        );
    }

    #[test]
    fn processes_are_sorted_by_cpu_use() {
        let of = |list: &[(u32, u64)]| ProcessTimes(list.iter().map(|(p, t)| (*p, (format!("p{p}"), *t))).collect());
        let hz = rustix::param::clock_ticks_per_second();
        let me = std::process::id();
        let users =
            of(&[(1, hz), (2, hz), (3, hz), (me, 9 * hz)]).users_since(&of(&[(1, hz / 2), (2, hz), (me, 0)]), 1.0);
        let found: Vec<_> = users.iter().map(|u| (u.pid, u.cpu_fraction)).collect();
        assert_eq!(found, [(3, 1.0), (1, 0.5)]);
    }

    #[test]
    fn devices_only_and_offline_cpus_missing() {
        let text = "           CPU0       CPU2\n 24:      10       7   PCI-MSI 0-edge  virtio0\n 25: 0 0 x eth0\nLOC:  99  98  Local timer\nERR:  0\n";
        let found = Interrupts(parse_interrupts(text));
        assert_eq!(found.0["24 virtio0"], BTreeMap::from([(0, 10), (2, 7)]));
        assert_eq!(found.0.len(), 2);
        let none = Interrupts(BTreeMap::new());
        let dir = tempfile::tempdir().unwrap();
        crate::fake::create(dir.path()).unwrap();
        let system = System::at(dir.path());
        let finding = found.finding(&none, &system, &CpuSet::from(2), 0.01);
        assert_eq!(finding.value, "700/s on CPUs 2 (24 virtio0: 700/s)");
        assert_eq!(finding.severity, Severity::Note);
        assert_eq!(finding.study.as_deref(), Some("irq_affinity = \"cpus:2\""));
        assert_eq!(found.finding(&found, &system, &CpuSet::from(0), 1.0).severity, Severity::Good);
    }

    proptest! {
        #[test]
        fn never_panics(text in "( CPU[0-9])*\n([ 0-9a-z:]{0,30}\n)*") {
            parse_interrupts(&text);
        }
    }
}
