//! Idle states: which there are, and the latency that must be asked for so that no deeper one is entered.

use super::files::CPUS;
use crate::system::System;
use std::collections::BTreeMap;

/// Whether it may be the name of a state; whether this machine has it is seen later.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// The states by name with the time it takes to leave them, us: the largest of all CPUs, which may be of several kinds.
pub(super) fn states(system: &System) -> BTreeMap<String, i32> {
    let mut states: BTreeMap<String, i32> = BTreeMap::new();
    let is_cpu = |name: &&String| name.strip_prefix("cpu").is_some_and(|digits| digits.parse::<u32>().is_ok());
    for cpu in system.names(CPUS).iter().filter(is_cpu) {
        let folder = format!("{CPUS}/{cpu}/cpuidle");
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

/// The latency to ask for, us, so that this state may be entered and no deeper one.
pub(crate) fn latency_us(system: &System, name: &str) -> Option<i32> {
    states(system).get(name).copied()
}

/// The level that a request of so many microseconds comes to.
pub(super) fn level(system: &System, us: i32) -> String {
    if us == 0 {
        return "off".to_owned();
    }
    let states = states(system);
    let deepest = states.values().copied().max().unwrap_or(0);
    let allowed = states.iter().filter(|(_, latency)| **latency <= us && **latency > 0).max_by_key(|(_, us)| **us);
    match allowed {
        Some((name, _)) if us <= deepest => name.clone(),
        // Shallower than every state but polling.
        None if us < deepest => "off".to_owned(),
        _ => "on".to_owned(),
    }
}
