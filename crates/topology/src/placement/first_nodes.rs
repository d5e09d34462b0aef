//! The first nodes of a machine, each shared between clients and server.

use super::memory::{MemoryPolicy, Nodes};
use super::resolve::Placement;
use super::words::{ClientPus, Side};
use crate::location::{Index, Location, ObjectKind, Step, Term};
use crate::{Machine, NotRealizable};

/// A node that can be used: its logical index, its OS number, how many PUs it has.
struct Usable {
    logical: u32,
    os_index: u32,
    pus: u32,
}

impl Placement {
    /// The same placement with [`Placement::nodes`] spelt out for this machine: locations of both sides, and memory
    /// interleaved over exactly those nodes unless another policy is given. Without `nodes` it is the placement itself.
    ///
    /// Nodes are taken in logical order, those that have both CPUs and memory. Of each node's PUs, in logical order,
    /// the last (or first, by `client_pus`) `client_pus_per_node` are the clients' and the others the server's, so an
    /// even number leaves no core of two hardware threads to both; when it is not given, both sides share all PUs of
    /// the nodes.
    ///
    /// # Errors
    /// When the machine has fewer such nodes, when a node has no PU left for the server, and when the placement says
    /// in two ways where a side runs.
    pub fn explicit(&self, machine: &Machine) -> Result<Self, NotRealizable> {
        let Some(count) = self.nodes else {
            return match self.client_pus_per_node {
                None => Ok(self.clone()),
                Some(_) => Err(NotRealizable::new("client_pus_per_node says nothing without nodes")),
            };
        };
        if self.client != Side::Float || self.server != Side::Float {
            return Err(NotRealizable::new("nodes says where both sides run: leave out client and server"));
        }
        let nodes = first(machine, count)?;
        let (client, server) = match self.client_pus_per_node {
            None => (side(&nodes, |node| (0, node.pus)), side(&nodes, |node| (0, node.pus))),
            Some(clients) => {
                if let Some(small) = nodes.iter().find(|node| node.pus <= clients) {
                    return Err(NotRealizable::new(format!(
                        "node:{} has {} PUs: {clients} for the clients leave none for the server",
                        small.logical, small.pus
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
                MemoryPolicy::Interleave(Nodes::These(nodes.iter().map(|node| node.os_index).collect()))
            }
            given => given.clone(),
        };
        Ok(Self { client, server, memory, nodes: None, client_pus_per_node: None, ..self.clone() })
    }
}

fn first(machine: &Machine, count: u32) -> Result<Vec<Usable>, NotRealizable> {
    let with_memory = machine.memory_nodes();
    let usable = machine.nodes.iter().enumerate().filter_map(|(logical, node)| {
        let pus = u32::try_from(node.cpus.len()).ok()?;
        (pus > 0 && with_memory.contains(node.os_index)).then_some(Usable {
            logical: u32::try_from(logical).ok()?,
            os_index: node.os_index,
            pus,
        })
    });
    let nodes: Vec<Usable> = usable.take(count as usize).collect();
    if count == 0 || nodes.len() < count as usize {
        let here = match nodes.len() {
            0 => "no NUMA node with CPUs and memory".to_owned(),
            1 => "1 NUMA node with CPUs and memory".to_owned(),
            more => format!("{more} NUMA nodes with CPUs and memory"),
        };
        return Err(NotRealizable::new(format!("{count} nodes are asked for, and this machine has {here}")));
    }
    Ok(nodes)
}

/// A location of the PUs `from..to` of each node; neighbours with the same PUs are written as one.
fn side(nodes: &[Usable], pus: impl Fn(&Usable) -> (u32, u32)) -> Side {
    let mut runs: Vec<(u32, u32, (u32, u32))> = Vec::new();
    for node in nodes {
        match runs.last_mut() {
            Some((_, last, of)) if *last + 1 == node.logical && *of == pus(node) => *last = node.logical,
            _ => runs.push((node.logical, node.logical, pus(node))),
        }
    }
    let term = |(first, last, (from, to)): (u32, u32, (u32, u32))| {
        Term::Objects(vec![
            Step { kind: ObjectKind::Node, index: Index::Range(first, last) },
            Step { kind: ObjectKind::Pu, index: Index::Range(from, to.saturating_sub(1)) },
        ])
    };
    Location::of(runs.into_iter().map(term).collect()).map_or(Side::Float, Side::At)
}
