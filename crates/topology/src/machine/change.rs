//! Differences between two states of a machine, as text.

use std::fmt;
use tare_cpuset::{CpuSet, NodeSet};

/// One difference between two [`Fingerprint`](super::Fingerprint)s. Its text is a clause, such as "allowed CPUs were
/// 0-1 and are 0".
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
