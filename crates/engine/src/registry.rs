//! Finds an engine by its name, and the server programs that are installed on this machine.

use crate::programs::program::is_program;
use crate::{Binary, Engine, Mariadb, Mysql, Postgresql, Sqlite};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tare_text::nearest;

/// Every engine that a study can name, one line each.
static ENGINES: &[&dyn Engine] = &[
    &Mariadb,
    &Mysql,
    &Postgresql,
    &Sqlite,
    #[cfg(test)]
    &crate::fake::Fake,
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown engine \"{name}\"{}; engines: {}", .nearest.map(|n| format!(", did you mean \"{n}\"?")).unwrap_or_default(), engine_names().join(", "))]
pub struct UnknownEngine {
    pub name: String,
    /// The most similar valid name, if one is similar.
    pub nearest: Option<&'static str>,
}

pub fn engines() -> &'static [&'static dyn Engine] {
    ENGINES
}

pub fn engine_names() -> Vec<&'static str> {
    ENGINES.iter().map(|engine| engine.name()).collect()
}

/// The registered name for `name`: PostgreSQL's server program and Docker image are called `postgres`.
pub fn engine_name(name: &str) -> &str {
    if name == "postgres" { "postgresql" } else { name }
}

pub fn engine_by_name(name: &str) -> Result<&'static dyn Engine, UnknownEngine> {
    let found = ENGINES.iter().copied().find(|engine| engine.name() == engine_name(name));
    found.ok_or_else(|| UnknownEngine { name: name.to_owned(), nearest: nearest(name, engine_names()) })
}

/// Depth to which a given folder is searched.
const DEPTH: usize = 7;
/// Limit on the entries that are looked at there, so that a search of a home or root folder ends in time.
const ENTRIES: usize = 200_000;

/// The builds of an engine in the usual places, the default of studies first, then those `under` these folders.
pub fn installed(engine: &dyn Engine, under: &[PathBuf]) -> Vec<Binary> {
    let mut found: Vec<Binary> = engine.binary(None).into_iter().collect();
    let usual = engine.places();
    let usual = usual.iter().flat_map(|place| engine.programs().iter().map(|name| place.join(name)));
    let mut paths: Vec<PathBuf> = usual.collect();
    let mut left = ENTRIES;
    for folder in under {
        search(folder, engine.programs(), DEPTH, &mut left, &mut paths);
    }
    let mut seen: BTreeSet<PathBuf> = found.iter().map(|binary| binary.path.clone()).collect();
    for path in paths.iter().filter_map(|path| path.canonicalize().ok()) {
        if is_program(&path) && seen.insert(path.clone()) {
            found.extend(engine.binary(Some(&path)));
        }
    }
    found
}

fn search(folder: &Path, programs: &[&str], depth: usize, left: &mut usize, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    for path in entries {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let Ok(kind) = path.symlink_metadata() else { continue };
        if kind.is_dir() && depth > 0 {
            search(&path, programs, depth - 1, left, found);
        } else if path.file_name().is_some_and(|name| programs.iter().any(|program| *program == name)) {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_added_with_a_folder_and_one_line() {
        // `fake` is compiled only into the tests and registered like any other.
        let engine = engine_by_name("fake").unwrap();
        assert!(engine_names().contains(&"fake"));
        assert_eq!(engine.dialect().placeholder(2), ":p2");
        let mut server = engine.start(&crate::fake::request()).unwrap();
        assert_eq!(server.connect().unwrap().run("anything"), Ok(0));
        assert_eq!(server.pid(), std::process::id());
        assert!(server.lock_wait_setting().is_none());
        server.stop(std::time::Duration::ZERO).unwrap();
    }

    #[test]
    fn no_two_engines_have_one_name() {
        let mut names = engine_names();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ENGINES.len());
    }

    #[test]
    fn a_wrong_name_gets_the_nearest_right_one_or_none() {
        assert_eq!(engine_by_name("MariaBD").err().unwrap().nearest, Some("mariadb"));
        assert_eq!(engine_by_name("sqlite3").err().unwrap().nearest, Some("sqlite"));
        assert_eq!(engine_by_name("postgres").unwrap().name(), "postgresql");
        let far = engine_by_name("oracle").err().unwrap();
        assert_eq!(far.nearest, None);
        assert!(far.to_string().contains("mariadb, mysql, postgresql, sqlite"));
    }

    #[test]
    fn a_folder_is_searched_for_servers_and_each_is_listed_once() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("a/b/bin");
        fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink("/usr/sbin/mariadbd", bin.join("mysqld")).unwrap();
        let before = installed(&Mariadb, &[]);
        assert_eq!(installed(&Mariadb, &[folder.path().to_owned()]), before, "a link to a known program");
        assert_eq!(before.iter().filter(|binary| binary.path == Path::new("/usr/sbin/mariadbd")).count(), 1);
        fs::remove_file(bin.join("mysqld")).unwrap();
        fs::copy("/usr/sbin/mariadbd", bin.join("mysqld")).unwrap();
        let found = installed(&Mariadb, &[folder.path().to_owned()]);
        assert_eq!(found.len(), before.len() + 1, "{found:?}");
        assert!(found.last().unwrap().path.ends_with("a/b/bin/mysqld"));
        assert!(
            !installed(&Mysql, &[folder.path().to_owned()]).iter().any(|binary| binary.path.starts_with(folder.path()))
        );
        assert_eq!(installed(&Sqlite, &[]).len(), 1);
    }
}
