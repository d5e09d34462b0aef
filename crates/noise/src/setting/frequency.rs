//! Fixed frequencies (equal lower and upper bounds in every frequency domain), and idle states.

use super::Setting;
use super::files::{self, policies};
use crate::error::{NoiseError, Result};
use crate::system::System;
use std::collections::BTreeMap;

const MIN: &str = "scaling_min_freq";
const MAX: &str = "scaling_max_freq";

pub(super) fn is_level(text: &str) -> bool {
    let mhz = text.parse::<u32>().is_ok_and(|mhz| mhz > 0 && mhz.to_string() == text);
    mhz || ["lowest", "highest"].contains(&text)
}

fn khz(system: &System, policy: &str, name: &str) -> Option<u64> {
    system.read_optional(&format!("{policy}/{name}"))?.trim().parse().ok()
}

/// The frequency of a domain for a level, kHz; `None` if it does not support that frequency.
fn wanted(system: &System, policy: &str, level: &str) -> Option<u64> {
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
fn domains(system: &System) -> Vec<String> {
    policies(system).into_iter().filter(|policy| system.exists(&format!("{policy}/{MIN}"))).collect()
}

/// Why this machine does not support a level, apart from permissions.
pub(super) fn lacking(system: &System, level: &str) -> Option<String> {
    domains(system).iter().find(|policy| wanted(system, policy, level).is_none()).map(|policy| {
        let mhz = |name| khz(system, policy, name).map_or("?".to_owned(), |khz| (khz / 1000).to_string());
        let (least, most) = (mhz("cpuinfo_min_freq"), mhz("cpuinfo_max_freq"));
        let name = policy.rsplit('/').next().unwrap_or(policy);
        format!("the CPUs of {name} have no {level} MHz: they have {least} to {most}, some drivers only a few between")
    })
}

/// The bounds of all domains, MHz: one number for a fixed frequency, `800-3600` otherwise.
pub(super) fn read(system: &System) -> Result<String> {
    let mut found: Vec<String> = Vec::new();
    for policy in domains(system) {
        let mhz = |name: &str| {
            system.read(&format!("{policy}/{name}")).map(|text| text.trim().parse::<u64>().unwrap_or(0) / 1000)
        };
        let (low, high) = (mhz(MIN)?, mhz(MAX)?);
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
pub(super) fn is_held(system: &System, level: &str) -> bool {
    let all = domains(system);
    !all.is_empty()
        && all.iter().all(|policy| {
            let wanted = wanted(system, policy, level);
            wanted.is_some() && [MIN, MAX].iter().all(|name| khz(system, policy, name) == wanted)
        })
}

/// Files and values, in the order of undoing; writing is in the reverse order. The kernel refuses a lower bound above
/// the upper one, so for a frequency above the present bounds the upper bound is written first.
pub(super) fn writes(system: &System, level: &str) -> Vec<(String, String)> {
    let mut writes = Vec::new();
    for policy in domains(system) {
        let Some(wanted) = wanted(system, &policy, level) else { continue };
        let is_above = khz(system, &policy, MAX).is_some_and(|high| wanted > high);
        let order = if is_above { [MIN, MAX] } else { [MAX, MIN] };
        writes.extend(order.map(|name| (format!("{policy}/{name}"), wanted.to_string())));
    }
    writes
}

/// Whether a text may be the name of an idle state. Whether this machine has it is checked later.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The idle states by name, with their exit latency, us: the largest of all CPUs, which may be of several kinds.
pub(super) fn states(system: &System) -> BTreeMap<String, i32> {
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
pub(crate) fn latency_us(system: &System, name: &str) -> Option<i32> {
    states(system).get(name).copied()
}

/// The level that corresponds to a latency limit in microseconds.
pub(super) fn level(system: &System, us: i32) -> String {
    if us == 0 {
        return "off".to_owned();
    }
    let states = states(system);
    let deepest = states.values().copied().max().unwrap_or(0);
    let allowed = states.iter().filter(|(_, latency)| **latency <= us && **latency > 0).max_by_key(|(_, us)| **us);
    match allowed {
        Some((name, _)) if us <= deepest => name.clone(),
        // Only polling is allowed.
        None if us < deepest => "off".to_owned(),
        _ => "on".to_owned(),
    }
}
