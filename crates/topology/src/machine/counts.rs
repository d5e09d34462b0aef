//! What is asked of a machine most: how many of each, which CPUs, how near two of them are.

use super::model::Machine;
use crate::Pairing;
use tare_cpuset::{CpuSet, NodeSet};

impl Machine {
    /// Sockets; 0 when hwloc knows of none.
    pub fn package_count(&self) -> usize {
        self.packages.len()
    }

    /// Physical cores; 0 when the machine lists PUs only.
    pub fn core_count(&self) -> usize {
        self.cores.len()
    }

    /// Hardware threads that this process may use.
    pub fn pu_count(&self) -> usize {
        self.pus.len()
    }

    /// NUMA nodes, with and without CPUs.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// OS numbers of all usable CPUs.
    pub fn cpus(&self) -> CpuSet {
        self.pus.iter().map(|pu| pu.os_index).collect()
    }

    /// OS numbers of nodes that memory can come from. When no node tells its memory, all of them.
    pub fn memory_nodes(&self) -> NodeSet {
        let told = self.nodes.iter().any(|node| node.memory_bytes > 0);
        self.nodes.iter().filter(|node| !told || node.memory_bytes > 0).map(|node| node.os_index).collect()
    }

    /// The logical index of the PU with this OS number.
    pub fn pu_of(&self, cpu: u32) -> Option<usize> {
        self.pus.iter().position(|pu| pu.os_index == cpu)
    }

    /// How near two CPUs (OS numbers) are: the first that holds of same-pu, smt-sibling, same-cache, other-cache,
    /// same-node and other-node. None when either CPU is unknown or nothing relates them.
    pub fn relation(&self, a: u32, b: u32) -> Option<Pairing> {
        use Pairing::{OtherCache, OtherNode, SameCache, SameNode, SamePu, SmtSibling};
        let (a, b) = (self.pu_of(a)?, self.pu_of(b)?);
        let nearest_first = [SamePu, SmtSibling, SameCache, OtherCache, SameNode, OtherNode];
        nearest_first.into_iter().find(|p| p.rank(self, a, b).is_some())
    }
}
