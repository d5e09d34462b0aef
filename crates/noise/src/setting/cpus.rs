//! How the CPUs are set: fixed frequencies (equal lower and upper bounds in every frequency domain), idle states, the
//! CPUs of interrupts, and the CPU shield.

use super::Setting;
use super::files::{self, CPUS, policies};
use crate::error::{NoiseError, Result};
use crate::journal::Format;
use crate::system::System;
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;

const MIN_FREQUENCY: &str = "scaling_min_freq";
const MAX_FREQUENCY: &str = "scaling_max_freq";

pub(super) fn is_frequency(text: &str) -> bool {
    let mhz = text.parse::<u32>().is_ok_and(|mhz| mhz > 0 && mhz.to_string() == text);
    mhz || ["lowest", "highest"].contains(&text)
}

fn khz(system: &System, policy: &str, name: &str) -> Option<u64> {
    system.read_optional(&format!("{policy}/{name}"))?.trim().parse().ok()
}

/// The frequency of a domain for a level, kHz; `None` if it does not support that frequency.
fn wanted_khz(system: &System, policy: &str, level: &str) -> Option<u64> {
    let (least, most) = (khz(system, policy, "cpuinfo_min_freq")?, khz(system, policy, "cpuinfo_max_freq")?);
    let mhz: u64 = match level {
        "lowest" => return Some(least),
        "highest" => return Some(most),
        mhz => mhz.parse().ok()?,
    };
    // Drivers with a table of frequencies list them; they may not be whole numbers of MHz.
    let listed = system.read_optional(&format!("{policy}/scaling_available_frequencies")).unwrap_or_default();
    let mut listed = listed.split_whitespace().filter_map(|khz| khz.parse::<u64>().ok()).peekable();
    match listed.peek() {
        Some(_) => listed.find(|khz| (khz + 500) / 1000 == mhz),
        None => Some(mhz * 1000).filter(|khz| (least..=most).contains(khz)),
    }
}

/// The frequency domains of this machine that have bounds.
fn frequency_domains(system: &System) -> Vec<String> {
    policies(system).into_iter().filter(|policy| system.exists(&format!("{policy}/{MIN_FREQUENCY}"))).collect()
}

/// Why this machine does not support a level, apart from permissions.
pub(super) fn lacking_frequency(system: &System, level: &str) -> Option<String> {
    frequency_domains(system).iter().find(|policy| wanted_khz(system, policy, level).is_none()).map(|policy| {
        let mhz = |name| khz(system, policy, name).map_or("?".to_owned(), |khz| (khz / 1000).to_string());
        let (least, most) = (mhz("cpuinfo_min_freq"), mhz("cpuinfo_max_freq"));
        let name = policy.rsplit('/').next().unwrap_or(policy);
        format!("the CPUs of {name} have no {level} MHz: they have {least} to {most}, some drivers only a few between")
    })
}

/// The bounds of all domains, MHz: one number for a fixed frequency, `800-3600` otherwise.
pub(super) fn read_frequency(system: &System) -> Result<String> {
    let mut found: Vec<String> = Vec::new();
    for policy in frequency_domains(system) {
        let mhz = |name: &str| {
            system.read(&format!("{policy}/{name}")).map(|text| text.trim().parse::<u64>().unwrap_or(0) / 1000)
        };
        let (low, high) = (mhz(MIN_FREQUENCY)?, mhz(MAX_FREQUENCY)?);
        let text = if low == high { low.to_string() } else { format!("{low}-{high}") };
        if !found.contains(&text) {
            found.push(text);
        }
    }
    if found.is_empty() {
        return Err(NoiseError::NotAvailable {
            setting: Setting::Frequency.name(),
            level: "any level".to_owned(),
            reason: files::missing(Setting::Frequency).to_owned(),
        });
    }
    Ok(found.join("+"))
}

/// Whether every domain is fixed at the level.
pub(super) fn is_frequency_held(system: &System, level: &str) -> bool {
    let all = frequency_domains(system);
    !all.is_empty()
        && all.iter().all(|policy| {
            let wanted = wanted_khz(system, policy, level);
            wanted.is_some() && [MIN_FREQUENCY, MAX_FREQUENCY].iter().all(|name| khz(system, policy, name) == wanted)
        })
}

/// Files and values, in the order of undoing; writing is in the reverse order. The kernel refuses a lower bound above
/// the upper one, so for a frequency above the present bounds the upper bound is written first.
pub(super) fn frequency_writes(system: &System, level: &str) -> Vec<(String, String)> {
    let mut writes = Vec::new();
    for policy in frequency_domains(system) {
        let Some(wanted) = wanted_khz(system, &policy, level) else { continue };
        let is_above = khz(system, &policy, MAX_FREQUENCY).is_some_and(|high| wanted > high);
        let order = if is_above { [MIN_FREQUENCY, MAX_FREQUENCY] } else { [MAX_FREQUENCY, MIN_FREQUENCY] };
        writes.extend(order.map(|name| (format!("{policy}/{name}"), wanted.to_string())));
    }
    writes
}

/// Whether a text may be the name of an idle state. Whether this machine has it is checked later.
pub(super) fn is_idle_state(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The idle states by name, with their exit latency, us: the largest of all CPUs, which may be of several kinds.
pub(super) fn idle_states(system: &System) -> BTreeMap<String, i32> {
    let mut states: BTreeMap<String, i32> = BTreeMap::new();
    for cpu in files::cpus(system) {
        let folder = format!("{cpu}/cpuidle");
        for state in system.names(&folder) {
            let read = |file: &str| system.read_optional(&format!("{folder}/{state}/{file}"));
            let (Some(name), Some(us)) = (read("name"), read("latency").and_then(|us| us.trim().parse().ok())) else {
                continue;
            };
            let latest = states.entry(name.trim().to_owned()).or_insert(us);
            *latest = us.max(*latest);
        }
    }
    states
}

/// The latency limit, us, that allows this idle state and no deeper one.
pub(crate) fn idle_latency_us(system: &System, name: &str) -> Option<i32> {
    idle_states(system).get(name).copied()
}

/// The level that corresponds to a latency limit in microseconds.
pub(super) fn idle_level(system: &System, us: i32) -> String {
    if us == 0 {
        return "off".to_owned();
    }
    let states = idle_states(system);
    let deepest = states.values().copied().max().unwrap_or(0);
    let allowed = states.iter().filter(|(_, latency)| **latency <= us && **latency > 0).max_by_key(|(_, us)| **us);
    match allowed {
        Some((name, _)) if us <= deepest => name.clone(),
        // Only polling is allowed.
        None if us < deepest => "off".to_owned(),
        _ => "on".to_owned(),
    }
}

/// The files of all interrupts with their CPUs; those that cannot be read are skipped.
pub(crate) fn interrupts(system: &System) -> Vec<(String, CpuSet)> {
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
pub(crate) fn reached_by_interrupts(system: &System) -> CpuSet {
    interrupts(system).iter().flat_map(|(_, cpus)| cpus.iter()).collect()
}

/// The files of interrupts that may use one of `cpus`.
pub(crate) fn interrupts_on(system: &System, cpus: &CpuSet) -> Vec<String> {
    interrupts(system)
        .into_iter()
        .filter(|(_, list)| !list.intersection(cpus).is_empty())
        .map(|(path, _)| path)
        .collect()
}

/// The new CPUs of each interrupt that must avoid `cpus`: the rest of its own CPUs, or, if there are none, all other
/// CPUs.
pub(crate) fn interrupt_moves(system: &System, cpus: &CpuSet) -> Vec<(String, CpuSet)> {
    let others = online_cpus(system).difference(cpus);
    interrupts(system)
        .into_iter()
        .filter(|(_, list)| !list.intersection(cpus).is_empty())
        .map(|(path, list)| {
            let own = list.difference(cpus);
            (path, if own.is_empty() { others.clone() } else { own })
        })
        .collect()
}

pub(crate) fn online_cpus(system: &System) -> CpuSet {
    system.read_optional(&format!("{CPUS}/online")).and_then(|t| t.trim().parse().ok()).unwrap_or_default()
}

/// Root of cgroup v2.
pub(crate) const CGROUP: &str = "/sys/fs/cgroup";
/// The CPU shield: a group directly below the root of cgroup v2 whose cpuset is a partition, so that no other group can
/// use its CPUs (kernel documentation, admin-guide/cgroup-v2, cpuset.cpus.partition).
pub(crate) const SHIELD: &str = "/sys/fs/cgroup/tare.shield";

/// The present level. If the kernel does not accept the partition, the text has the kernel's reason.
pub(crate) fn read_shield(system: &System) -> Result<String> {
    if !system.exists(SHIELD) {
        return Ok("off".to_owned());
    }
    let state = system.read(&format!("{SHIELD}/cpuset.cpus.partition"))?;
    let cpus = Format::CpuList.value(&system.read(&format!("{SHIELD}/cpuset.cpus"))?);
    match state.trim() {
        "root" => Ok(format!("cpus:{cpus}")),
        other => Ok(format!("{other} (cpus:{cpus})")),
    }
}

/// Why this machine cannot shield CPUs, if so.
pub(crate) fn lacking_for_shield(system: &System) -> Option<&'static str> {
    let Some(controllers) = system.read_optional(&format!("{CGROUP}/cgroup.controllers")) else {
        return Some(
            "this machine runs cgroup v1, which has no cpuset partitions; boot with systemd.unified_cgroup_hierarchy=1",
        );
    };
    let has = controllers.split_whitespace().any(|c| c == "cpuset");
    (!has).then_some("cgroup v2 has no cpuset controller here")
}
