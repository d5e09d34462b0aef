//! MySQL (and servers built from it, such as Percona Server): a private instance without configuration files, X plugin
//! or network. Code shared with MariaDB is in `mariadb`; the program's own version text decides which of the two it is.
//! The server creates its data directory itself.

use crate::data::directories::{PrivateDirectory, small_file};
use crate::mariadb::binary::{Layout, PRODUCT as MARIADB, ProgramReport};
use crate::mariadb::dialect::InnoDb;
use crate::mariadb::server::explain;
use crate::mariadb::{Kind, MadeBy, OfKind, arguments};
use crate::process::instance::{rows, run_installer, single, statement};
use crate::process::server_process::StopPolicy;
use crate::programs::ask::start;
use crate::programs::program::{check_may_run, existing, is_program, named, places};
use crate::{Binary, EngineError, PrepareRequest, Session};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tare_files::LogFile;

static DIALECT: InnoDb = InnoDb {
    global_status: "performance_schema.global_status",
    explain: "EXPLAIN FORMAT = TRADITIONAL",
    streams_rows: true,
};

/// The engine `mysql`: MySQL 5.7 or newer, tested with 9.7.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mysql;

impl OfKind for Mysql {
    fn kind(&self) -> &'static Kind {
        &KIND
    }
}

static KIND: Kind = Kind {
    engine: &Mysql,
    name: NAME,
    interleaves_from: Some((8, 4)),
    start_cost_s: 3.0,
    fresh_cost_s: 8.0,
    programs: &["mysqld"],
    places: searched_places,
    install_command: INSTALL,
    login_groups: &["client"],
    socket: "mysql.sock",
    variables: "performance_schema.global_variables",
    settings: "SELECT g.VARIABLE_NAME, g.VARIABLE_VALUE, NULL, i.VARIABLE_SOURCE, NULL, i.VARIABLE_PATH \
               FROM performance_schema.global_variables g \
               LEFT JOIN performance_schema.variables_info i ON i.VARIABLE_NAME = g.VARIABLE_NAME",
    dialect: &DIALECT,
    find: find_program,
    made_by,
    install: install_data,
    arguments,
    begin_fill,
    end_fill,
    root_stays_local: |_| Ok(()),
    // Since 8.0.21 they stay in the folders of innodb_directories.
    tables_stay_inside: &[],
    password_key,
    account: |account, password| {
        vec![format!("DROP USER IF EXISTS {account}"), format!("CREATE USER {account} IDENTIFIED BY '{password}'")]
    },
};

/// The last version in the history that MySQL keeps since 8.4, or in the file that older versions write.
fn made_by(data: &Path) -> Option<MadeBy> {
    if data.join("aria_log_control").exists() {
        return Some(MadeBy::Another("MariaDB".to_owned()));
    }
    let read = |name: &str| small_file(&data.join(name));
    let Some(history) = read("mysql_upgrade_history") else { return read("mysql_upgrade_info").map(MadeBy::Version) };
    let history: serde_json::Value = serde_json::from_str(&history).ok()?;
    Some(MadeBy::Version(history["upgrade_history"].as_array()?.last()?["version"].as_str()?.to_owned()))
}

/// From 8.0 on a server reports its key; here over its Unix socket.
fn password_key(session: &mut dyn Session) -> Result<Option<String>, EngineError> {
    let sql = "SHOW GLOBAL STATUS LIKE 'Caching_sha2_password_rsa_public_key'";
    Ok(rows(session, sql)?.into_iter().next().and_then(|row| row.into_iter().nth(1)?).filter(|key| !key.is_empty()))
}

fn arguments(binary: &Path, _log: &LogFile, lock_waits: bool) -> Vec<OsString> {
    let mut all = Layout::of(binary).arguments();
    // No X protocol with a port of its own; files may be read from the pipes that fill tables.
    all.extend(["--loose-mysqlx=OFF", "--secure-file-priv="].map(OsString::from));
    // Only performance_schema maps connections to threads. The rest of it is off, unless lock waits are requested.
    all.extend(["--performance-schema=ON", "--performance-schema-instrument=%=OFF"].map(OsString::from));
    if !lock_waits {
        all.push("--performance-schema-consumer-global-instrumentation=OFF".into());
    }
    all
}

pub(super) const NAME: &str = "mysql";

pub(super) const INSTALL: &str = "sudo apt-get install patchelf && scripts/get-mysql, in the source tree of tare on \
    Debian; a tare that runs from elsewhere needs the printed path as engine.binary";

/// The server program: `explicit`, otherwise a `mysqld` that is not MariaDB's, in PATH and the usual places.
fn find_program(explicit: Option<&Path>) -> Result<Binary, EngineError> {
    let found = match named(explicit, NAME) {
        Some(path) => Some(existing(path)?),
        // MariaDB's packages contain a program of this name too.
        None => searched_places()
            .iter()
            .map(|place| place.join("mysqld"))
            .find(|path| is_program(path) && identity_of(path).is_ok()),
    };
    let Some(path) = found else {
        return Err(EngineError::BinaryMissing {
            engine: NAME,
            program: "mysqld".to_owned(),
            searched: searched_places(),
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
fn searched_places() -> Vec<PathBuf> {
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

/// `mysqld --initialize-insecure`: root without password over the socket, and no other account.
fn install_data(
    server: &Binary,
    request: &PrepareRequest,
    shaping: &BTreeMap<String, String>,
    partial: &Path,
) -> Result<(), EngineError> {
    let data = partial.join("data");
    let temporary = PrivateDirectory::create(&partial.join("tmp"))?;
    let mut arguments: Vec<OsString> = vec!["--no-defaults".into(), "--initialize-insecure".into()];
    arguments.extend(arguments::run_as());
    arguments.extend([arguments::path("datadir", &data), arguments::path("tmpdir", temporary.path())]);
    arguments.extend(Layout::of(&server.path).arguments());
    arguments.extend(["--loose-mysqlx=OFF", "--skip-log-bin", "--secure-file-priv="].map(OsString::from));
    arguments.extend(arguments::given(NAME, shaping)?);
    let explain = |log: &str| explain(NAME, log, &data, &server.version);
    let environment = server.environment(&BTreeMap::new());
    let stop_policy = StopPolicy::default();
    run_installer("mysqld --initialize", &server.path, arguments, &environment, stop_policy, request, explain)?;
    // The UUID that identifies a server: a server without the file generates its own.
    let number = data.join("auto.cnf");
    std::fs::remove_file(&number).map_err(|source| EngineError::io("remove", &number, source))
}

// What a private instance can do without while its fresh data directory is filled. A filling that is killed leaves
// data that no server accepts, but such data are never used: the directory gets its name in the cache only when it is
// complete.

/// Returns no row from a server that cannot disable its redo log.
const IS_LOGGED: &str = "SELECT VARIABLE_VALUE FROM performance_schema.global_status \
                         WHERE VARIABLE_NAME = 'Innodb_redo_log_enabled'";
const LOG_AGAIN: &str = "ALTER INSTANCE ENABLE INNODB REDO_LOG";

/// Allows rows over the connection, and stops writing each row twice. MySQL 9.7, server CPU with and without redo log:
/// 400,000 rows of OLTP 1.8 and 1.5 s, dbt3 at scale 0.05 2.5 and 2.1 s. The elapsed time differs more, because its
/// writers wait for the log.
pub(super) fn begin_fill(session: &mut dyn Session) -> Result<(), EngineError> {
    statement(session, "SET GLOBAL local_infile = ON")?;
    // Versions before 8.0.21 have no such statement; they are filled with the redo log.
    let _ = session.run("ALTER INSTANCE DISABLE INNODB REDO_LOG");
    Ok(())
}

/// From here on, and after every later start, the data survive a crash.
pub(super) fn end_fill(session: &mut dyn Session) -> Result<(), EngineError> {
    if single(session, IS_LOGGED)?.is_some_and(|logged| logged == "OFF") {
        statement(session, LOG_AGAIN)?;
    }
    match single(session, IS_LOGGED)? {
        Some(found) if found != "ON" => {
            let requested = format!("ON by {LOG_AGAIN}");
            Err(EngineError::NotInEffect { setting: "Innodb_redo_log_enabled", requested, found })
        }
        _ => statement(session, "SET GLOBAL local_infile = DEFAULT").map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Mariadb};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_data_directory_reveals_the_product_that_created_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let version = |text: &str| Some(MadeBy::Version(text.to_owned()));
        assert_eq!(made_by(folder.path()), None);
        write("mysql_upgrade_info", "8.0.36");
        assert_eq!(made_by(folder.path()), version("8.0.36"));
        write(
            "mysql_upgrade_history",
            r#"{"file_format":"1","upgrade_history":[{"version":"8.4.2"},{"version":"9.7.4-2"}]}"#,
        );
        assert_eq!(made_by(folder.path()), version("9.7.4-2"));
        write("aria_log_control", "");
        assert_eq!(made_by(folder.path()), Some(MadeBy::Another("MariaDB".to_owned())));
    }

    #[test]
    fn server_products_are_distinguished_by_their_version_output() {
        let mariadb = PathBuf::from("/usr/sbin/mariadbd");
        let error = find_program(Some(&mariadb)).unwrap_err().to_string();
        assert!(error.contains("is MariaDB") && error.contains("use engine mariadb"), "{error}");
        let error = find_program(Some(Path::new("/nonexistent"))).unwrap_err().to_string();
        assert!(error.contains("there is no program at this path"), "{error}");
        assert!(find_program(Some(Path::new("/bin/echo"))).unwrap_err().to_string().contains("not a MySQL server"));
        let folder = tempfile::tempdir().unwrap();
        // With the file name of MariaDB's server.
        let path = folder.path().join("mariadbd");
        let answer = "mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL), Release 28)";
        std::fs::write(&path, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let found = find_program(Some(&path)).unwrap();
        assert_eq!((found.product, found.version.as_str()), ("Percona Server", "8.0.36-28"));
        std::fs::write(
            &path,
            "#!/bin/sh\necho 'mysqld  Ver 5.6.14 for Linux on x86_64 (MySQL Community Server (GPL))'\n",
        )
        .unwrap();
        let error = find_program(Some(&path)).unwrap_err().to_string();
        assert!(error.contains("5.6.14: its mysqld has no --initialize") && error.contains("5.7.6"), "{error}");
        std::fs::write(&path, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
        let error = Mariadb.binary(Some(&path)).unwrap_err().to_string();
        assert!(error.contains("is Percona Server 8.0.36-28: use engine mysql"), "{error}");
    }
}
