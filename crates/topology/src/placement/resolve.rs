//! Resolves a placement to the CPUs of every thread on a machine.

use super::assign::assign;
use super::memory::MemoryPolicy;
use super::words::{Bind, ClientPus, Pairing, Side};
use crate::{Location, Machine, NotRealizable};
use serde::{Deserialize, Serialize};
use tare_cpuset::CpuSet;

/// The CPUs on which client and server threads may run, and the nodes of the server's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Placement {
    /// Where client threads run.
    pub client: Side,
    /// Where server threads run.
    pub server: Side,
    /// Where server threads run that serve no connection; with `float`, where the server threads run.
    #[serde(skip_serializing_if = "is_float")]
    pub background: Side,
    /// Whether threads share their side's location.
    pub bind: Bind,
    /// Where a server thread runs relative to its client thread. Needs `bind = "thread"`.
    pub pairing: Pairing,
    /// On which nodes memory is allocated.
    pub memory: MemoryPolicy,
    /// On which nodes the server's buffer pool is allocated; `default` means as the rest of the memory.
    #[serde(skip_serializing_if = "is_default")]
    pub pool_memory: MemoryPolicy,
    /// Both sides on the first `nodes` nodes of the machine, instead of two locations; see [`Placement::explicit`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// With `nodes`: logical indexes of the nodes to take, in this order, instead of the first nodes of the machine.
    /// For example, `nodes` 2 with the order 0, 2 selects nodes 0 and 2.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub node_order: Vec<u32>,
    /// Both sides on the first `caches` last-level caches of the machine, instead of two locations or `nodes`. On
    /// processors with several per node (a CCX, a cluster), this allows finer steps than nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caches: Option<u32>,
    /// With `nodes` or `caches`: number of PUs of each that only clients use. The server uses the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_pus_per_node: Option<u32>,
    /// Which PUs of each the clients use.
    #[serde(skip_serializing_if = "ClientPus::is_usual")]
    pub client_pus: ClientPus,
}

/// A placement on a machine, with OS CPU numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedPlacement {
    /// CPUs of client threads. Empty if the OS places them. With `bind = "set"` one set for all threads, with
    /// `"thread"` one set of one CPU for each thread.
    pub client: Vec<CpuSet>,
    /// CPUs of server threads, in the same form; with `"thread"`, server thread i serves client thread i.
    pub server: Vec<CpuSet>,
    /// CPUs of all server threads that serve no connection; `None` if they have no location of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<CpuSet>,
    /// Whether threads share their side's set.
    pub bind: Bind,
    /// The pairing that the threads satisfy.
    pub pairing: Pairing,
    /// The memory policy, with its nodes as numbers.
    pub memory: MemoryPolicy,
    /// The policy of the server's buffer pool; `default` means as the rest of the memory.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pool_memory: MemoryPolicy,
}

impl ResolvedPlacement {
    /// The CPUs of client thread `thread`; `None` if the OS places it.
    pub fn client_cpus(&self, thread: usize) -> Option<&CpuSet> {
        set_of(&self.client, thread)
    }

    /// The CPUs of the server thread that serves client thread `thread`; `None` if the OS places it.
    pub fn server_cpus(&self, thread: usize) -> Option<&CpuSet> {
        set_of(&self.server, thread)
    }
}

/// A thread's own set, or the set that all threads share.
fn set_of(sets: &[CpuSet], thread: usize) -> Option<&CpuSet> {
    if sets.len() == 1 { sets.first() } else { sets.get(thread) }
}

impl Placement {
    /// The CPUs of every thread on this machine, for `threads` client threads with one server thread each. `nodes` and
    /// `caches` are replaced by locations first ([`Placement::explicit`]).
    ///
    /// - `bind = "set"`: one set per side. A pairing is refused, because it has no meaning for a set.
    /// - `bind = "thread"`, no pairing: thread i of a side gets the i-th PU of its location in logical order, starting
    ///   over if there are more threads than PUs.
    /// - With a pairing, thread by thread: the client gets the PU of its location with the fewest threads of either
    ///   side, lowest logical index first; the server gets the PU of its location with the fewest threads among those
    ///   that satisfy the pairing. If a PU then has more threads than necessary, pairs are moved until the most loaded
    ///   PU has as few threads as possible. A side with `float` counts as `all`.
    ///
    /// # Errors
    /// When a location, pairing or memory policy is not possible on this machine, or settings are contradictory.
    pub fn resolve(&self, machine: &Machine, threads: usize) -> Result<ResolvedPlacement, NotRealizable> {
        if threads == 0 {
            return Err(NotRealizable::new("a placement needs at least one thread"));
        }
        let spelt_out = self.explicit(machine)?;
        let (memory, pool_memory) = (spelt_out.memory.resolve(machine)?, spelt_out.pool_memory.resolve(machine)?);
        let (client, server) = match (self.bind, self.pairing) {
            (Bind::Set, Pairing::None) => (shared(&spelt_out.client, machine)?, shared(&spelt_out.server, machine)?),
            (Bind::Set, pairing) => {
                return Err(NotRealizable::new(format!(
                    "pairing {pairing} needs bind = \"thread\": threads that share a set have no PU of their own"
                )));
            }
            (Bind::Thread, Pairing::None) => {
                (in_turn(&spelt_out.client, machine, threads)?, in_turn(&spelt_out.server, machine, threads)?)
            }
            (Bind::Thread, pairing) => spelt_out.paired(machine, pairing, threads)?,
        };
        let background = shared(&self.background, machine)?.pop();
        Ok(ResolvedPlacement {
            client,
            server,
            background,
            bind: self.bind,
            pairing: self.pairing,
            memory,
            pool_memory,
        })
    }

    fn paired(
        &self,
        machine: &Machine,
        pairing: Pairing,
        threads: usize,
    ) -> Result<(Vec<CpuSet>, Vec<CpuSet>), NotRealizable> {
        // Otherwise every PU would be compared with every other one.
        if let Some(missing) = machine.choice(pairing).missing {
            return Err(missing);
        }
        let everywhere = Location::all();
        let pus = |side: &Side| match side {
            Side::Float => in_logical_order(machine, &everywhere),
            Side::At(location) => in_logical_order(machine, location),
        };
        let (clients, servers) = (pus(&self.client)?, pus(&self.server)?);
        let pairs = assign(&clients, &servers, threads, |c, s| pairing.rank(machine, c, s))
            .ok_or_else(|| self.unpaired(pairing))?;
        let cpu = |pu: usize| machine.pus.get(pu).map_or_else(CpuSet::new, |pu| pu.os_index.into());
        Ok(pairs.into_iter().map(|(c, s)| (cpu(c), cpu(s))).unzip())
    }

    fn unpaired(&self, pairing: Pairing) -> NotRealizable {
        NotRealizable::new(format!(
            "no PU of server location {} is {pairing} to a PU of client location {}",
            self.server, self.client
        ))
    }
}

fn is_default(policy: &MemoryPolicy) -> bool {
    *policy == MemoryPolicy::Default
}

fn is_float(side: &Side) -> bool {
    *side == Side::Float
}

fn shared(side: &Side, machine: &Machine) -> Result<Vec<CpuSet>, NotRealizable> {
    match side {
        Side::Float => Ok(Vec::new()),
        Side::At(location) => Ok(vec![location.resolve(machine)?]),
    }
}

fn in_turn(side: &Side, machine: &Machine, threads: usize) -> Result<Vec<CpuSet>, NotRealizable> {
    let Side::At(location) = side else { return Ok(Vec::new()) };
    let pus = in_logical_order(machine, location)?;
    let cpus = pus.iter().filter_map(|pu| machine.pus.get(*pu)).map(|pu| CpuSet::from(pu.os_index));
    Ok(cpus.cycle().take(threads).collect())
}

/// Logical indexes of a location's PUs, ascending.
fn in_logical_order(machine: &Machine, location: &Location) -> Result<Vec<usize>, NotRealizable> {
    let cpus = location.resolve(machine)?;
    Ok((0..machine.pus.len()).filter(|i| cpus.contains(machine.pus[*i].os_index)).collect())
}
