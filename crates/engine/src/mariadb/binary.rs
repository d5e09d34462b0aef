//! Finding the server program and the script that makes its data directories.

use std::env;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::super::ask::ask;
use super::super::{Binary, EngineError};
use super::names::NAME;

const INSTALL: &str = "sudo apt-get install mariadb-server";
/// Where distributions put servers and a user's PATH usually does not look.
const MORE_PLACES: [&str; 5] =
    ["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mariadb/bin", "/usr/local/mysql/bin"];

/// The server program: `explicit`, else `mariadbd` in PATH and the usual places.
pub(super) fn find(explicit: Option<&Path>) -> Result<Binary, EngineError> {
    let path = match explicit {
        Some(path) if is_program(path) => path.to_owned(),
        Some(path) => return Err(missing("mariadbd", vec![path.to_owned()])),
        None => search("mariadbd", &[])?,
    };
    let path = std::fs::canonicalize(&path).map_err(|source| EngineError::io("resolve", &path, source))?;
    let version = if is_safe_script(&path) { version_of(&behind_safe_script(&path)?)? } else { version_of(&path)? };
    identified(path, version)
}

/// A program with all that tells it from another one at the same place.
pub(in super::super) fn identified(path: PathBuf, version: String) -> Result<Binary, EngineError> {
    let file = path.metadata().map_err(|source| EngineError::io("look at", &path, source))?;
    let identity =
        format!("{version}; {}; {} bytes; modified {}.{}", path.display(), file.len(), file.mtime(), file.mtime_nsec());
    Ok(Binary { path, version, identity })
}

/// `mariadb-install-db` of the same installation, else the one in PATH.
pub(super) fn install_script(server: &Path) -> Result<PathBuf, EngineError> {
    let beside: Vec<PathBuf> = match server.parent() {
        Some(bin) => ["", "../bin", "../scripts"].iter().map(|place| bin.join(place)).collect(),
        None => Vec::new(),
    };
    search("mariadb-install-db", &beside)
}

/// The installation's top directory, where it is not the system's: the script then needs to be told.
pub(super) fn base_directory(server: &Path) -> Option<PathBuf> {
    let base = server.parent()?.parent()?;
    (base != Path::new("/usr") && base.join("share").is_dir()).then(|| base.to_owned())
}

/// Whether this is mariadbd-safe, the script of MariaDB that starts the server and stays to start it again.
pub(super) fn is_safe_script(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "mariadbd-safe" || name == "mysqld_safe")
}

/// The server that the script starts: it looks beside itself, as here. Asked for a version the script itself would
/// start that server on the system's own data directory.
fn behind_safe_script(script: &Path) -> Result<PathBuf, EngineError> {
    let bin = script.parent().unwrap_or(Path::new("/"));
    search("mariadbd", &["", "../sbin", "../libexec"].map(|place| bin.join(place)))
}

fn search(program: &str, first: &[PathBuf]) -> Result<PathBuf, EngineError> {
    let places = places(first);
    let found = places.iter().map(|place| place.join(program)).find(|candidate| is_program(candidate));
    found.ok_or_else(|| missing(program, places))
}

/// Directories where programs are: these, then those of the PATH, then where servers usually lie.
pub(in super::super) fn places(first: &[PathBuf]) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    first.iter().cloned().chain(env::split_paths(&path)).chain(MORE_PLACES.iter().map(PathBuf::from)).collect()
}

fn missing(program: &str, searched: Vec<PathBuf>) -> EngineError {
    EngineError::BinaryMissing { engine: NAME, program: program.to_owned(), searched, install: INSTALL }
}

pub(in super::super) fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// The word after "Ver" in what `--version` prints.
fn version_of(path: &Path) -> Result<String, EngineError> {
    let unusable = |reason: String| EngineError::BinaryUnusable { path: path.to_owned(), reason };
    let text = ask(path, &["--no-defaults", "--version"])?;
    let version = text.split_once("Ver ").and_then(|(_, rest)| rest.split_whitespace().next());
    match version {
        Some(version) if text.contains("MariaDB") => Ok(version.to_owned()),
        _ => Err(unusable(format!("is not a MariaDB server: --version prints {:?}", start(&text)))),
    }
}

/// As much of an answer as an error shows.
pub(in super::super) fn start(text: &str) -> String {
    text.trim().chars().take(200).collect()
}

/// Major and minor number of a version: data directories are compatible inside one such series.
pub(in super::super) fn series(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_the_first_two_numbers() {
        assert_eq!(series("10.11.19-MariaDB-0+deb12u1"), Some((10, 11)));
        assert_eq!(series("11.4.2-MariaDB"), Some((11, 4)));
        assert_eq!(series("MariaDB"), None);
    }

    #[test]
    fn a_missing_binary_comes_with_the_command_that_installs_it() {
        let error = find(Some(Path::new("/nonexistent/mariadbd"))).unwrap_err().to_string();
        assert!(error.contains(INSTALL) && error.contains("/nonexistent/mariadbd"), "{error}");
    }

    #[test]
    fn another_program_is_no_server() {
        let error = find(Some(Path::new("/bin/sh"))).unwrap_err();
        assert!(matches!(error, EngineError::BinaryUnusable { .. }), "{error}");
    }
}
