//! Whether two machines are the same: fingerprints, because a plan's trials must run on the machine that the plan was
//! made for, and differences between two states of a machine, as text.

use super::model::{Machine, Origin};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::{fmt, fs};
use tare_cpuset::{CpuSet, NodeSet};

/// The properties of a machine that a plan depends on: usable CPUs and nodes, their relations, and the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// The usable CPUs of each NUMA node, by the node's OS number; empty for a memory-only node.
    pub nodes: BTreeMap<u32, CpuSet>,
    /// The usable CPUs of each package.
    pub packages: BTreeSet<CpuSet>,
    /// The usable CPUs of each core.
    pub cores: BTreeSet<CpuSet>,
    /// The usable CPUs of each outermost cache.
    pub last_level_caches: BTreeSet<CpuSet>,
    /// Processor names, without repetition.
    pub processors: BTreeSet<String>,
    /// CPUs that are online and inside both the cgroup's cpuset and the affinity mask.
    pub allowed_cpus: CpuSet,
    /// Nodes with usable memory.
    pub memory_nodes: NodeSet,
    /// Whether SMT is on, as the kernel reports it; if it does not, whether any core has several PUs.
    pub smt: bool,
    /// The kernel's release, such as `6.1.0-28-amd64`. `None` for a described machine.
    pub kernel: Option<String>,
    /// Identifies the boot. It is only recorded: a reboot alone is not a change. `None` for a described machine.
    pub boot_id: Option<String>,
}

impl Fingerprint {
    /// The fingerprint of a machine. Kernel, boot and SMT are only read for the machine that this runs on.
    pub fn of(machine: &Machine) -> Self {
        let here = machine.origin == Origin::This;
        let read = |path: &str| {
            let text = fs::read_to_string(path).ok().filter(|_| here)?;
            Some(text.trim().to_owned())
        };
        let several = machine.cores.iter().any(|core| core.cpus.len() > 1);
        let outermost: BTreeSet<usize> = machine.pus.iter().filter_map(|pu| pu.last_level_cache).collect();
        Self {
            nodes: machine.nodes.iter().map(|node| (node.os_index, node.cpus.clone())).collect(),
            packages: machine.packages.iter().map(|package| package.cpus.clone()).collect(),
            cores: machine.cores.iter().map(|core| core.cpus.clone()).collect(),
            last_level_caches: outermost.iter().map(|cache| machine.caches[*cache].cpus.clone()).collect(),
            processors: machine.packages.iter().filter_map(|package| package.model.clone()).collect(),
            allowed_cpus: machine.cpus(),
            memory_nodes: machine.memory_nodes(),
            // A narrow affinity hides a core's other thread, on which other processes can still run.
            smt: read("/sys/devices/system/cpu/smt/active").map_or(several, |active| active == "1"),
            kernel: read("/proc/sys/kernel/osrelease"),
            boot_id: read("/proc/sys/kernel/random/boot_id"),
        }
    }

    /// How the machine has changed since this fingerprint was taken; empty if it has not. Properties that only one of
    /// the two fingerprints has (as of a described machine) and the boot identifier are not compared.
    pub fn changes(&self, now: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        if let (Some(was), Some(is)) = (&self.kernel, &now.kernel)
            && was != is
        {
            changes.push(Change::Kernel { was: was.clone(), is: is.clone() });
        }
        let known = !self.processors.is_empty() && !now.processors.is_empty();
        if known && self.processors.is_disjoint(&now.processors) {
            let names = |of: &BTreeSet<String>| of.iter().cloned().collect::<Vec<_>>().join(", ");
            changes.push(Change::Processor { was: names(&self.processors), is: names(&now.processors) });
        }
        if self.smt != now.smt {
            changes.push(Change::Smt { was: self.smt, is: now.smt });
        }
        if self.allowed_cpus != now.allowed_cpus {
            changes.push(Change::AllowedCpus { was: self.allowed_cpus.clone(), is: now.allowed_cpus.clone() });
        }
        changes.extend(self.changed_nodes(now));
        if self.memory_nodes != now.memory_nodes {
            changes.push(Change::MemoryNodes { was: self.memory_nodes.clone(), is: now.memory_nodes.clone() });
        }
        changes.extend(self.changed_sharing(now));
        changes
    }

    /// CPUs that are allowed in both. Only these are compared; other CPUs are reported as [`Change::AllowedCpus`].
    fn common(&self, now: &Self) -> CpuSet {
        self.allowed_cpus.intersection(&now.allowed_cpus)
    }

    fn changed_nodes(&self, now: &Self) -> Vec<Change> {
        let common = self.common(now);
        let old = self.nodes.iter().filter_map(|(node, was)| match now.nodes.get(node) {
            None => Some(Change::NodeGone { node: *node, cpus: was.clone() }),
            Some(is) if was.intersection(&common) != is.intersection(&common) => {
                Some(Change::NodeCpus { node: *node, was: was.clone(), is: is.clone() })
            }
            Some(_) => None,
        });
        let new = now.nodes.iter().filter(|(node, _)| !self.nodes.contains_key(node));
        old.chain(new.map(|(node, is)| Change::NodeNew { node: *node, cpus: is.clone() })).collect()
    }

    /// At most one change for each kind of sharing: that of the first CPU which shares with a different set of CPUs.
    fn changed_sharing(&self, now: &Self) -> Vec<Change> {
        let common = self.common(now);
        let company = |groups: &BTreeSet<CpuSet>, cpu: u32| {
            groups.iter().find(|group| group.contains(cpu)).map_or_else(CpuSet::new, |g| g.intersection(&common))
        };
        let kinds = [
            (Shared::Package, &self.packages, &now.packages),
            (Shared::Core, &self.cores, &now.cores),
            (Shared::LastLevelCache, &self.last_level_caches, &now.last_level_caches),
        ];
        let first = |(shared, was, is): (Shared, &BTreeSet<CpuSet>, &BTreeSet<CpuSet>)| {
            let cpu = common.iter().find(|cpu| company(was, *cpu) != company(is, *cpu))?;
            Some(Change::Sharing { shared, cpu, was: company(was, cpu), is: company(is, cpu) })
        };
        kinds.into_iter().filter_map(first).collect()
    }
}

/// One difference between two [`Fingerprint`]s. Its text is a clause, such as "allowed CPUs were 0-1 and are 0".
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Another kernel release is running.
    Kernel {
        /// Its release when the fingerprint was taken.
        was: String,
        /// The release that runs now.
        is: String,
    },
    /// The processors have other names: this is other hardware.
    Processor {
        /// Names when the fingerprint was taken.
        was: String,
        /// Names of the present processors.
        is: String,
    },
    /// SMT was turned on or off.
    Smt {
        /// Whether SMT was on.
        was: bool,
        /// Whether SMT is on now.
        is: bool,
    },
    /// This process may use other CPUs: its affinity, its cgroup or the online CPUs changed.
    AllowedCpus {
        /// CPUs it could use.
        was: CpuSet,
        /// CPUs it can use now.
        is: CpuSet,
    },
    /// A NUMA node no longer exists, or no longer provides CPUs or memory.
    NodeGone {
        /// The node's OS number.
        node: u32,
        /// CPUs that it had then.
        cpus: CpuSet,
    },
    /// A NUMA node that was not there before.
    NodeNew {
        /// The node's OS number.
        node: u32,
        /// Its CPUs.
        cpus: CpuSet,
    },
    /// CPUs that are still allowed now belong to another NUMA node.
    NodeCpus {
        /// The node's OS number.
        node: u32,
        /// CPUs that it had then.
        was: CpuSet,
        /// CPUs it has now.
        is: CpuSet,
    },
    /// Memory can come from other nodes.
    MemoryNodes {
        /// Nodes it could come from.
        was: NodeSet,
        /// Nodes it can come from now.
        is: NodeSet,
    },
    /// A CPU shares a package, core or cache with a different set of CPUs.
    Sharing {
        /// What the CPUs share.
        shared: Shared,
        /// The first CPU with this change.
        cpu: u32,
        /// The CPU and those that shared it; empty if unknown.
        was: CpuSet,
        /// The CPU and those that share it now.
        is: CpuSet,
    },
}

/// What CPUs may share, other than a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// They are in one socket.
    Package,
    /// They are threads of one physical core.
    Core,
    /// They have the same outermost cache.
    LastLevelCache,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |smt: &bool| if *smt { "on" } else { "off" };
        match self {
            Self::Kernel { was, is } => write!(f, "the kernel was {was} and is {is}"),
            Self::Processor { was, is } => write!(f, "the processor was {was} and is {is}"),
            Self::Smt { was, is } => write!(f, "SMT was {} and is {}", on(was), on(is)),
            Self::AllowedCpus { was, is } => write!(f, "allowed CPUs were {was} and are {is}"),
            Self::NodeGone { node, cpus } => write!(f, "node {node} ({}) is gone", cpus_or_none(cpus)),
            Self::NodeNew { node, cpus } => write!(f, "node {node} ({}) is new", cpus_or_none(cpus)),
            Self::NodeCpus { node, was, is } => {
                write!(f, "node {node} had {} and has {}", cpus_or_none(was), cpus_or_none(is))
            }
            Self::MemoryNodes { was, is } => write!(f, "memory came from nodes {was} and can come from {is}"),
            Self::Sharing { shared, cpu, was, is } => {
                let thing = match shared {
                    Shared::Package => "package",
                    Shared::Core => "core",
                    Shared::LastLevelCache => "last-level cache",
                };
                write!(f, "CPU {cpu}'s {thing} served {} and serves {}", cpus_or_none(was), cpus_or_none(is))
            }
        }
    }
}

fn cpus_or_none(cpus: &CpuSet) -> String {
    match cpus.len() {
        0 => "no CPUs".to_owned(),
        1 => format!("CPU {cpus}"),
        _ => format!("CPUs {cpus}"),
    }
}
