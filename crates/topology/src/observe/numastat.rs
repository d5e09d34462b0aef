//! Statistics of the page allocator for each node of the machine.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Page allocations of the whole machine on one node since boot: subtract two readings. See the kernel's
/// Documentation/admin-guide/numastat.rst.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStat {
    /// Pages allocated on this node as intended.
    pub hit: u64,
    /// Pages allocated on this node although another was preferred.
    pub miss: u64,
    /// Pages intended for this node but allocated on another.
    pub foreign: u64,
    /// Pages that an interleave policy intended for this node and that were allocated here.
    pub interleave_hit: u64,
    /// Pages allocated here for a thread that ran on this node.
    pub local: u64,
    /// Pages allocated here for a thread that ran on another node.
    pub other: u64,
}

impl NodeStat {
    /// The difference between `before` and this reading.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            hit: self.hit.saturating_sub(before.hit),
            miss: self.miss.saturating_sub(before.miss),
            foreign: self.foreign.saturating_sub(before.foreign),
            interleave_hit: self.interleave_hit.saturating_sub(before.interleave_hit),
            local: self.local.saturating_sub(before.local),
            other: self.other.saturating_sub(before.other),
        }
    }
}

/// `numastat` of every node under `nodes` (normally `/sys/devices/system/node`) by OS node number; empty on a kernel
/// without NUMA.
pub fn numastat(nodes: &Path) -> BTreeMap<u32, NodeStat> {
    let entries = std::fs::read_dir(nodes).into_iter().flatten().flatten();
    let stat = |entry: std::fs::DirEntry| {
        let number = entry.file_name().to_str()?.strip_prefix("node")?.parse().ok()?;
        Some((number, parse(&std::fs::read_to_string(entry.path().join("numastat")).ok()?)))
    };
    entries.filter_map(stat).collect()
}

fn parse(text: &str) -> NodeStat {
    let value = |name: &str| {
        let line = text.lines().filter_map(|line| line.split_once(' ')).find(|(key, _)| *key == name);
        line.and_then(|(_, value)| value.trim().parse().ok()).unwrap_or(0)
    };
    NodeStat {
        hit: value("numa_hit"),
        miss: value("numa_miss"),
        foreign: value("numa_foreign"),
        interleave_hit: value("interleave_hit"),
        local: value("local_node"),
        other: value("other_node"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_kernel_counts_what_this_process_allocates() {
        let nodes = Path::new("/sys/devices/system/node");
        let before = numastat(nodes);
        let pages = vec![1u8; 64 << 20];
        assert!(pages.iter().step_by(4096).all(|byte| *byte == 1));
        let after = numastat(nodes);
        let allocated: u64 = after.iter().filter_map(|(node, stat)| Some(stat.since(before.get(node)?).hit)).sum();
        // With huge pages the count is smaller.
        assert!(before.is_empty() || allocated >= 32, "{allocated} pages");
    }

    #[test]
    fn each_figure_is_read_by_its_name() {
        let text = "numa_hit 10\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 4\nlocal_node 5\nother_node 6\n";
        let stat = parse(text);
        assert_eq!(stat, NodeStat { hit: 10, miss: 2, foreign: 3, interleave_hit: 4, local: 5, other: 6 });
        let later = NodeStat { hit: 15, miss: 2, ..stat };
        assert_eq!(later.since(&stat), NodeStat { hit: 5, ..NodeStat::default() });
        assert_eq!(parse("nonsense"), NodeStat::default());
        assert!(numastat(Path::new("/nonexistent")).is_empty());
    }
}
