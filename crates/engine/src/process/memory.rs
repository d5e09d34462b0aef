//! The memory of a server: its allocator (the C library's, or a preloaded one), and a check that it has its requested
//! huge pages, because servers continue without them, and at most log that.

use crate::EngineError;
use procfs::process::{MMapPath, MemoryMaps};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, fs};
use tare_cpuset::observe::{parse, proc_text};

/// Folders in which distributions put shared libraries, Debian's multiarch folders first.
const FOLDERS: [&str; 8] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/usr/local/lib",
];
/// Beginnings of the file names of preloaded allocators.
const KNOWN: [&str; 4] = ["libjemalloc", "libtcmalloc", "libmimalloc", "libhoard"];

/// The memory allocator that the server is linked with, or that is preloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allocator {
    System,
    Jemalloc,
    /// tcmalloc without its profiler, preloaded.
    Tcmalloc,
    Library(PathBuf),
}

impl Allocator {
    /// The library to preload; none for the server's own allocator.
    pub fn library(&self) -> Result<Option<PathBuf>, String> {
        let (file, package) = match self {
            Self::System => return Ok(None),
            Self::Jemalloc => ("libjemalloc.so.2", "libjemalloc2"),
            Self::Tcmalloc => ("libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"),
            Self::Library(path) if path.is_file() => return Ok(Some(path.clone())),
            Self::Library(path) => return Err(format!("there is no file {}", path.display())),
        };
        let found = FOLDERS.iter().map(|folder| Path::new(folder).join(file)).find(|path| path.is_file());
        let missing = || format!("{file} is not installed: sudo apt-get install {package}");
        found.map(Some).ok_or_else(missing)
    }

    /// Reads it back from the running server.
    ///
    /// # Errors
    /// [`EngineError::NotInEffect`] when the library is not mapped, or for [`Allocator::System`] another allocator is.
    pub fn verify(&self, pid: u32) -> Result<String, EngineError> {
        let different =
            |found: String| EngineError::NotInEffect { setting: "allocator", requested: self.to_string(), found };
        let maps: MemoryMaps = parse(&format!("/proc/{pid}/maps")).map_err(|e| different(e.to_string()))?;
        let paths =
            maps.iter().filter_map(|map| if let MMapPath::Path(path) = &map.pathname { path.to_str() } else { None });
        let mapped = |wanted: &dyn Fn(&str) -> bool| paths.clone().find(|path| wanted(path)).map(str::to_owned);
        if let Some(library) = self.library().map_err(different)? {
            let real = fs::canonicalize(&library).unwrap_or(library);
            let found = mapped(&|path| path == real.to_string_lossy());
            return match found {
                Some(path) => Ok(format!("{path} mapped by the server process")),
                None => Err(different("the library is not mapped".into())),
            };
        }
        let is_other = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or_default();
            KNOWN.iter().any(|known| name.starts_with(known))
        };
        match mapped(&is_other) {
            Some(path) => Err(different(format!("{path} mapped"))),
            None => Ok("no other allocator mapped by the server process".to_owned()),
        }
    }
}

impl fmt::Display for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("system"),
            Self::Jemalloc => f.write_str("jemalloc"),
            Self::Tcmalloc => f.write_str("tcmalloc"),
            Self::Library(path) => write!(f, "{}", path.display()),
        }
    }
}

impl FromStr for Allocator {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "system" => Ok(Self::System),
            "jemalloc" => Ok(Self::Jemalloc),
            "tcmalloc" => Ok(Self::Tcmalloc),
            path if path.starts_with('/') => Ok(Self::Library(path.into())),
            _ => Err("system, jemalloc, tcmalloc or the path of a library".into()),
        }
    }
}

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
