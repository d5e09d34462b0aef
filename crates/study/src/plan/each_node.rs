//! Expands levels that mean one level per node, for example for a study of every pair of nodes of any machine.

use super::resolve::SAY_WHERE;
use crate::language::spec::{Factor, Study};
use std::collections::BTreeMap;
use tare_results::schema::{Plan, PlannedCondition, PlannedPlacement};
use tare_text::Value;
use tare_topology::{Location, Machine, Marks, MemoryPolicy};

/// Factors whose levels are locations, and the factor whose levels are memory policies.
const LOCATIONS: [&str; 3] = ["client", "server", "background"];
const MEMORY: &str = "memory";

/// Replaces `node:each` and `bind:each` by the levels for this machine. Returns notes with these levels.
pub(super) fn spell_out(study: &mut Study, on: &Machine) -> Result<Vec<String>, String> {
    let mut notes = Vec::new();
    for factor in study.factors.iter_mut().chain(study.conditions.iter_mut().flatten()) {
        let mut levels = Vec::new();
        for level in &factor.levels {
            match of_each(factor, level, on)? {
                None => levels.push(level.clone()),
                Some(each) => {
                    notes.push(format!("{}={level} is {} here", factor.name, each.join(", ")));
                    levels.extend(each.into_iter().map(Value::from));
                }
            }
        }
        factor.levels = levels;
    }
    Ok(notes)
}

fn of_each(factor: &Factor, level: &Value, on: &Machine) -> Result<Option<Vec<String>>, String> {
    let text = level.to_string();
    if LOCATIONS.contains(&factor.name.as_str())
        && let Ok(location) = text.parse::<Location>()
    {
        let each = location.of_each_node(on).map_err(|e| e.reason)?;
        return Ok(each.map(|each| each.iter().map(Location::to_string).collect()));
    }
    if factor.name == MEMORY
        && let Ok(policy) = text.parse::<MemoryPolicy>()
    {
        return Ok(policy.of_each_node(on).map(|each| each.iter().map(MemoryPolicy::to_string).collect()));
    }
    Ok(None)
}

/// Leaves out every condition that equals an earlier one after exchanging symmetric parts of the machine, and records
/// that reason. Returns their number.
pub fn merge_symmetric(plan: &mut Plan, on: &Machine) -> usize {
    // Its other levels, and how it uses the machine -> the first such condition.
    let mut known: BTreeMap<(Vec<(String, String)>, String), String> = BTreeMap::new();
    let mut merged = 0;
    for condition in plan.conditions.iter_mut().filter(|condition| condition.realizable) {
        let others = condition.levels.iter().filter(|(factor, _)| !SAY_WHERE.contains(&factor.as_str()));
        let others = others.map(|(factor, level)| (factor.clone(), level.clone())).collect();
        let kind: (Vec<(String, String)>, String) = (others, use_of(condition, on));
        if let Some(first) = known.get(&kind) {
            condition.realizable = false;
            condition.reason = Some(format!("equivalent to {first} by the symmetry of this machine"));
            merged += 1;
        } else {
            known.insert(kind, condition.name.clone());
        }
    }
    merged
}

/// How a condition uses the machine; the same text for conditions that differ only in the names of symmetric parts.
fn use_of(condition: &PlannedCondition, on: &Machine) -> String {
    let word = |key: &str| condition.settings.get(key).map(ToString::to_string).unwrap_or_default();
    let placement = condition.placement.clone().unwrap_or_default();
    let policy = placement.memory.as_deref().and_then(|text| text.parse::<MemoryPolicy>().ok());
    let memory = policy.as_ref().map(MemoryPolicy::nodes).unwrap_or_default();
    let kind = placement.memory.as_deref().and_then(|text| text.split(':').next()).unwrap_or("default");
    let marks = Marks { cpus: marks(&placement), memory };
    // The nodes of a pool are not compared: each policy is a class of its own.
    let pool = placement.pool_memory.map(|policy| format!("{policy} {}", condition.name)).unwrap_or_default();
    format!("{} {} {kind} {pool} {}", word("placement.bind"), word("placement.pairing"), marks.signature(on))
}

/// For each CPU the number of threads, or of CPU sets shared by threads, of each side.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::builtin;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};
    use crate::plan::adapt::adapt;
    use crate::plan::resolve::{Where, resolve};

    #[test]
    fn every_client_server_and_memory_node_of_a_machine_is_a_condition() {
        for (machine, nodes, memories) in [
            ("package:4 [numa] core:4 pu:1", 4, 4),
            ("package:2 node:1 core:6 pu:2", 2, 2),
            // Two nodes with memory only: no place for threads, but places for memory.
            ("package:2 [numa] [numa] core:2 pu:2", 2, 4),
            ("package:1 core:2 pu:1", 1, 1),
        ] {
            let text = builtin::find("node-matrix").unwrap().text;
            let mut study = parse(Source { origin: "node-matrix", text }, &Overrides::default()).unwrap();
            let machine = Machine::synthetic(machine).unwrap();
            let notes = adapt(&mut study, &machine, Where::Described).unwrap();
            assert_eq!(notes.iter().filter(|note| note.contains(":each")).count(), 3, "{notes:?}");
            let plan = resolve(&study, &machine, Where::Described).unwrap();
            let done = plan.conditions.iter().filter(|condition| condition.realizable).count();
            assert_eq!((plan.conditions.len(), done), (nodes * nodes * memories, nodes * nodes * memories));
        }
    }
}
