//! Creates a data directory, which the server does itself, and the settings that apply only while it is filled.

use super::binary::NAME;
use crate::data::directories::PrivateDirectory;
use crate::mariadb::arguments;
use crate::mariadb::explain::explain;
use crate::mariadb::layout::Layout;
use crate::process::instance::{run_installer, single, statement};
use crate::process::server_process::StopPolicy;
use crate::{Binary, EngineError, PrepareRequest, Session};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// `mysqld --initialize-insecure`: root without password over the socket, and no other account.
pub(super) fn install(
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
