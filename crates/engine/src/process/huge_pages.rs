//! Checks that a server has its requested huge pages: servers continue without them, and at most log that.

use crate::EngineError;
use tare_cpuset::observe::proc_text;

/// Fails with the option that requested huge pages if `pid` has fewer than `wanted_bytes` of them mapped.
pub(crate) fn verify(engine: &'static str, option: &str, pid: u32, wanted_bytes: u64) -> Result<(), EngineError> {
    let path = format!("/proc/{pid}/smaps");
    let maps = proc_text(&path).map_err(|e| EngineError::io("read", path.as_ref(), e))?;
    let found = huge_bytes(&maps, rustix::param::page_size() as u64);
    if found >= wanted_bytes {
        return Ok(());
    }
    let reason = format!(
        "the server has {} MiB in huge pages of the {} MiB that it needs: it fell back to small pages. Reserve huge \
         pages first (sysctl vm.nr_hugepages), or leave the option out",
        found >> 20,
        wanted_bytes.div_ceil(1 << 20)
    );
    Err(EngineError::OptionRefused { engine, option: option.to_owned(), reason })
}

/// Bytes of the mappings in `smaps` with pages larger than the base page size. Transparent huge pages are not
/// counted: the kernel may add and remove those at any time.
fn huge_bytes(maps: &str, page_bytes: u64) -> u64 {
    let mut size_kib = 0;
    let mut sum_kib = 0;
    for line in maps.lines() {
        let kib = |name: &str| -> Option<u64> { line.strip_prefix(name)?.trim().strip_suffix(" kB")?.parse().ok() };
        if let Some(size) = kib("Size:") {
            size_kib = size;
        } else if kib("KernelPageSize:").is_some_and(|page_kib| page_kib << 10 > page_bytes) {
            sum_kib += size_kib;
        }
    }
    sum_kib << 10
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "7f0000000000-7f0010000000 rw-s 00000000 00:0f 1  /anon_hugepage (deleted)\n\
                        Size:             262144 kB\nKernelPageSize:     2048 kB\nMMUPageSize:        2048 kB\n\
                        7f0020000000-7f0020100000 rw-p 00000000 00:00 0\n\
                        Size:               1024 kB\nKernelPageSize:        4 kB\nAnonHugePages:      2048 kB\n";

    #[test]
    fn only_mappings_of_larger_pages_count() {
        assert_eq!(huge_bytes(MAPS, 4096), 256 << 20);
        assert_eq!(huge_bytes("", 4096), 0);
    }

    #[test]
    fn a_server_without_its_huge_pages_fails_with_the_option() {
        let error = verify("mariadb", "large_pages", std::process::id(), 1 << 30).unwrap_err().to_string();
        assert!(error.contains("option large_pages") && error.contains("fell back"), "{error}");
        assert!(error.contains("of the 1024 MiB"), "{error}");
    }
}
