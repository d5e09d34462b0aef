//! Where the server's memory is, node by node, and how the nodes' allocators served while something was measured.

use super::pages;
use std::collections::BTreeMap;
use std::path::Path;
use tare_topology::observe::{self, NodePages, NodeStat};

/// Where the kernel keeps what it knows of each node.
const NODES: &str = "/sys/devices/system/node";

/// The allocators of all nodes at the start of a measurement.
pub struct MemoryWatch {
    before: BTreeMap<u32, NodeStat>,
}

impl MemoryWatch {
    /// Starts watching: one small file a node.
    pub fn start() -> Self {
        Self { before: observe::numastat(Path::new(NODES)) }
    }

    /// Bytes of the server by node, and pages by node of the whole machine. With a single node there is nothing to
    /// miss.
    pub fn finish(self, server: &BTreeMap<u32, NodePages>) -> BTreeMap<String, f64> {
        let mut covariates: BTreeMap<String, f64> = pages::covariates(server).collect();
        let after = observe::numastat(Path::new(NODES));
        if after.len() > 1 {
            covariates.extend(allocated(&self.before, &after));
        }
        covariates
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_differences_by_node() {
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
        let covariates = MemoryWatch::start().finish(&own);
        assert!(covariates.iter().any(|(name, bytes)| name.starts_with("server_memory_bytes_node") && *bytes > 1e5));
    }
}
