//! Where the server's memory lies: by node, and whether that is where it was asked to be.

use std::collections::BTreeMap;
use tare_topology::observe::{HugeMemory, NodePages};
use tare_topology::{MemoryPolicy, Nodes};

/// Share of its memory that a server may have outside the nodes that it is bound to or interleaved over: what the
/// kernel itself put there for it.
const STRAY: f64 = 0.01;

/// What the server allocated itself, and the pages of files it has mapped, by OS node number.
pub fn covariates(pages: &BTreeMap<u32, NodePages>) -> impl Iterator<Item = (String, f64)> {
    pages.iter().flat_map(|(node, pages)| {
        [
            (format!("server_memory_bytes_node{node}"), pages.own_bytes() as f64),
            (format!("server_file_bytes_node{node}"), pages.file_bytes as f64),
        ]
    })
}

pub fn pool_covariates(pages: &BTreeMap<u32, NodePages>) -> impl Iterator<Item = (String, f64)> {
    pages.iter().map(|(node, pages)| (format!("server_pool_bytes_node{node}"), pages.bytes as f64))
}

pub fn huge_covariates(huge: HugeMemory) -> [(String, f64); 2] {
    [
        ("server_transparent_huge_bytes".to_owned(), huge.transparent_bytes as f64),
        ("server_huge_pool_bytes".to_owned(), huge.pool_bytes as f64),
    ]
}

/// What to say when more than a hundredth of the memory (`what` says whose it is) lies outside the nodes of a policy
/// that names nodes for good:
/// the kernel falls back to other nodes in silence when one is full.
pub fn stray(what: &str, policy: &MemoryPolicy, pages: &BTreeMap<u32, NodePages>) -> Option<String> {
    let (MemoryPolicy::Bind(Nodes::These(asked))
    | MemoryPolicy::Interleave(Nodes::These(asked))
    | MemoryPolicy::WeightedInterleave(Nodes::These(asked))) = policy
    else {
        return None;
    };
    let bytes = |inside: bool| -> u64 {
        pages.iter().filter(|(node, _)| asked.contains(**node) == inside).map(|(_, pages)| pages.own_bytes()).sum()
    };
    let (inside, outside) = (bytes(true), bytes(false));
    let share = outside as f64 / (inside + outside).max(1) as f64;
    (share > STRAY)
        .then(|| format!("{what} was to be {policy}, and {:.1}% of it ({outside} bytes) lies elsewhere", 100.0 * share))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(bytes: &[(u32, u64, u64)]) -> BTreeMap<u32, NodePages> {
        let one = |(node, bytes, file_bytes): &(u32, u64, u64)| {
            (*node, NodePages { pages: bytes / 4096, bytes: *bytes, file_bytes: *file_bytes })
        };
        bytes.iter().map(one).collect()
    }

    #[test]
    fn memory_elsewhere_is_told_and_files_are_not_counted() {
        let on_two = pages(&[(0, 1000, 0), (1, 1000, 0)]);
        for policy in ["bind:0", "interleave:1", "weighted-interleave:0"] {
            let text = stray("the data", &policy.parse().unwrap(), &on_two).unwrap();
            assert!(text.contains(policy) && text.contains("50.0%"), "{text}");
        }
        for policy in ["default", "local", "preferred:0", "bind:0-1", "interleave:0-2"] {
            assert_eq!(stray("the data", &policy.parse().unwrap(), &on_two), None, "{policy}");
        }
        let bound = "bind:0".parse().unwrap();
        assert_eq!(stray("the data", &bound, &pages(&[(0, 1000, 0), (1, 1005, 1000)])), None);
        assert_eq!(stray("the data", &bound, &BTreeMap::new()), None);
    }
}
