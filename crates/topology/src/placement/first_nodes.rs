//! Placements on the first nodes or last-level caches of a machine, which clients and server share.

use super::memory::{MemoryPolicy, Nodes};
use super::resolve::Placement;
use super::words::{ClientPus, Side};
use crate::location::{Index, Location, ObjectKind, Step, Term};
use crate::{Machine, NotRealizable};
use std::collections::BTreeSet;
use tare_cpuset::NodeSet;

/// A usable node or cache: its kind, its logical index, the nodes of its memory, and its number of PUs.
struct Usable {
    kind: ObjectKind,
    logical: u32,
    memory: NodeSet,
    pus: u32,
}

impl Placement {
    /// Replaces [`Placement::nodes`] or [`Placement::caches`] by locations of both sides on this machine, and by memory
    /// interleaved over these nodes (or the nodes of the caches) unless another policy is set. Without either, the
    /// placement is returned unchanged.
    ///
    /// Nodes with CPUs and memory are taken in logical order; for caches, those on such nodes. Of the PUs of each, in
    /// logical order, the last (or first, by `client_pus`) `client_pus_per_node` are for clients and the others for the
    /// server. With an even number, no core with two hardware threads is used by both. If it is not set, both sides
    /// share all PUs.
    ///
    /// # Errors
    /// When the machine has fewer nodes or caches, when one has no PU left for the server, and when fields of the
    /// placement contradict each other.
    pub fn explicit(&self, machine: &Machine) -> Result<Self, NotRealizable> {
        let (word, nodes) = match (self.nodes, self.caches, self.client_pus_per_node) {
            (None, _, _) if !self.node_order.is_empty() => {
                return Err(NotRealizable::new("node_order has no effect without nodes"));
            }
            (None, None, None) => return Ok(self.clone()),
            (None, None, Some(_)) => {
                return Err(NotRealizable::new("client_pus_per_node has no effect without nodes or caches"));
            }
            (Some(_), Some(_), _) => {
                return Err(NotRealizable::new(
                    "nodes and caches both set where client and server run: leave out one \
                    of them",
                ));
            }
            (Some(count), None, _) => ("nodes", first_nodes(machine, count, &self.node_order)?),
            (None, Some(count), _) => ("caches", first_caches(machine, count)?),
        };
        if self.client != Side::Float || self.server != Side::Float {
            return Err(NotRealizable::new(format!(
                "{word} sets where both client and server run: leave out client and \
                server"
            )));
        }
        let (client, server) = match self.client_pus_per_node {
            None => (side(&nodes, |node| (0, node.pus)), side(&nodes, |node| (0, node.pus))),
            Some(clients) => {
                if let Some(small) = nodes.iter().find(|node| node.pus <= clients) {
                    return Err(NotRealizable::new(format!(
                        "{}:{} has {} PUs: {clients} for the clients leave none for the server",
                        small.kind, small.logical, small.pus
                    )));
                }
                match self.client_pus {
                    ClientPus::First => (side(&nodes, |_| (0, clients)), side(&nodes, |node| (clients, node.pus))),
                    ClientPus::Last => {
                        let last = |node: &Usable| (node.pus - clients, node.pus);
                        (side(&nodes, last), side(&nodes, |node| (0, node.pus - clients)))
                    }
                }
            }
        };
        let memory = match &self.memory {
            MemoryPolicy::Default => {
                MemoryPolicy::Interleave(Nodes::These(nodes.iter().flat_map(|node| node.memory.iter()).collect()))
            }
            given => given.clone(),
        };
        let spelt =
            Self { client, server, memory, nodes: None, caches: None, client_pus_per_node: None, ..self.clone() };
        Ok(Self { node_order: Vec::new(), ..spelt })
    }
}

fn first_nodes(machine: &Machine, count: u32, order: &[u32]) -> Result<Vec<Usable>, NotRealizable> {
    let with_memory = machine.memory_nodes();
    let usable = machine.nodes.iter().enumerate().filter_map(|(logical, node)| {
        let pus = u32::try_from(node.cpus.len()).ok()?;
        (pus > 0 && with_memory.contains(node.os_index)).then_some(Usable {
            kind: ObjectKind::Node,
            logical: u32::try_from(logical).ok()?,
            memory: node.os_index.into(),
            pus,
        })
    });
    let mut all: Vec<Usable> = usable.collect();
    if !order.is_empty() {
        if order.len() < count as usize {
            let named = order.len();
            return Err(NotRealizable::new(format!("{count} nodes are requested, and node_order names {named}")));
        }
        let mut ordered = Vec::new();
        for logical in order.iter().take(count as usize) {
            let place = all.iter().position(|node| node.logical == *logical).ok_or_else(|| {
                NotRealizable::new(format!(
                    "node:{logical} of node_order is not one of this machine's nodes with CPUs and memory, or is \
                     named twice"
                ))
            })?;
            ordered.push(all.swap_remove(place));
        }
        all = ordered;
    }
    let nodes: Vec<Usable> = all.into_iter().take(count as usize).collect();
    if count == 0 || nodes.len() < count as usize {
        let here = match nodes.len() {
            0 => "no NUMA node with CPUs and memory".to_owned(),
            1 => "1 NUMA node with CPUs and memory".to_owned(),
            more => format!("{more} NUMA nodes with CPUs and memory"),
        };
        return Err(NotRealizable::new(format!("{count} nodes are requested, and this machine has {here}")));
    }
    Ok(nodes)
}

/// The first last-level caches that several cores can share, on nodes with memory.
fn first_caches(machine: &Machine, count: u32) -> Result<Vec<Usable>, NotRealizable> {
    let with_memory = machine.memory_nodes();
    let shared: BTreeSet<usize> = machine.pus.iter().filter_map(|pu| machine.cache_several_share(pu)).collect();
    let usable = |index: usize| {
        let cache = machine.caches.get(index)?;
        let of_level = machine.caches[..index].iter().filter(|other| other.level == cache.level).count();
        let nodes = machine.pus.iter().filter(|pu| cache.cpus.contains(pu.os_index)).filter_map(|pu| pu.node);
        let memory: NodeSet = nodes.filter_map(|node| Some(machine.nodes.get(node)?.os_index)).collect();
        let memory = memory.intersection(&with_memory);
        (!memory.is_empty()).then_some(Usable {
            kind: ObjectKind::cache(cache.level)?,
            logical: u32::try_from(of_level).ok()?,
            memory,
            pus: u32::try_from(cache.cpus.len()).ok()?,
        })
    };
    let all: Vec<Usable> = shared.into_iter().filter_map(usable).collect();
    if count == 0 || all.len() < count as usize {
        return Err(NotRealizable::new(format!(
            "{count} last-level caches are requested, and this machine has {} that cores share on a node with memory",
            if all.is_empty() { "none".to_owned() } else { all.len().to_string() }
        )));
    }
    Ok(all.into_iter().take(count as usize).collect())
}

/// The location of the PUs `from..to` of each node or cache; adjacent ones with the same PUs become one term.
fn side(nodes: &[Usable], pus: impl Fn(&Usable) -> (u32, u32)) -> Side {
    let mut runs: Vec<(ObjectKind, u32, u32, (u32, u32))> = Vec::new();
    for node in nodes {
        match runs.last_mut() {
            Some((kind, _, last, of)) if (*kind, *last + 1) == (node.kind, node.logical) && *of == pus(node) => {
                *last = node.logical;
            }
            _ => runs.push((node.kind, node.logical, node.logical, pus(node))),
        }
    }
    let term = |(kind, first, last, (from, to)): (ObjectKind, u32, u32, (u32, u32))| {
        Term::Objects(vec![
            Step { kind, index: Index::Range(first, last) },
            Step { kind: ObjectKind::Pu, index: Index::Range(from, to.saturating_sub(1)) },
        ])
    };
    Location::of(runs.into_iter().map(term).collect()).map_or(Side::Float, Side::At)
}
