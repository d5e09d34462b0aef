//! The CPUs of interrupts.

use super::files::CPUS;
use crate::system::System;
use tare_cpuset::CpuSet;

/// The files of all interrupts with their CPUs; those that cannot be read are skipped.
pub(crate) fn all(system: &System) -> Vec<(String, CpuSet)> {
    system
        .names("/proc/irq")
        .iter()
        .filter(|name| name.parse::<u32>().is_ok())
        .filter_map(|name| {
            let path = format!("/proc/irq/{name}/smp_affinity_list");
            let cpus = system.read_optional(&path)?.trim().parse().ok()?;
            Some((path, cpus))
        })
        .collect()
}

/// CPUs that any interrupt may use.
pub(crate) fn reachable(system: &System) -> CpuSet {
    all(system).iter().flat_map(|(_, cpus)| cpus.iter()).collect()
}

/// The files of interrupts that may use one of `cpus`.
pub(crate) fn on_cpus(system: &System, cpus: &CpuSet) -> Vec<String> {
    all(system).into_iter().filter(|(_, list)| !list.intersection(cpus).is_empty()).map(|(path, _)| path).collect()
}

/// The new CPUs of each interrupt that must avoid `cpus`: the rest of its own CPUs, or, if there are none, all other
/// CPUs.
pub(crate) fn moves(system: &System, cpus: &CpuSet) -> Vec<(String, CpuSet)> {
    let others = online(system).difference(cpus);
    all(system)
        .into_iter()
        .filter(|(_, list)| !list.intersection(cpus).is_empty())
        .map(|(path, list)| {
            let own = list.difference(cpus);
            (path, if own.is_empty() { others.clone() } else { own })
        })
        .collect()
}

pub(crate) fn online(system: &System) -> CpuSet {
    system.read_optional(&format!("{CPUS}/online")).and_then(|t| t.trim().parse().ok()).unwrap_or_default()
}
