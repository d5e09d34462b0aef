//! Pages of a process by NUMA node and by memory policy.

use super::numa_maps::{Mapping, mappings, policy_of};
use crate::MemoryPolicy;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use tare_cpuset::observe::{ObserveError, proc_text};

/// Pages of a process on one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePages {
    /// Number of pages; their size differs between mappings.
    pub pages: u64,
    /// Bytes of these pages.
    pub bytes: u64,
    /// Of these bytes, those of mapped files: programs, libraries, data read through a mapping. Their node was chosen
    /// when any process first read or wrote the file, so this process's memory policy does not determine it alone.
    /// Shared memory without a file (System V, memfd, anonymous) is not included.
    pub file_bytes: u64,
}

impl NodePages {
    /// Bytes that the process's own memory policy placed: all except those of mapped files.
    pub fn own_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.file_bytes)
    }
}

/// Beginnings of the kernel's names for shared memory that is not a file of a file system.
const NO_REAL_FILE: [&str; 5] = ["/dev/zero", "/SYSV", "/memfd:", "/anon_hugepage", "/dev/shm/"];

/// Resident pages of a process by OS node number, from `/proc/<pid>/numa_maps`.
///
/// The kernel walks every page table for this, holding the process's memory map for reading: milliseconds for each
/// gigabyte. Call it outside a measurement.
///
/// # Errors
/// When the process has ended, or belongs to another user.
pub fn pages_by_node(pid: i32) -> Result<BTreeMap<u32, NodePages>, ObserveError> {
    let path = format!("/proc/{pid}/numa_maps");
    let failed = |e: io::Error| ObserveError::of_io(&path, &e);
    let mut nodes = BTreeMap::new();
    for mapping in mappings(&path).map_err(failed)? {
        add(&mut nodes, &mapping.map_err(failed)?);
    }
    Ok(nodes)
}

/// The pages of a process in mappings with a given memory policy, and all others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PagesByPolicy {
    /// Pages of mappings with this policy, by OS node number.
    pub under: BTreeMap<u32, NodePages>,
    /// Size of the address ranges of these mappings, bytes.
    pub under_bytes: u64,
    /// Pages of all other mappings, by OS node number.
    pub others: BTreeMap<u32, NodePages>,
}

/// Resident pages of a process by node, separately for mappings with a policy. See [`pages_by_node`] for its cost.
///
/// # Errors
/// When the process has ended, or belongs to another user.
pub fn pages_by_policy(pid: i32, policy: &MemoryPolicy) -> Result<PagesByPolicy, ObserveError> {
    let (path, of_sizes) = (format!("/proc/{pid}/numa_maps"), format!("/proc/{pid}/maps"));
    let failed = |e: io::Error| ObserveError::of_io(&path, &e);
    let sizes = proc_text(&of_sizes).map_err(|e| ObserveError::of_io(&of_sizes, &e))?;
    let sizes: BTreeMap<u64, u64> = sizes.lines().filter_map(size).collect();
    let mut found = PagesByPolicy::default();
    for mapping in mappings(&path).map_err(failed)? {
        let mapping = mapping.map_err(failed)?;
        if policy_of(&mapping.policy).as_ref() == Some(policy) {
            found.under_bytes += sizes.get(&mapping.start).copied().unwrap_or(0);
            add(&mut found.under, &mapping);
        } else {
            add(&mut found.others, &mapping);
        }
    }
    Ok(found)
}

/// Start and size of the mapping of a line of /proc/PID/maps.
fn size(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_ascii_whitespace().next()?.split_once('-')?;
    let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
    Some((start, end.checked_sub(start)?))
}

/// Whether the name of a mapping is that of shared memory that is not a file of a file system.
pub(crate) fn is_shared_memory(name: &str) -> bool {
    NO_REAL_FILE.iter().any(|start| name.starts_with(start))
}

fn add(nodes: &mut BTreeMap<u32, NodePages>, mapping: &Mapping) {
    let of_file = mapping.file.as_ref().is_some_and(|path| !is_shared_memory(path));
    for (node, pages) in &mapping.pages {
        let sum = nodes.entry(*node).or_default();
        let bytes = pages * mapping.page_bytes;
        sum.pages += pages;
        sum.bytes += bytes;
        sum.file_bytes += if of_file { bytes } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_summed_in_their_own_size() {
        let mapping = |file: Option<&str>, page_bytes, pages: &[(u32, u64)]| Mapping {
            start: 0,
            policy: "default".to_owned(),
            file: file.map(str::to_owned),
            stack: false,
            page_bytes,
            pages: pages.to_vec(),
        };
        let mut nodes = BTreeMap::new();
        add(&mut nodes, &mapping(Some("/a/b"), 4096, &[(0, 2), (1, 3)]));
        add(&mut nodes, &mapping(None, 2 << 20, &[(0, 1), (1, 1)]));
        add(&mut nodes, &mapping(Some("/dev/zero\\040(deleted)"), 4096, &[(1, 1)]));
        add(&mut nodes, &mapping(None, 4096, &[]));
        assert_eq!(nodes[&0], NodePages { pages: 3, bytes: 2 * 4096 + (2 << 20), file_bytes: 2 * 4096 });
        assert_eq!(nodes[&1], NodePages { pages: 5, bytes: 4 * 4096 + (2 << 20), file_bytes: 3 * 4096 });
        assert_eq!(nodes[&1].own_bytes(), 4096 + (2 << 20));
    }
}
