//! Selects the pairs of PUs and nodes to measure: all of a small machine, a sample of a large one.

use crate::{Machine, Pairing};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Most PUs between which cache lines are measured: 496 pairs.
pub const MAX_CPUS: usize = 32;
/// Most nodes between which memory is measured: 256 pairs.
pub const MAX_NODES: usize = 16;
/// Longest and shortest time of one measurement.
const LONGEST: Duration = Duration::from_millis(100);
const SHORTEST: Duration = Duration::from_micros(500);
/// Most threads that read at the same time for a bandwidth.
const MAX_READERS: usize = 16;

/// What to measure on a machine, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasurePlan {
    /// OS numbers of the PUs between which cache lines are measured, in logical order.
    pub cpus: Vec<u32>,
    /// Nodes whose CPUs read memory.
    pub from: Vec<Reader>,
    /// OS numbers of the nodes whose memory is read.
    pub to: Vec<u32>,
    /// Bytes of memory that are read: if possible twice the largest cache.
    pub working_set_bytes: usize,
    /// What was left out and why, as text for the user.
    pub left_out: Vec<String>,
    /// Time for each pair of PUs.
    pub each_pair: Duration,
    /// Time for each latency, and for each bandwidth.
    pub each_memory: Duration,
    /// No measurement begins after this time.
    pub limit: Duration,
}

/// A node whose CPUs read memory, with these CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reader {
    /// The OS number of the node.
    pub node: u32,
    /// Its CPUs that read, one per core; the first one measures the latency.
    pub cpus: Vec<u32>,
}

impl MeasurePlan {
    /// A plan that takes about `limit` at most. PUs are selected from all nodes in turn, up to [`MAX_CPUS`]: of each
    /// node first its first PU, then that PU's SMT sibling, a PU of another core of the same cache, one of each other
    /// cache, and the rest.
    pub fn new(machine: &Machine, limit: Duration) -> Self {
        let mut left_out = Vec::new();
        let cpus = sample_cpus(machine, &mut left_out);
        let from: Vec<Reader> = readers(machine);
        let to: Vec<u32> = machine.memory_nodes().iter().collect();
        let from = sample(from, "nodes with CPUs", &mut left_out);
        let to = sample(to, "nodes with memory", &mut left_out);
        let pairs = cpus.len() * cpus.len().saturating_sub(1) / 2;
        let memories = 2 * from.len() * to.len();
        // A third for each kind; the rest of the time is for creating the working sets.
        let share =
            |count: usize| (limit / 3 / u32::try_from(count.max(1)).unwrap_or(u32::MAX)).clamp(SHORTEST, LONGEST);
        let working_set_bytes = working_set_bytes(machine, &to);
        Self {
            cpus,
            from,
            to,
            working_set_bytes,
            left_out,
            each_pair: share(pairs),
            each_memory: share(memories),
            limit,
        }
    }
}

fn sample_cpus(machine: &Machine, left_out: &mut Vec<String>) -> Vec<u32> {
    let mut queues: Vec<std::vec::IntoIter<usize>> =
        groups(machine).into_iter().map(|pus| ranked(machine, pus).into_iter()).collect();
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < MAX_CPUS.min(machine.pus.len()) {
        let round: Vec<usize> = queues.iter_mut().filter_map(Iterator::next).collect();
        if round.is_empty() {
            break;
        }
        chosen.extend(round);
    }
    chosen.truncate(MAX_CPUS);
    chosen.sort_unstable();
    if chosen.len() < machine.pus.len() {
        left_out.push(format!(
            "{} of {} PUs were taken: of each node in turn the first, its sibling, one of another core, one under each \
             other cache, then the rest",
            chosen.len(),
            machine.pus.len()
        ));
    }
    chosen.into_iter().filter_map(|pu| machine.pus.get(pu)).map(|pu| pu.os_index).collect()
}

/// Logical indexes of the PUs of each node, and of those without a node.
fn groups(machine: &Machine) -> Vec<Vec<usize>> {
    let of = |node: Option<usize>| -> Vec<usize> {
        (0..machine.pus.len()).filter(|pu| machine.pus.get(*pu).is_some_and(|pu| pu.node == node)).collect()
    };
    let nodes = (0..machine.nodes.len()).map(Some).chain([None]);
    nodes.map(of).filter(|pus| !pus.is_empty()).collect()
}

/// The PUs of a node, the most informative first.
fn ranked(machine: &Machine, pus: Vec<usize>) -> Vec<usize> {
    let Some(first) = pus.first().copied() else { return pus };
    let mut order = vec![first];
    for near in [Pairing::SmtSibling, Pairing::SameCache] {
        order.extend(pus.iter().copied().find(|pu| near.rank(machine, first, *pu).is_some()));
    }
    let cache = |pu: &usize| machine.pus.get(*pu).and_then(|pu| pu.last_level_cache);
    let mut caches = vec![cache(&first)];
    for pu in &pus {
        if !caches.contains(&cache(pu)) {
            caches.push(cache(pu));
            order.push(*pu);
        }
    }
    let rest: Vec<usize> = pus.into_iter().filter(|pu| !order.contains(pu)).collect();
    order.extend(rest);
    order
}

/// Nodes with CPUs, each with the first PU of its cores; a machine without nodes counts as node 0.
fn readers(machine: &Machine) -> Vec<Reader> {
    let readers = groups(machine).into_iter().map(|pus| {
        let mut cores = Vec::new();
        let mut cpus = Vec::new();
        for pu in pus.iter().filter_map(|pu| machine.pus.get(*pu)) {
            if pu.core.is_none() || !cores.contains(&pu.core) {
                cores.push(pu.core);
                cpus.push(pu.os_index);
            }
        }
        cpus.truncate(MAX_READERS);
        let node = pus.first().and_then(|pu| machine.nodes.get(machine.pus.get(*pu)?.node?));
        Reader { node: node.map_or(0, |node| node.os_index), cpus }
    });
    readers.collect()
}

/// At most [`MAX_NODES`], chosen at even distances.
fn sample<T>(all: Vec<T>, what: &str, left_out: &mut Vec<String>) -> Vec<T> {
    let count = all.len();
    if count <= MAX_NODES {
        return all;
    }
    left_out.push(format!("{MAX_NODES} of {count} {what} were taken, evenly"));
    let is_taken = |i: usize| i * MAX_NODES / count != (i + 1) * MAX_NODES / count;
    all.into_iter().enumerate().filter(|(i, _)| is_taken(*i)).map(|(_, one)| one).collect()
}

/// Twice the largest last-level cache, at least 64 MiB, at most an eighth of the smallest node's memory and 512 MiB.
fn working_set_bytes(machine: &Machine, to: &[u32]) -> usize {
    const MIB: u64 = 1 << 20;
    let cache = machine.caches.iter().filter_map(|cache| cache.size_bytes).max().unwrap_or(64 * MIB);
    let reported = machine.nodes.iter().filter(|node| to.contains(&node.os_index) && node.memory_bytes > 0);
    let memory = reported.map(|node| node.memory_bytes).min().unwrap_or(8 * 1024 * MIB);
    let bytes = (2 * cache).max(64 * MIB).min(memory / 8).clamp(MIB, 512 * MIB);
    usize::try_from(bytes).unwrap_or(64 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn plan(description: &str) -> MeasurePlan {
        MeasurePlan::new(&Machine::synthetic(description).unwrap(), MINUTE)
    }

    #[test]
    fn a_small_machine_is_measured_whole() {
        let plan = plan("node:2 l3:1 core:2 pu:2");
        assert_eq!(plan.cpus, [0, 1, 2, 3, 4, 5, 6, 7]);
        let reader = |node, cpus: [u32; 2]| Reader { node, cpus: cpus.into() };
        assert_eq!(plan.from, [reader(0, [0, 2]), reader(1, [4, 6])]);
        assert_eq!((plan.to, plan.left_out), (vec![0, 1], Vec::<String>::new()));
    }

    #[test]
    fn a_big_machine_is_sampled_within_its_limits() {
        let plan = plan("package:8 node:4 l3:4 core:8 pu:2");
        assert_eq!((plan.cpus.len(), plan.from.len(), plan.to.len()), (MAX_CPUS, MAX_NODES, MAX_NODES));
        // 32 nodes: the first PU of each.
        assert_eq!(plan.cpus[..3], [0, 64, 128]);
        assert_eq!(plan.left_out.len(), 3, "{:?}", plan.left_out);
        assert!(plan.left_out[0].starts_with("32 of 2048 PUs"), "{:?}", plan.left_out);
        // The number of nodes does not divide the limit, and the limit is still kept.
        assert_eq!(MeasurePlan::new(&Machine::synthetic("node:5 core:32 pu:1").unwrap(), MINUTE).cpus.len(), MAX_CPUS);
        let pairs = u32::try_from(MAX_CPUS * (MAX_CPUS - 1) / 2).unwrap();
        let memories = u32::try_from(2 * MAX_NODES * MAX_NODES).unwrap();
        assert!(plan.each_pair * pairs + plan.each_memory * memories <= MINUTE, "{plan:?}");
    }

    #[test]
    fn the_most_informative_pus_are_measured_first() {
        let machine = Machine::synthetic("node:8 l3:4 core:4 pu:2").unwrap();
        let plan = MeasurePlan::new(&machine, MINUTE);
        // Four of the 32 PUs of each node: the first, its sibling, another core of its cache, another cache.
        assert_eq!(plan.cpus[..8], [0, 1, 2, 8, 32, 33, 34, 40]);
    }

    #[test]
    fn the_working_set_is_larger_than_the_caches_and_fits_the_memory() {
        assert_eq!(plan("node:1(memory=68719476736) l3:1(size=134217728) core:2 pu:1").working_set_bytes, 256 << 20);
        assert_eq!(plan("node:1(memory=268435456) l3:1(size=134217728) core:2 pu:1").working_set_bytes, 32 << 20);
    }
}
