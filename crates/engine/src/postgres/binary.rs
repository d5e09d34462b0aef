//! Finds the server program and the options that it knows.

use crate::programs::ask::{self_reported, start};
use crate::programs::program::{check_may_run, existing, is_program, named, places};
use crate::{Binary, EngineError};
use std::path::{Path, PathBuf};

/// The engine `postgresql`: PostgreSQL 12 or newer, tested with 15.
#[derive(Debug, Clone, Copy, Default)]
pub struct Postgresql;

pub(super) const NAME: &str = "postgresql";

pub(super) const INSTALL: &str = "sudo apt-get install postgresql";
/// Where Debian installs every version.
const VERSIONED: &str = "/usr/lib/postgresql";

/// The server program: `explicit`, otherwise `postgres` in PATH and the usual places, or the newest of Debian's.
pub(super) fn find(explicit: Option<&Path>) -> Result<Binary, EngineError> {
    let found = match named(explicit, NAME) {
        Some(path) => Some(existing(path)?),
        None => all_places().iter().map(|place| place.join("postgres")).find(|path| is_program(path)),
    };
    let Some(path) = found else {
        return Err(EngineError::BinaryMissing {
            engine: NAME,
            program: "postgres".to_owned(),
            searched: all_places(),
            install: INSTALL,
        });
    };
    check_may_run(&path)?;
    let path = std::fs::canonicalize(&path).map_err(|source| EngineError::io("resolve", &path, source))?;
    not_in_a_build_tree(&path)?;
    let (text, libraries) = self_reported(&path, &["--version"], &libraries_next_to(&path))?;
    let version = text.split_once("(PostgreSQL) ").and_then(|(_, rest)| rest.split_whitespace().next());
    let Some(version) = version else {
        let reason = format!("is not a PostgreSQL server: --version prints {:?}", start(&text));
        return Err(EngineError::BinaryUnusable { path, reason });
    };
    let version = version.to_owned();
    Binary::identified(path, "PostgreSQL", version, libraries)
}

/// Refuses a server that was built but not installed: it finds neither its catalogue nor its libraries, or finds
/// those of an older installation in its configured path.
fn not_in_a_build_tree(path: &Path) -> Result<(), EngineError> {
    if !path.ends_with("src/backend/postgres") {
        return Ok(());
    }
    let top = path.ancestors().nth(3).unwrap_or(Path::new("/"));
    let installed = format!("DESTDIR={0}/tmp_install", top.display());
    let how = match top.join("meson-info").is_dir() {
        true => format!("{installed} meson install -C {}", top.display()),
        false => format!("make -C {} install {installed}", top.display()),
    };
    let reason =
        format!("is part of a build tree, where it does not find its own files: {how}, and name that bin/postgres");
    Err(EngineError::BinaryUnusable { path: path.to_owned(), reason })
}

fn libraries_next_to(server: &Path) -> Vec<PathBuf> {
    let base = server.parent().and_then(Path::parent).filter(|base| *base != Path::new("/usr"));
    base.into_iter().flat_map(|base| [base.join("lib"), base.join("lib64")]).filter(|place| place.is_dir()).collect()
}

/// Folders of servers, the newest of Debian's first.
pub(super) fn all_places() -> Vec<PathBuf> {
    [versioned(), places(&[])].concat()
}

/// Debian's folders of all versions, the newest first.
fn versioned() -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir(VERSIONED)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

pub(super) fn next_to(server: &Path, program: &str) -> Result<PathBuf, EngineError> {
    let place = server.parent().unwrap_or(Path::new("/"));
    let path = place.join(program);
    check_may_run(&path)?;
    if path.is_file() {
        return Ok(path);
    }
    let searched = vec![place.to_owned()];
    Err(EngineError::BinaryMissing { engine: NAME, program: program.to_owned(), searched, install: INSTALL })
}

/// Major version: data directories are compatible within one.
pub(super) fn major(version: &str) -> Option<u32> {
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

pub(super) fn option_name(option: &str) -> String {
    option.trim_start_matches('-').replace('-', "_").to_lowercase()
}

/// Whether the program knows the option; names with a dot belong to extensions and count as known.
pub(super) fn knows_option(option: &str, explicit: Option<&Path>) -> Result<bool, EngineError> {
    let name = option_name(option);
    if name.contains('.') {
        return Ok(true);
    }
    Ok(option_names(explicit)?.iter().any(|known| known.eq_ignore_ascii_case(&name)))
}

pub(super) fn option_names(explicit: Option<&Path>) -> Result<Vec<String>, EngineError> {
    // One line per option, its name first.
    let described = find(explicit)?.ask(&["--describe-config"])?;
    Ok(described.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installed_server_knows_its_own_options_and_no_others() {
        for name in ["shared_buffers", "work-mem", "TimeZone", "pg_stat_statements.max"] {
            assert!(knows_option(name, None).unwrap(), "{name}");
        }
        assert!(!knows_option("innodb_buffer_pool_size", None).unwrap());
        assert_eq!(major(&find(None).unwrap().version).map(|major| major >= 12), Some(true));
    }

    #[test]
    fn another_program_is_no_server() {
        let error = find(Some(Path::new("/bin/echo"))).unwrap_err();
        assert!(matches!(error, EngineError::BinaryUnusable { .. }), "{error}");
        let missing = find(Some(Path::new("/nonexistent"))).unwrap_err().to_string();
        assert!(missing.contains("there is no program at this path"), "{missing}");
        let folder = tempfile::tempdir().unwrap();
        let built = folder.path().join("src/backend/postgres");
        std::fs::create_dir_all(built.parent().unwrap()).unwrap();
        std::fs::copy("/bin/echo", &built).unwrap();
        let error = find(Some(&built)).unwrap_err().to_string();
        assert!(error.contains("part of a build tree") && error.contains("make -C"), "{error}");
    }
}
