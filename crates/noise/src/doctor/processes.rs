//! Processes that use CPU time during the doctor's window.

use crate::process_stat;
use crate::system::System;
use serde::Serialize;
use std::collections::BTreeMap;

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
            let stat = process_stat::parse(&system.read_optional(&format!("/proc/{pid}/stat"))?)?;
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
