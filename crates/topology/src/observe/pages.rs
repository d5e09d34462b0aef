//! Pages of a process by NUMA node and by memory policy, from `/proc/<pid>/numa_maps`, and its memory in huge pages:
//! transparent ones and those of a reserved pool.

use crate::{MemoryPolicy, Nodes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mapping {
    /// Its first address, to look up its size in /proc/PID/maps.
    pub start: u64,
    /// The policy of its pages in the kernel's words, such as `interleave:0-1` or `weighted interleave:0-1`.
    pub policy: String,
    /// The file it maps, with blanks escaped; `None` for memory without a file.
    pub file: Option<String>,
    /// Whether it is the stack of the process's first thread.
    pub stack: bool,
    pub page_bytes: u64,
    /// Number of pages on each node, by OS node number.
    pub pages: Vec<(u32, u64)>,
}

/// All mappings, in order. Unknown lines are skipped, because the format differs between kernels.
///
/// The kernel walks every page table for this, holding the process's memory map for reading: milliseconds for each
/// gigabyte.
pub(crate) fn mappings(path: &str) -> io::Result<impl Iterator<Item = io::Result<Mapping>>> {
    let lines = BufReader::new(File::open(path)?).split(b'\n');
    // File names may have any bytes; the fields that are used are ASCII.
    Ok(lines.filter_map(|line| line.map(|line| mapping(&String::from_utf8_lossy(&line))).transpose()))
}

/// Parses a line: an address, a policy (whose name may contain a blank) and fields such as `N0=5`, a number of pages of
/// size `kernelpagesize_kB`. The kernel escapes blanks in file names, so splitting at blanks is safe.
fn mapping(line: &str) -> Option<Mapping> {
    let (address, rest) = line.split_once(' ')?;
    let start = u64::from_str_radix(address, 16).ok()?;
    let two_words = ["prefer (many)", "weighted interleave"];
    let word = two_words.iter().find(|words| rest.starts_with(**words)).map_or(0, |words| words.len());
    let end = rest[word..].find(' ').map_or(rest.len(), |end| word + end);
    let (policy, fields) = rest.split_at(end);
    let mut found =
        Mapping { start, policy: policy.to_owned(), file: None, stack: false, page_bytes: 4096, pages: Vec::new() };
    for field in fields.split(' ') {
        match field.split_once('=') {
            None => found.stack |= field == "stack",
            Some(("file", path)) => found.file = Some(path.to_owned()),
            Some(("kernelpagesize_kB", kib)) => found.page_bytes = kib.parse::<u64>().ok()?.checked_mul(1024)?,
            Some((key, value)) => {
                let node = key.strip_prefix('N').and_then(|node| node.parse().ok());
                found.pages.extend(node.zip(value.parse().ok()));
            }
        }
    }
    Some(found)
}

/// Parses a policy in the kernel's words: `bind:0-1`, `interleave:0,2`, `weighted interleave:0`, `prefer:1`,
/// `prefer (many):1`, `local`, `default`.
pub(crate) fn policy_of(shown: &str) -> Option<MemoryPolicy> {
    match shown.split_once(':') {
        None if shown == "default" => Some(MemoryPolicy::Default),
        None if shown == "local" => Some(MemoryPolicy::Local),
        Some(("bind", nodes)) => Some(MemoryPolicy::Bind(Nodes::These(nodes.parse().ok()?))),
        Some(("interleave", nodes)) => Some(MemoryPolicy::Interleave(Nodes::These(nodes.parse().ok()?))),
        Some(("weighted interleave", nodes)) => {
            Some(MemoryPolicy::WeightedInterleave(Nodes::These(nodes.parse().ok()?)))
        }
        Some(("prefer" | "prefer (many)", node)) => Some(MemoryPolicy::Preferred(node.parse().ok()?)),
        _ => None,
    }
}

/// Bytes of a process in huge pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HugeMemory {
    /// In transparent huge pages, which the kernel creates and may split by itself.
    pub transparent_bytes: u64,
    /// In pages of a reserved pool that the process requested explicitly (hugetlb).
    pub pool_bytes: u64,
}

/// Memory of a process that is now in huge pages, from `/proc/<pid>/smaps_rollup`. The kernel walks every page table
/// for it, as for [`pages_by_node`]: call it outside a measurement.
///
/// # Errors
/// When the process has ended, or belongs to another user.
pub fn huge_memory(pid: i32) -> Result<HugeMemory, ObserveError> {
    let path = format!("/proc/{pid}/smaps_rollup");
    fs::read_to_string(&path).map(|text| of_rollup(&text)).map_err(|e| ObserveError::of_io(&path, &e))
}

/// The names are those of the kernel's Documentation/filesystems/proc.rst.
fn of_rollup(rollup: &str) -> HugeMemory {
    let mut found = HugeMemory::default();
    for line in rollup.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let Some(kib) = value.trim().strip_suffix(" kB").and_then(|kib| kib.parse::<u64>().ok()) else { continue };
        let bytes = kib.saturating_mul(1024);
        match name {
            "AnonHugePages" | "ShmemPmdMapped" | "FilePmdMapped" => found.transparent_bytes += bytes,
            "Private_Hugetlb" | "Shared_Hugetlb" => found.pool_bytes += bytes,
            _ => {}
        }
    }
    found
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

    #[test]
    fn a_line_gives_its_policy_file_and_pages() {
        let line = "55d0 default file=/a/N0=7 mapped=5 N0=2 N11=3 kernelpagesize_kB=4";
        let file = Some("/a/N0=7".to_owned());
        let expected = Mapping {
            start: 0x55d0,
            policy: "default".to_owned(),
            file,
            stack: false,
            page_bytes: 4096,
            pages: vec![(0, 2), (11, 3)],
        };
        assert_eq!(mapping(line), Some(expected));
        let huge = mapping("7f00 interleave:0-1 anon=2 huge N0=1 N1=1 kernelpagesize_kB=2048").unwrap();
        assert_eq!((huge.policy.as_str(), huge.page_bytes, huge.pages.len()), ("interleave:0-1", 2 << 20, 2));
    }

    #[test]
    fn policies_of_two_words_stay_whole() {
        for policy in ["prefer (many):0-1", "weighted interleave:0,2", "bind=static:0", "local", "default"] {
            let stack = mapping(&format!("7ffe0000 {policy} stack anon=3 N0=3 kernelpagesize_kB=4")).unwrap();
            assert_eq!((stack.policy.as_str(), stack.stack), (policy, true));
            assert_eq!(mapping(&format!("7ffe0000 {policy}")).unwrap().policy, policy);
        }
    }

    #[test]
    fn a_line_that_is_no_mapping_is_skipped() {
        for line in ["", "default", "nonsense here", "7f00 default kernelpagesize_kB=99999999999999999999"] {
            assert_eq!(mapping(line), None, "{line:?}");
        }
    }

    #[test]
    fn every_policy_notation_of_the_kernel_is_parsed() {
        for (shown, expected) in [
            ("default", Some("default")),
            ("local", Some("local")),
            ("bind:0-1,3", Some("bind:0-1,3")),
            ("interleave:0-3", Some("interleave:0-3")),
            ("prefer:1", Some("preferred:1")),
            ("prefer (many):1", Some("preferred:1")),
            ("prefer (many):0-1", None),
            ("bind=static:0", None),
            ("weighted interleave:0,2", Some("weighted-interleave:0,2")),
        ] {
            assert_eq!(policy_of(shown).map(|p| p.to_string()).as_deref(), expected, "{shown}");
        }
    }

    #[test]
    fn transparent_and_pool_huge_pages_are_counted_separately() {
        let rollup = "55d0-7ffe ---p 00000000 00:00 0    [rollup]\nRss:  900 kB\nAnonHugePages:   4096 kB\n\
                      ShmemPmdMapped:  2048 kB\nFilePmdMapped:     0 kB\nShared_Hugetlb:  2048 kB\nPrivate_Hugetlb: 6144 kB\n";
        assert_eq!(of_rollup(rollup), HugeMemory { transparent_bytes: 6 << 20, pool_bytes: 8 << 20 });
        assert_eq!(of_rollup("damaged: kB\n"), HugeMemory::default());
        assert!(huge_memory(std::process::id().cast_signed()).is_ok());
    }
}
