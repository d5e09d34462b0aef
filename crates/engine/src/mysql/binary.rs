//! Finding the server program.

use crate::mariadb::binary::{PRODUCT as MARIADB, ProgramReport};
use crate::mariadb::layout::Layout;
use crate::programs::ask::start;
use crate::programs::program::{check_may_run, existing, is_program, named, places};
use crate::{Binary, EngineError};
use std::path::{Path, PathBuf};

pub(super) const NAME: &str = "mysql";

pub(super) const INSTALL: &str = "sudo apt-get install patchelf && scripts/get-mysql, in the source tree of tare on \
    Debian; a tare that runs from elsewhere needs the printed path as engine.binary";

/// The server program: `explicit`, otherwise a `mysqld` that is not MariaDB's, in PATH and the usual places.
pub(super) fn find(explicit: Option<&Path>) -> Result<Binary, EngineError> {
    let found = match named(explicit, NAME) {
        Some(path) => Some(existing(path)?),
        // MariaDB's packages contain a program of this name too.
        None => searched()
            .iter()
            .map(|place| place.join("mysqld"))
            .find(|path| is_program(path) && identity_of(path).is_ok()),
    };
    let Some(path) = found else {
        return Err(EngineError::BinaryMissing {
            engine: NAME,
            program: "mysqld".to_owned(),
            searched: searched(),
            install: INSTALL,
        });
    };
    check_may_run(&path)?;
    let path = std::fs::canonicalize(&path).map_err(|source| EngineError::io("resolve", &path, source))?;
    let (product, version, libraries) = identity_of(&path)?;
    let build = Layout::of(&path).build_facts();
    Ok(Binary { build, ..Binary::identified(path, product, version, libraries)? })
}

/// The usual places, and where `scripts/get-mysql` unpacks it: in the `target` folder of this program's build.
pub(super) fn searched() -> Vec<PathBuf> {
    let built = std::env::current_exe().ok();
    let target = built.as_deref().and_then(|program| program.ancestors().find(|folder| folder.ends_with("target")));
    let unpacked = target.map(|target| target.join("mysql/root/usr/sbin"));
    places(&[]).into_iter().chain(unpacked).collect()
}

/// The product, its version, and the libraries that the program needs to report them.
fn identity_of(path: &Path) -> Result<(&'static str, String, Option<String>), EngineError> {
    let unusable = |reason: String| EngineError::BinaryUnusable { path: path.to_owned(), reason };
    let report = ProgramReport::by(path)?;
    if report.product == MARIADB {
        return Err(unusable(format!("is MariaDB ({}): use engine mariadb", start(&report.text))));
    }
    match report.version {
        Some(version) if is_too_old(&version) => Err(unusable(format!(
            "is {} {version}: its mysqld has no --initialize, which creates the data directory; use 5.7.6 or newer",
            report.product
        ))),
        Some(version) => Ok((report.product, version, report.libraries)),
        None => Err(unusable(format!("is not a MySQL server: --version prints {:?}", start(&report.text)))),
    }
}

const OLDEST: [u32; 3] = [5, 7, 6];

/// Whether the version is known to be older than this program supports.
fn is_too_old(version: &str) -> bool {
    let numbers = version.split(['.', '-']).map_while(|number| number.parse().ok());
    let numbers: Vec<u32> = numbers.take(OLDEST.len()).collect();
    numbers.len() == OLDEST.len() && numbers.as_slice() < OLDEST.as_slice()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Mariadb};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn server_products_are_distinguished_by_their_version_output() {
        let mariadb = PathBuf::from("/usr/sbin/mariadbd");
        let error = find(Some(&mariadb)).unwrap_err().to_string();
        assert!(error.contains("is MariaDB") && error.contains("use engine mariadb"), "{error}");
        let error = find(Some(Path::new("/nonexistent"))).unwrap_err().to_string();
        assert!(error.contains("there is no program at this path"), "{error}");
        assert!(find(Some(Path::new("/bin/echo"))).unwrap_err().to_string().contains("not a MySQL server"));
        let folder = tempfile::tempdir().unwrap();
        // With the file name of MariaDB's server.
        let path = folder.path().join("mariadbd");
        let answer = "mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)";
        std::fs::write(&path, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let found = find(Some(&path)).unwrap();
        assert_eq!((found.product, found.version.as_str()), ("Percona Server", "8.0.36-28"));
        std::fs::write(
            &path,
            "#!/bin/sh\necho 'mysqld  Ver 5.6.14 for Linux on x86_64 (MySQL Community Server (GPL))'\n",
        )
        .unwrap();
        let error = find(Some(&path)).unwrap_err().to_string();
        assert!(error.contains("5.6.14: its mysqld has no --initialize") && error.contains("5.7.6"), "{error}");
        std::fs::write(&path, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
        let error = Mariadb.binary(Some(&path)).unwrap_err().to_string();
        assert!(error.contains("is Percona Server 8.0.36-28: use engine mysql"), "{error}");
    }
}
