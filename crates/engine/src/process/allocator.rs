//! The memory allocator of a server: the C library's, or a preloaded one.

use crate::EngineError;
use procfs::process::{MMapPath, MemoryMaps};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::{fmt, fs};
use tare_cpuset::observe::parse;

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
