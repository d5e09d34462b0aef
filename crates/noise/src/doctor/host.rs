//! Findings about the activity of the machine during the doctor's window.

use super::finding::Finding;
use super::processes::CpuUser;
use crate::setting::online_cpus;
use crate::system::System;
use std::collections::BTreeMap;

/// Findings from the differences of [`crate::Snapshot::since`] and the processes that ran.
pub(crate) fn findings(system: &System, seen: &BTreeMap<String, f64>, users: &[CpuUser]) -> Vec<Finding> {
    let mut all = vec![load(system)];
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

fn load(system: &System) -> Finding {
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

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

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
}
