//! The data of a machine: packages, caches, cores, PUs and nodes; their numbers, usable CPUs, and the relation of two
//! CPUs.

use crate::Pairing;
use serde::{Deserialize, Serialize};
use tare_cpuset::{CpuSet, NodeSet};

/// A machine: this one, a synthetic one or one from an hwloc XML file.
///
/// Contains only CPUs and nodes that this process may use; the others are in [`Machine::excluded`]. Every list is in
/// hwloc's logical order, and **an object's logical index is its position in its list**. Objects without usable CPUs
/// are left out, except NUMA nodes with usable memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Where the description comes from.
    pub origin: Origin,
    /// Sockets. Empty if hwloc knows of none, as for many synthetic machines.
    pub packages: Vec<Package>,
    /// Dies, if packages have several.
    pub dies: Vec<Die>,
    /// Data and unified caches, by level descending, then logical order.
    pub caches: Vec<Cache>,
    /// Physical cores. Empty if the machine only lists PUs.
    pub cores: Vec<Core>,
    /// Hardware threads. Never empty.
    pub pus: Vec<Pu>,
    /// NUMA nodes, with and without CPUs or memory.
    pub nodes: Vec<Node>,
    /// Kinds of cores of a hybrid machine, from the most power-efficient to the fastest. Empty otherwise.
    pub cpu_kinds: Vec<CpuKind>,
    /// Relative latencies between nodes as reported by the firmware: `distances[from][to]`, in the order of
    /// [`Machine::nodes`]; 10 means local. `None` if the machine reports none.
    pub distances: Option<Vec<Vec<u64>>>,
    /// What exists but was left out, and why.
    pub excluded: Excluded,
}

/// Where the description of a machine comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The machine this process runs on.
    This,
    /// An hwloc synthetic description.
    Synthetic(String),
    /// An hwloc XML file.
    Xml(String),
}

/// A socket with its processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// The OS's number, if it has one.
    pub os_index: Option<u32>,
    /// Its CPUs that may be used.
    pub cpus: CpuSet,
    /// The processor's name, such as "AMD EPYC 7742".
    pub model: Option<String>,
}

/// A die of a package that has several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Die {
    /// Its CPUs that may be used.
    pub cpus: CpuSet,
}

/// A data or unified cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Its level: 1 for L1d, 2, 3, ...
    pub level: u8,
    /// Its size, if known.
    pub size_bytes: Option<u64>,
    /// The usable CPUs that share it.
    pub cpus: CpuSet,
}

/// A physical core, of one or more hardware threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    /// The OS's number, unique only within a package on many machines.
    pub os_index: Option<u32>,
    /// Its CPUs that may be used.
    pub cpus: CpuSet,
    /// On hybrid machines, the index of its kind in [`Machine::cpu_kinds`].
    pub kind: Option<usize>,
}

/// A hardware thread (logical CPU). All indexes except `os_index` are positions in the machine's lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pu {
    /// The number that the OS gives this CPU.
    pub os_index: u32,
    /// Its core; `None` if cores are not known.
    pub core: Option<usize>,
    /// Its package; `None` if packages are not known.
    pub package: Option<usize>,
    /// Its NUMA node; `None` if the OS assigns none.
    pub node: Option<usize>,
    /// The outermost cache that serves it.
    pub last_level_cache: Option<usize>,
}

/// A NUMA node: CPUs, memory, or both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// The OS's node number, as memory policies use it.
    pub os_index: u32,
    /// Its usable CPUs; every CPU belongs to at most one node. Empty for a memory-only node, such as high-bandwidth or
    /// CXL memory (hwloc itself lists the CPUs that such a node is attached to).
    pub cpus: CpuSet,
    /// Its memory. 0 if it has none, if the cgroup does not allow it, or if the description has no sizes.
    pub memory_bytes: u64,
}

/// A kind of core on a hybrid machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuKind {
    /// hwloc's name for it, such as "IntelAtom" or "IntelCore".
    pub name: Option<String>,
    /// hwloc's rank: a higher one is faster and less power-efficient. `None` if hwloc cannot rank the kinds.
    pub efficiency: Option<u32>,
    /// Usable CPUs of this kind.
    pub cpus: CpuSet,
}

/// CPUs and nodes that exist on the machine but may not be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// CPUs that are offline.
    pub offline: CpuSet,
    /// CPUs outside the cgroup's cpuset.
    pub cgroup: CpuSet,
    /// CPUs outside the process's own affinity mask, as set by taskset or numactl.
    pub affinity: CpuSet,
    /// Nodes whose memory the cgroup's cpuset does not allow.
    pub cgroup_nodes: NodeSet,
}

impl Excluded {
    /// Why a CPU was left out, for example "is offline". `None` if it was not.
    pub fn reason(&self, cpu: u32) -> Option<&'static str> {
        let reasons = [
            (&self.offline, "is offline"),
            (&self.cgroup, "is outside this process's cgroup cpuset"),
            (&self.affinity, "is outside this process's CPU affinity (taskset or numactl)"),
        ];
        reasons.into_iter().find(|(cpus, _)| cpus.contains(cpu)).map(|(_, reason)| reason)
    }
}

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
