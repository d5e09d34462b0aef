//! Fits an experiment to the size of a machine.

use tare_results::claim::Experiment;
use tare_topology::Machine;

/// The share of a node's PUs that clients get: one in this many.
const CLIENTS_ONE_IN: usize = 3;
/// Client threads per PU of all used nodes: as many as the article has on its four nodes.
const THREADS_PER_PU: usize = 2;

/// A `scaled` experiment on this machine: a third of the PUs of the smallest node are for clients (at least one), and
/// conditions have two threads per PU of the most nodes that a claim uses, but no more than it says. Others unchanged.
pub fn fitted(mut experiment: Experiment, machine: &Machine) -> Experiment {
    let with_memory = machine.memory_nodes();
    let usable = machine.nodes.iter().filter(|node| !node.cpus.is_empty() && with_memory.contains(node.os_index));
    let pus: Vec<usize> = usable.map(|node| node.cpus.len()).collect();
    let Some(smallest) = pus.iter().min().filter(|_| experiment.scaled) else { return experiment };
    let clients = (smallest / CLIENTS_ONE_IN).max(1);
    experiment.set.push(format!("placement.client_pus_per_node={clients}"));
    let all = || experiment.claims.iter().flat_map(|claim| std::iter::once(&claim.a).chain(&claim.b));
    let most = all().filter_map(|levels| levels.get("nodes")?.parse::<usize>().ok()).max().unwrap_or(1);
    let threads = THREADS_PER_PU * pus.iter().take(most).sum::<usize>();
    for claim in &mut experiment.claims {
        for level in std::iter::once(&mut claim.a).chain(&mut claim.b).filter_map(|levels| levels.get_mut("threads")) {
            if level.parse::<usize>().is_ok_and(|published| threads < published) {
                *level = threads.to_string();
            }
        }
    }
    experiment
}
