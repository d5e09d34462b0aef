//! Properties of a machine: numbers of objects, usable CPUs, and the relation of two CPUs.

use super::model::Machine;
use crate::Pairing;
use tare_cpuset::{CpuSet, NodeSet};

/// How sockets are divided into NUMA nodes. Two layouts of one machine must be treated as two machines in results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeLayout {
    /// Nodes with CPUs per package; more than one with sub-NUMA clustering (SNC) or NPS.
    pub per_package: usize,
    /// Whether a package has several nodes and each has exactly the CPUs of one L3 cache ("L3 as NUMA").
    pub each_cache: bool,
    /// Nodes without CPUs: high-bandwidth memory, CXL.
    pub memory_only: usize,
}

/// For example `2 per package`, `4 per package, one for each L3 cache`, `1 per package and 2 with memory only`.
impl std::fmt::Display for NodeLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} per package", self.per_package)?;
        if self.each_cache {
            f.write_str(", one for each L3 cache")?;
        }
        if self.memory_only > 0 {
            write!(f, " and {} with memory only", self.memory_only)?;
        }
        Ok(())
    }
}

impl Machine {
    /// Number of sockets; 0 if hwloc knows of none.
    pub fn package_count(&self) -> usize {
        self.packages.len()
    }

    /// Number of physical cores; 0 if the machine only lists PUs.
    pub fn core_count(&self) -> usize {
        self.cores.len()
    }

    /// Number of PUs (hardware threads) that this process may use.
    pub fn pu_count(&self) -> usize {
        self.pus.len()
    }

    /// Number of NUMA nodes, with and without CPUs.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How the machine's sockets are divided into NUMA nodes: sub-NUMA clustering (SNC) and NPS divide a package into
    /// several nodes, and some firmware makes each last-level cache a node.
    pub fn node_layout(&self) -> NodeLayout {
        let with_cpus: Vec<_> = self.nodes.iter().filter(|node| !node.cpus.is_empty()).collect();
        let caches: Vec<_> = self.caches.iter().filter(|cache| cache.level == 3).collect();
        let per_package = with_cpus.len() / self.packages.len().max(1);
        let each_cache = per_package > 1
            && caches.len() == with_cpus.len()
            && with_cpus.iter().all(|node| caches.iter().any(|cache| cache.cpus == node.cpus));
        NodeLayout { per_package, each_cache, memory_only: self.nodes.len() - with_cpus.len() }
    }

    /// OS numbers of all usable CPUs.
    pub fn cpus(&self) -> CpuSet {
        self.pus.iter().map(|pu| pu.os_index).collect()
    }

    /// OS numbers of nodes that have memory; of all nodes if no memory sizes are known.
    pub fn memory_nodes(&self) -> NodeSet {
        let reported = self.nodes.iter().any(|node| node.memory_bytes > 0);
        self.nodes.iter().filter(|node| !reported || node.memory_bytes > 0).map(|node| node.os_index).collect()
    }

    /// The logical index of the PU with this OS number.
    fn pu_of(&self, cpu: u32) -> Option<usize> {
        self.pus.iter().position(|pu| pu.os_index == cpu)
    }

    /// The relation of two CPUs (OS numbers): the first of same-pu, smt-sibling, same-cache, other-cache, same-node and
    /// other-node that applies. `None` if a CPU is unknown or none applies.
    pub fn relation(&self, a: u32, b: u32) -> Option<Pairing> {
        use Pairing::{OtherCache, OtherNode, SameCache, SameNode, SamePu, SmtSibling};
        let (a, b) = (self.pu_of(a)?, self.pu_of(b)?);
        let nearest_first = [SamePu, SmtSibling, SameCache, OtherCache, SameNode, OtherNode];
        nearest_first.into_iter().find(|p| p.rank(self, a, b).is_some())
    }
}
