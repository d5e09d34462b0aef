//! Finding the server program, and the files that belong to it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::ask::ask;
use super::super::mariadb::binary::{identified, is_program, places, start};
use super::super::{Binary, EngineError};
use super::names::NAME;

const INSTALL: &str = "scripts/get-mysql (which installs nothing), or name one of yours as engine.binary";

/// The server program: `explicit`, else a `mysqld` that is no MariaDB in PATH and the usual places.
pub(super) fn find(explicit: Option<&Path>) -> Result<Binary, EngineError> {
    let found = match explicit {
        Some(path) if is_program(path) => Some(path.to_owned()),
        Some(_) => None,
        // MariaDB's packages have a program of this name too.
        None => {
            places(&[]).iter().map(|place| place.join("mysqld")).find(|path| is_program(path) && version(path).is_ok())
        }
    };
    let Some(path) = found else {
        let searched = explicit.map_or_else(|| places(&[]), |path| vec![path.to_owned()]);
        return Err(EngineError::BinaryMissing {
            engine: NAME,
            program: "mysqld".to_owned(),
            searched,
            install: INSTALL,
        });
    };
    let path = std::fs::canonicalize(&path).map_err(|source| EngineError::io("resolve", &path, source))?;
    let version = version(&path)?;
    identified(path, version)
}

/// The word after "Ver" in what `--version` prints.
fn version(path: &Path) -> Result<String, EngineError> {
    let unusable = |reason: String| EngineError::BinaryUnusable { path: path.to_owned(), reason };
    let text = ask(path, &["--no-defaults", "--version"])?;
    if text.contains("MariaDB") {
        return Err(unusable(format!("is MariaDB ({}): use engine mariadb", start(&text))));
    }
    let version = text.split_once("Ver ").and_then(|(_, rest)| rest.split_whitespace().next());
    let version = version.filter(|version| version.starts_with(|c: char| c.is_ascii_digit()));
    version
        .map(str::to_owned)
        .ok_or_else(|| unusable(format!("is not a MySQL server: --version prints {:?}", start(&text))))
}

/// Where the files beside a program that is not the system's own are: messages, character sets, plugins. A relocated
/// one looks for them where it was to be installed.
pub(super) fn files_beside(binary: &Path) -> Vec<OsString> {
    let Some(base) = binary.parent().and_then(Path::parent).filter(|base| *base != Path::new("/usr")) else {
        return Vec::new();
    };
    let first = |places: &[&str]| -> Option<PathBuf> { places.iter().map(|p| base.join(p)).find(|path| path.is_dir()) };
    let option = |name: &str, path: PathBuf| {
        let mut argument = OsString::from(format!("--{name}="));
        argument.push(path);
        argument
    };
    let share = first(&["share/mysql", "share/mysql-8.0", "share"]);
    let sets = share.as_ref().map(|share| share.join("charsets"));
    [
        Some(option("basedir", base.to_owned())),
        share.map(|path| option("lc-messages-dir", path)),
        sets.filter(|path| path.is_dir()).map(|path| option("character-sets-dir", path)),
        first(&["lib/mysql/plugin", "lib/plugin", "lib64/mysql/plugin"]).map(|path| option("plugin-dir", path)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mariadb_is_told_from_a_mysql_by_what_it_answers() {
        let mariadb = PathBuf::from("/usr/sbin/mariadbd");
        let error = find(Some(&mariadb)).unwrap_err().to_string();
        assert!(error.contains("is MariaDB") && error.contains("use engine mariadb"), "{error}");
        let error = find(Some(Path::new("/nonexistent"))).unwrap_err().to_string();
        assert!(error.contains("get-mysql"), "{error}");
        assert!(find(Some(Path::new("/bin/echo"))).unwrap_err().to_string().contains("not a MySQL server"));
    }

    #[test]
    fn the_files_beside_a_relocated_program_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        for place in ["bin", "share/charsets", "lib/plugin"] {
            std::fs::create_dir_all(folder.path().join(place)).unwrap();
        }
        let found = files_beside(&folder.path().join("bin/mysqld"));
        let ends = ["", "/share", "/share/charsets", "/lib/plugin"];
        assert_eq!(found.len(), ends.len());
        assert!(found.iter().zip(ends).all(|(found, end)| found.to_string_lossy().ends_with(end)), "{found:?}");
        assert!(files_beside(Path::new("/usr/sbin/mysqld")).is_empty());
    }
}
