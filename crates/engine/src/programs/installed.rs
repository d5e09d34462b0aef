//! Finds the server programs that are installed on this machine.

use super::program::is_program;
use crate::{Binary, Engine};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

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
    use crate::{Mariadb, Mysql, Sqlite};

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
