//! Levels that stand for one level a node, spelt out for the machine: a study of every pair of nodes on any machine.

use crate::language::spec::{Factor, Study};
use tare_text::Value;
use tare_topology::{Location, Machine, MemoryPolicy};

/// Factors whose levels are locations, and the one whose levels are memory policies.
const LOCATIONS: [&str; 3] = ["client", "server", "background"];
const MEMORY: &str = "memory";

/// Puts the levels of this machine in the place of `node:each` and `bind:each`, and says which they are.
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
            // Two nodes with memory only: no place for threads, and one for memory.
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
