//! The server's memory by node, and the allocation counters of the nodes during a measurement.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use tare_cpuset::NodeSet;
use tare_results::covariate::{HUGE_POOL, HUGE_TRANSPARENT};
use tare_topology::observe::{self, HugeMemory, NodePages, NodeStat};
use tare_topology::{MemoryPolicy, Nodes};

const NODES: &str = "/sys/devices/system/node";

/// Allocation counters of all nodes at the start of a measurement.
pub(crate) struct MemoryWatch {
    before: BTreeMap<u32, NodeStat>,
}

impl MemoryWatch {
    /// Starts watching; reads one small file per node.
    pub(crate) fn start() -> Self {
        Self { before: observe::numastat(Path::new(NODES)) }
    }

    /// Pages of the whole machine by node; none on a single node, where no allocation can miss its node.
    pub(crate) fn finish(self) -> Vec<(String, f64)> {
        let after = observe::numastat(Path::new(NODES));
        if after.len() > 1 { allocated(&self.before, &after) } else { Vec::new() }
    }
}

fn allocated(before: &BTreeMap<u32, NodeStat>, after: &BTreeMap<u32, NodeStat>) -> Vec<(String, f64)> {
    let of_node = |(node, stat): (&u32, &NodeStat)| {
        let during = stat.since(before.get(node).unwrap_or(&NodeStat::default()));
        [("hit", during.hit), ("miss", during.miss), ("other", during.other)]
            .map(|(name, pages)| (format!("numa_{name}_pages_node{node}"), pages as f64))
    };
    after.iter().flat_map(of_node).collect()
}

/// Share of its memory that a server may have outside the nodes that it is bound to or interleaved over: memory that
/// the kernel itself placed for it.
const STRAY: f64 = 0.01;

/// The server's own allocations, and the pages of its mapped files, by OS node number.
pub(crate) fn covariates(pages: &BTreeMap<u32, NodePages>) -> impl Iterator<Item = (String, f64)> {
    pages.iter().flat_map(|(node, pages)| {
        [
            (format!("server_memory_bytes_node{node}"), pages.own_bytes() as f64),
            (format!("server_file_bytes_node{node}"), pages.file_bytes as f64),
        ]
    })
}

pub(crate) fn pool_covariates(pages: &BTreeMap<u32, NodePages>) -> impl Iterator<Item = (String, f64)> {
    pages.iter().map(|(node, pages)| (format!("server_pool_bytes_node{node}"), pages.bytes as f64))
}

pub(crate) fn huge_covariates(huge: HugeMemory) -> [(String, f64); 2] {
    [(HUGE_TRANSPARENT.to_owned(), huge.transparent_bytes as f64), (HUGE_POOL.to_owned(), huge.pool_bytes as f64)]
}

/// The nodes of a policy that binds to or interleaves over named nodes; [`misplaced`] looks for memory elsewhere.
pub(crate) fn named(policy: &MemoryPolicy) -> Option<&NodeSet> {
    match policy {
        MemoryPolicy::Bind(Nodes::These(requested))
        | MemoryPolicy::Interleave(Nodes::These(requested))
        | MemoryPolicy::WeightedInterleave(Nodes::These(requested)) => Some(requested),
        _ => None,
    }
}

/// Number of nodes of this machine, counted once; 0 on kernels without NUMA.
pub(crate) fn nodes() -> usize {
    static COUNTED: OnceLock<usize> = OnceLock::new();
    *COUNTED.get_or_init(|| observe::numastat(Path::new(NODES)).len())
}

/// The message when more than a hundredth of the memory `what` lies outside the nodes of a policy that binds to or
/// interleaves over named nodes: the kernel silently falls back to other nodes when one is full.
pub(crate) fn misplaced(what: &str, policy: &MemoryPolicy, pages: &BTreeMap<u32, NodePages>) -> Option<String> {
    let requested = named(policy)?;
    let bytes = |inside: bool| -> u64 {
        pages.iter().filter(|(node, _)| requested.contains(**node) == inside).map(|(_, pages)| pages.own_bytes()).sum()
    };
    let (inside, outside) = (bytes(true), bytes(false));
    let share = outside as f64 / (inside + outside).max(1) as f64;
    (share > STRAY)
        .then(|| format!("{what} should be {policy}, but {:.1}% of it ({outside} bytes) is elsewhere", 100.0 * share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_counts_are_differences_by_node() {
        let stat = |hit, miss| NodeStat { hit, miss, ..NodeStat::default() };
        let (before, after) = ([(0, stat(5, 1)), (1, stat(7, 0))].into(), [(0, stat(9, 1)), (1, stat(7, 3))].into());
        let found: BTreeMap<String, f64> = allocated(&before, &after).into_iter().collect();
        let of = |name: &str| found[name];
        assert_eq!((of("numa_hit_pages_node0"), of("numa_miss_pages_node0")), (4.0, 0.0));
        assert_eq!((of("numa_hit_pages_node1"), of("numa_miss_pages_node1")), (0.0, 3.0));
        assert_eq!(found.len(), 6);
    }

    #[test]
    fn this_process_has_memory_on_some_node() {
        let own = observe::pages_by_node(std::process::id().cast_signed()).unwrap();
        let found = |(name, bytes): (String, f64)| name.starts_with("server_memory_bytes_node") && bytes > 1e5;
        assert!(covariates(&own).any(found));
    }

    fn pages(bytes: &[(u32, u64, u64)]) -> BTreeMap<u32, NodePages> {
        let one = |(node, bytes, file_bytes): &(u32, u64, u64)| {
            (*node, NodePages { pages: bytes / 4096, bytes: *bytes, file_bytes: *file_bytes })
        };
        bytes.iter().map(one).collect()
    }

    #[test]
    fn memory_outside_the_policy_is_reported_and_file_pages_are_not_counted() {
        let on_two = pages(&[(0, 1000, 0), (1, 1000, 0)]);
        for policy in ["bind:0", "interleave:1", "weighted-interleave:0"] {
            let text = misplaced("the data", &policy.parse().unwrap(), &on_two).unwrap();
            assert!(text.contains(policy) && text.contains("50.0%"), "{text}");
        }
        for policy in ["default", "local", "preferred:0", "bind:0-1", "interleave:0-2"] {
            assert_eq!(misplaced("the data", &policy.parse().unwrap(), &on_two), None, "{policy}");
        }
        let bound = "bind:0".parse().unwrap();
        assert_eq!(misplaced("the data", &bound, &pages(&[(0, 1000, 0), (1, 1005, 1000)])), None);
        assert_eq!(misplaced("the data", &bound, &BTreeMap::new()), None);
    }
}
