//! Memory of a process in huge pages: transparent ones and those of a reserved pool.

use std::fs;
use tare_cpuset::observe::ObserveError;

/// Bytes of a process in huge pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HugeMemory {
    /// In transparent huge pages, which the kernel creates and may split by itself.
    pub transparent_bytes: u64,
    /// In pages of a reserved pool that the process requested explicitly (hugetlb).
    pub pool_bytes: u64,
}

/// Memory of a process that is now in huge pages, from `/proc/<pid>/smaps_rollup`. The kernel walks every page table
/// for it, as for [`pages_by_node`](super::pages_by_node): call it outside a measurement.
///
/// # Errors
/// When the process has ended, or belongs to another user.
pub fn huge_memory(pid: i32) -> Result<HugeMemory, ObserveError> {
    let path = format!("/proc/{pid}/smaps_rollup");
    fs::read_to_string(&path).map(|text| of(&text)).map_err(|e| ObserveError::of_io(&path, &e))
}

/// The names are those of the kernel's Documentation/filesystems/proc.rst.
fn of(rollup: &str) -> HugeMemory {
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
    fn transparent_and_pool_huge_pages_are_counted_separately() {
        let rollup = "55d0-7ffe ---p 00000000 00:00 0    [rollup]\nRss:  900 kB\nAnonHugePages:   4096 kB\n\
                      ShmemPmdMapped:  2048 kB\nFilePmdMapped:     0 kB\nShared_Hugetlb:  2048 kB\nPrivate_Hugetlb: 6144 kB\n";
        assert_eq!(of(rollup), HugeMemory { transparent_bytes: 6 << 20, pool_bytes: 8 << 20 });
        assert_eq!(of("damaged: kB\n"), HugeMemory::default());
        assert!(huge_memory(std::process::id().cast_signed()).is_ok());
    }
}
