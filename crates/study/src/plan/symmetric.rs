//! Placements that the machine's symmetry makes one: which of four like nodes a server is on says nothing new.

use super::resolve::SAY_WHERE;
use std::collections::BTreeMap;
use tare_results::schema::{Plan, PlannedCondition, PlannedPlacement};
use tare_topology::{Machine, Marks, MemoryPolicy};

/// Leaves out every condition that exchanging like parts of the machine turns into an earlier one, with that for its
/// reason. How many these were.
pub fn merge(plan: &mut Plan, on: &Machine) -> usize {
    // What it sets besides, and how it uses the machine -> the first condition of the kind.
    let mut known: BTreeMap<(Vec<(String, String)>, String), String> = BTreeMap::new();
    let mut merged = 0;
    for condition in plan.conditions.iter_mut().filter(|condition| condition.realizable) {
        let others = condition.levels.iter().filter(|(factor, _)| !SAY_WHERE.contains(&factor.as_str()));
        let others = others.map(|(factor, level)| (factor.clone(), level.clone())).collect();
        let kind: (Vec<(String, String)>, String) = (others, use_of(condition, on));
        if let Some(first) = known.get(&kind) {
            condition.realizable = false;
            condition.reason = Some(format!("by the symmetry of this machine the same as {first}"));
            merged += 1;
        } else {
            known.insert(kind, condition.name.clone());
        }
    }
    merged
}

/// How a condition uses the machine, the same for all that differ in the names of its parts alone.
fn use_of(condition: &PlannedCondition, on: &Machine) -> String {
    let word = |key: &str| condition.settings.get(key).map(ToString::to_string).unwrap_or_default();
    let placement = condition.placement.clone().unwrap_or_default();
    let policy = placement.memory.as_deref().and_then(|text| text.parse::<MemoryPolicy>().ok());
    let memory = policy.as_ref().map(MemoryPolicy::nodes).unwrap_or_default();
    let kind = placement.memory.as_deref().and_then(|text| text.split(':').next()).unwrap_or("default");
    let marks = Marks { cpus: marks(&placement), memory };
    // Which of its nodes a pool lies on is not looked at: each policy is a kind of its own.
    let pool = placement.pool_memory.map(|policy| format!("{policy} {}", condition.name)).unwrap_or_default();
    format!("{} {} {kind} {pool} {}", word("placement.bind"), word("placement.pairing"), marks.signature(on))
}

/// How many threads, or sets that threads share, each CPU has of each side.
fn marks(placement: &PlannedPlacement) -> BTreeMap<u32, String> {
    let mut counts: BTreeMap<u32, [usize; 3]> = BTreeMap::new();
    let background = placement.background.clone().into_iter().collect::<Vec<_>>();
    for (side, lists) in [&placement.client, &placement.server, &background].into_iter().enumerate() {
        for cpu in lists.iter().flatten() {
            counts.entry(*cpu as u32).or_default()[side] += 1;
        }
    }
    counts.into_iter().map(|(cpu, [c, s, b])| (cpu, format!("c{c}s{s}b{b}"))).collect()
}
