use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use serde::{Deserialize, Serialize};

use super::error::ObserveError;

/// Pages of a process on one node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePages {
    /// Pages, of whatever size each mapping has.
    pub pages: u64,
    /// The same in bytes.
    pub bytes: u64,
    /// Of these bytes, those of mapped files: programs, libraries, data read through a mapping. They lie where whoever
    /// read or wrote the file first put them, so no memory policy of this process decides alone. Shared memory without
    /// a file of its own (System V, memfd, anonymous) is not among them.
    pub file_bytes: u64,
}

impl NodePages {
    /// Bytes that the process's own memory policy placed: all but those of mapped files.
    pub fn own_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.file_bytes)
    }
}

/// How the kernel names shared memory that is no file of a file system.
const NO_REAL_FILE: [&str; 5] = ["/dev/zero", "/SYSV", "/memfd:", "/anon_hugepage", "/dev/shm/"];

/// Resident pages of a process by OS node number, from `/proc/<pid>/numa_maps`.
///
/// The kernel walks every page table for this, holding the process's memory map for reading: milliseconds for each
/// gigabyte. Call it outside a measurement.
pub fn pages_by_node(pid: i32) -> Result<BTreeMap<u32, NodePages>, ObserveError> {
    let path = format!("/proc/{pid}/numa_maps");
    let file = File::open(&path).map_err(|e| ObserveError::io(&path, &e))?;
    let mut nodes = BTreeMap::new();
    for line in BufReader::new(file).split(b'\n') {
        // File names may be any bytes; the fields that count are ASCII.
        let line = line.map_err(|e| ObserveError::io(&path, &e))?;
        add(&mut nodes, &String::from_utf8_lossy(&line));
    }
    Ok(nodes)
}

/// A line is an address, a policy and `key=value` fields: `N0=5` counts pages of `kernelpagesize_kB`. Blanks in file
/// names are escaped by the kernel, so splitting at blanks is safe.
fn add(nodes: &mut BTreeMap<u32, NodePages>, line: &str) {
    let fields = || line.split(' ').filter_map(|field| field.split_once('='));
    let page_kib = fields().find(|(key, _)| *key == "kernelpagesize_kB").and_then(|(_, v)| v.parse().ok());
    let of_file =
        fields().any(|(key, path)| key == "file" && !NO_REAL_FILE.iter().any(|start| path.starts_with(start)));
    for (key, value) in fields() {
        let node = key.strip_prefix('N').and_then(|node| node.parse::<u32>().ok());
        if let (Some(node), Ok(pages)) = (node, value.parse::<u64>()) {
            let sum = nodes.entry(node).or_default();
            sum.pages += pages;
            let bytes = pages * page_kib.unwrap_or(4) * 1024;
            sum.bytes += bytes;
            sum.file_bytes += if of_file { bytes } else { 0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_summed_in_their_own_size() {
        let mut nodes = BTreeMap::new();
        add(&mut nodes, "55d0 default file=/a/N0=7 mapped=5 N0=2 N1=3 kernelpagesize_kB=4");
        add(&mut nodes, "7f00 interleave:0-1 anon=2 huge N0=1 N1=1 kernelpagesize_kB=2048");
        add(&mut nodes, "7f80 default file=/dev/zero\\040(deleted) dirty=1 N1=1 kernelpagesize_kB=4");
        add(&mut nodes, "7fff default");
        assert_eq!(nodes[&0], NodePages { pages: 3, bytes: 2 * 4096 + (2 << 20), file_bytes: 2 * 4096 });
        assert_eq!(nodes[&1], NodePages { pages: 5, bytes: 4 * 4096 + (2 << 20), file_bytes: 3 * 4096 });
        assert_eq!(nodes[&1].own_bytes(), 4096 + (2 << 20));
    }
}
