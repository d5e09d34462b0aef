//! A server program, and what distinguishes it from every other one.

use super::symbols::build_id;
use crate::EngineError;
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, io};

/// Where distributions put servers, usually outside a user's PATH.
const MORE_PLACES: [&str; 5] =
    ["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mariadb/bin", "/usr/local/mysql/bin"];
/// The loader searches these folders for libraries first.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// The file of the running program. If its name now belongs to another file or to none, as after an upgrade, the
/// kernel's link /proc/self/exe. The kernel calls a deleted program `NAME (deleted)`, and any user may have put a
/// file there.
///
/// # Errors
/// When /proc does not report the running program.
pub fn own_program() -> io::Result<PathBuf> {
    let running = Path::new("/proc/self/exe");
    let file = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino()));
    let (named, own) = (env::current_exe()?, file(running)?);
    Ok(if file(&named).is_ok_and(|found| found == own) { named } else { running.to_owned() })
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    pub path: PathBuf,
    /// The product that it reports itself: MariaDB, MySQL, Percona Server, PostgreSQL, SQLite.
    pub product: &'static str,
    pub version: String,
    /// The linker's build id of exactly this build, in hexadecimal digits; none if it has none.
    pub build_id: Option<String>,
    /// How it was compiled, if its build or installation tree records that: names and values as recorded.
    pub build: BTreeMap<String, String>,
    /// Version, path, size and modification time: changes whenever the program does.
    pub identity: String,
    /// Folders of its own libraries, joined by colons, if it needs more than the system's.
    pub libraries: Option<String>,
}

impl Binary {
    /// The program at this path, without symbolic links.
    pub(crate) fn identified(
        path: PathBuf,
        product: &'static str,
        version: String,
        libraries: Option<String>,
    ) -> Result<Self, EngineError> {
        let file = path.metadata().map_err(|source| EngineError::io("access", &path, source))?;
        let changed = format!("{} bytes; modified {}.{}", file.len(), file.mtime(), file.mtime_nsec());
        let identity = format!("{version}; {}; {changed}", path.display());
        let build_id = build_id(&path);
        Ok(Self { path, product, version, build_id, build: BTreeMap::new(), identity, libraries })
    }

    pub(crate) fn environment(&self, requested: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let own = self.libraries.as_ref().map(|libraries| (LIBRARY_PATH.to_owned(), libraries.clone()));
        own.into_iter().chain(requested.clone()).collect()
    }
}

/// Folders in which to look for programs: `first`, then those in PATH, then the usual folders of servers.
pub(crate) fn places(first: &[PathBuf]) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    first.iter().cloned().chain(env::split_paths(&path)).chain(MORE_PLACES.iter().map(PathBuf::from)).collect()
}

static PREFERRED: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();

/// Sets the default program of each engine, by the engine's name, from the user's own settings file. Only the first
/// call has an effect.
pub fn prefer_programs(programs: BTreeMap<String, PathBuf>) {
    let _ = PREFERRED.set(programs);
}

/// The given program, otherwise the preferred one of this engine.
pub(crate) fn named<'a>(explicit: Option<&'a Path>, engine: &str) -> Option<&'a Path> {
    explicit.or_else(|| PREFERRED.get()?.get(engine).map(PathBuf::as_path))
}

/// The path of a program that the user named.
pub(crate) fn existing(path: &Path) -> Result<PathBuf, EngineError> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    let reason = "there is no program at this path; name one that exists".to_owned();
    Err(EngineError::BinaryUnusable { path: path.to_owned(), reason })
}

pub(crate) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Reports a file without execute permission, which unpacking a jar or zip archive drops.
pub(crate) fn check_may_run(path: &Path) -> Result<(), EngineError> {
    if path.is_file() && !is_program(path) {
        let reason = format!("is not executable: chmod +x {}", path.display());
        return Err(EngineError::BinaryUnusable { path: path.to_owned(), reason });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_executable_differs_from_a_missing_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mysqld");
        assert!(check_may_run(&path).is_ok());
        assert!(
            existing(&path)
                .unwrap_err()
                .to_string()
                .ends_with("mysqld: there is no program at this path; name one that exists")
        );
        std::fs::write(&path, "").unwrap();
        let error = check_may_run(&path).unwrap_err().to_string();
        assert!(error.contains("chmod +x") && error.contains("mysqld"), "{error}");
        assert!(check_may_run(Path::new("/bin/sh")).is_ok());
    }
}
