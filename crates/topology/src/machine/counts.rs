//! What is asked of a machine most: how many of each, which CPUs, how near two of them are.

use super::model::Machine;
use crate::Pairing;
use tare_cpuset::{CpuSet, NodeSet};

/// How sockets are cut into NUMA nodes. Results of two layouts of one machine are results of two machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeLayout {
    /// Nodes with CPUs in each package; more than one where sub-NUMA clustering (SNC) or NPS is on.
    pub per_package: usize,
    /// Whether each of several nodes of a package is one last-level cache ("L3 as NUMA").
    pub each_cache: bool,
    /// Nodes without CPUs: high-bandwidth memory, CXL.
    pub memory_only: usize,
}

/// `2 per package`, `4 per package, one for each L3 cache`, `1 per package and 2 with memory only`.
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

    /// How the machine's sockets are cut into NUMA nodes: sub-NUMA clustering (SNC) and NPS make several of a package,
    /// and some firmware makes one of each last-level cache.
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
