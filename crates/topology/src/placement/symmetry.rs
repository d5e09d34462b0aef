//! Detects uses of a machine that are equivalent, that is, equal except for the numbers of equivalent objects.

use crate::Machine;
use std::collections::BTreeMap;
use tare_cpuset::{CpuSet, NodeSet};

/// With more nodes than this, exchanges of nodes are not searched, and no two uses count as equivalent.
const MOST_NODES: usize = 8;

/// A use of a machine: a mark for each CPU that is used, and the nodes of its memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marks {
    /// By OS number: a name for what runs there, which must be the same in all compared uses.
    pub cpus: BTreeMap<u32, String>,
    /// OS numbers of nodes that a memory policy names.
    pub memory: NodeSet,
}

impl Marks {
    /// A text that is equal for two uses of one machine exactly if exchanging equivalent objects (packages, nodes with
    /// the same distances, dies, caches, cores and PUs of the same kind) turns one use into the other.
    pub fn signature(&self, machine: &Machine) -> String {
        let objects = objects(machine, self);
        let exchangeable = machine.nodes.iter().all(|node| !node.cpus.is_empty()) && machine.nodes.len() <= MOST_NODES;
        if !exchangeable {
            return format!("{self:?}");
        }
        if is_uniform(machine.distances.as_deref()) {
            return canonical(&objects, &machine.cpus(), self);
        }
        let trees: Vec<String> = machine.nodes.iter().map(|node| canonical(&objects, &node.cpus, self)).collect();
        let exchanges = exchanges(machine);
        exchanges
            .iter()
            .map(|order| order.iter().map(|node| trees[*node].as_str()).collect::<Vec<_>>().join("|"))
            .min()
            .unwrap_or_default()
    }
}

/// An object with CPUs; equivalent objects have the same text `like`.
struct Object {
    like: String,
    cpus: CpuSet,
}

/// All objects, containing ones before contained ones.
fn objects(machine: &Machine, marks: &Marks) -> Vec<Object> {
    let mut objects = Vec::new();
    let mut add = |like: String, cpus: &CpuSet| objects.push(Object { like, cpus: cpus.clone() });
    machine.packages.iter().for_each(|p| add(format!("package {:?}", p.model), &p.cpus));
    for node in &machine.nodes {
        let named = if marks.memory.contains(node.os_index) { " memory" } else { "" };
        add(format!("node {}{named}", about(node.memory_bytes)), &node.cpus);
    }
    machine.dies.iter().for_each(|d| add("die".into(), &d.cpus));
    machine.caches.iter().for_each(|c| add(format!("cache {} {:?}", c.level, c.size_bytes), &c.cpus));
    machine.cores.iter().for_each(|c| add(format!("core {:?}", c.kind), &c.cpus));
    // The sort is stable: of objects with the same CPUs, the outer kind stays first.
    objects.sort_by_key(|object| std::cmp::Reverse(object.cpus.len()));
    objects
}

/// A class of memory sizes within about 10 %: firmware reserves some of the first node's memory.
fn about(bytes: u64) -> i64 {
    if bytes == 0 { -1 } else { ((bytes as f64).log2() * 7.0).round() as i64 }
}

/// The tree of objects within some CPUs as text, with its branches sorted.
fn canonical(objects: &[Object], within: &CpuSet, marks: &Marks) -> String {
    let mut left = within.clone();
    let mut branches = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        if !object.cpus.is_empty() && object.cpus.difference(&left).is_empty() {
            let inner = canonical(&objects[at + 1..], &object.cpus, marks);
            branches.push(format!("{}({inner})", object.like));
            left = left.difference(&object.cpus);
        }
    }
    branches.extend(left.iter().map(|cpu| marks.cpus.get(&cpu).cloned().unwrap_or_else(|| "-".to_owned())));
    branches.sort_unstable();
    branches.join(",")
}

/// Whether all nodes have the same distance to themselves, and the same to each other node.
fn is_uniform(distances: Option<&[Vec<u64>]>) -> bool {
    let Some(rows) = distances else { return true };
    let at = |same: bool| {
        let found = rows.iter().enumerate().flat_map(|(i, row)| row.iter().enumerate().map(move |(j, d)| (i, j, *d)));
        let mut found: Vec<u64> = found.filter(|(i, j, _)| (i == j) == same).map(|(_, _, d)| d).collect();
        found.dedup();
        found.len() <= 1
    };
    at(true) && at(false)
}

/// Every permutation of the nodes that preserves all distances and which nodes share a package.
fn exchanges(machine: &Machine) -> Vec<Vec<usize>> {
    let count = machine.nodes.len();
    let package = |node: usize| {
        let cpus = &machine.nodes[node].cpus;
        machine.packages.iter().position(|package| cpus.difference(&package.cpus).is_empty())
    };
    let packages: Vec<Option<usize>> = (0..count).map(package).collect();
    let distance = |a: usize, b: usize| machine.distances.as_ref().and_then(|d| d.get(a)?.get(b).copied());
    let keeps = |order: &[usize], next: usize| {
        let here = order.len();
        distance(here, here) == distance(next, next)
            && order.iter().enumerate().all(|(there, node)| {
                distance(there, here) == distance(*node, next)
                    && distance(here, there) == distance(next, *node)
                    && (packages[there] == packages[here]) == (packages[*node] == packages[next])
            })
    };
    let mut orders: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..count {
        let longer = orders.iter().flat_map(|order| {
            let free = (0..count).filter(|next| !order.contains(next) && keeps(order, *next));
            free.map(|next| [order.as_slice(), &[next]].concat())
        });
        orders = longer.collect();
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client and a server, each on all CPUs of a node, as numactl binds them.
    fn on_nodes(machine: &Machine, client: usize, server: usize) -> String {
        let mut marks = Marks::default();
        for (node, word) in [(client, "c"), (server, "s")] {
            for cpu in machine.nodes[node].cpus.iter() {
                marks.cpus.entry(cpu).or_default().push_str(word);
            }
        }
        marks.signature(machine)
    }

    fn kinds(machine: &Machine) -> usize {
        let count = machine.nodes.len();
        let all: std::collections::BTreeSet<String> =
            (0..count).flat_map(|c| (0..count).map(move |s| (c, s))).map(|(c, s)| on_nodes(machine, c, s)).collect();
        all.len()
    }

    #[test]
    fn like_nodes_are_exchanged_and_unlike_ones_are_not() {
        // Two kinds: the same node, or another one.
        assert_eq!(kinds(&Machine::synthetic("node:4 core:4 pu:2").unwrap()), 2);
        // Three kinds: the same node, another one of the same package, one of the other package.
        assert_eq!(kinds(&Machine::synthetic("package:2 node:2 core:4 pu:2").unwrap()), 3);
        // Of the first node's memory the firmware reserves some, and a third more is another node.
        for (per_cent, expected) in [(97, 2), (130, 5)] {
            let mut odd = Machine::synthetic("node:4 core:4 pu:2").unwrap();
            odd.nodes[3].memory_bytes = odd.nodes[3].memory_bytes / 100 * per_cent;
            assert_eq!(kinds(&odd), expected, "{per_cent}");
        }
        for (nodes, expected) in [(MOST_NODES, 2), (MOST_NODES + 1, 81)] {
            assert_eq!(kinds(&Machine::synthetic(&format!("node:{nodes} core:1 pu:1")).unwrap()), expected);
        }
    }

    #[test]
    fn distances_distinguish_nodes_that_the_tree_does_not() {
        let mut ring = Machine::synthetic("node:4 core:4 pu:2").unwrap();
        let d = |hops: usize| [10, 16, 22][hops];
        ring.distances =
            Some((0..4).map(|a: usize| (0..4).map(|b| d(a.abs_diff(b).min(4 - a.abs_diff(b)))).collect()).collect());
        assert_eq!(kinds(&ring), 3);
        // In a chain of four nodes, only reversing the chain is an exchange: 16 pairs form 8 kinds.
        ring.distances = Some((0..4).map(|a: usize| (0..4).map(|b| 10 + 6 * a.abs_diff(b) as u64).collect()).collect());
        assert_eq!(kinds(&ring), 8);
        let mut one_way = Machine::synthetic("node:3 core:1 pu:1").unwrap();
        one_way.distances = Some(vec![vec![10, 16, 16], vec![16, 10, 16], vec![22, 16, 10]]);
        assert_eq!(kinds(&one_way), 9);
    }

    #[test]
    fn pus_of_one_core_are_no_pus_of_two() {
        let machine = Machine::synthetic("node:2 core:2 pu:2").unwrap();
        let two = |a: u32, b: u32| {
            Marks { cpus: [(a, "c".into()), (b, "s".into())].into(), ..Marks::default() }.signature(&machine)
        };
        assert_eq!(two(0, 1), two(7, 6));
        assert_eq!(two(0, 2), two(5, 7));
        assert!(two(0, 1) != two(0, 2) && two(0, 2) != two(0, 4));
        let bound = |node: u32| Marks { cpus: [(0, "c".into())].into(), memory: node.into() }.signature(&machine);
        assert_ne!(bound(0), bound(1));
    }
}
