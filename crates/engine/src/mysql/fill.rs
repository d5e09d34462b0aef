//! What a private instance does without while its fresh data directory is filled. A filling that is killed leaves data
//! that no server takes, and that nobody keeps: the directory gets its name in the cache when it is whole.

use crate::mariadb::install::statement;
use crate::{EngineError, Session};

const IS_LOGGED: &str = "SELECT VARIABLE_VALUE FROM performance_schema.global_status \
                         WHERE VARIABLE_NAME = 'Innodb_redo_log_enabled'";
const LOG_AGAIN: &str = "ALTER INSTANCE ENABLE INNODB REDO_LOG";

/// Rows may come over the connection, and none is written twice. MySQL 9.7, server CPU with and without the redo log:
/// 400,000 rows of OLTP 1.8 and 1.5 s, dbt3 at scale 0.05 2.5 and 2.1 s; in time more, as its writers wait for the log.
pub(super) fn begin(session: &mut dyn Session) -> Result<(), EngineError> {
    statement(session, "SET GLOBAL local_infile = ON")?;
    // Versions before 8.0.21 know no such statement, and are filled all the same.
    let _ = session.run("ALTER INSTANCE DISABLE INNODB REDO_LOG");
    Ok(())
}

/// From here on, and in every later start, the data survive a crash.
pub(super) fn end(session: &mut dyn Session) -> Result<(), EngineError> {
    if is_logged(session)?.is_some_and(|logged| logged == "OFF") {
        statement(session, LOG_AGAIN)?;
    }
    match is_logged(session)? {
        Some(found) if found != "ON" => {
            let asked = format!("ON by {LOG_AGAIN}");
            Err(EngineError::NotInEffect { setting: "Innodb_redo_log_enabled", asked, found })
        }
        _ => statement(session, "SET GLOBAL local_infile = DEFAULT").map(drop),
    }
}

/// As the server says; none where it knows no other way than to log.
fn is_logged(session: &mut dyn Session) -> Result<Option<String>, EngineError> {
    let rows = session.query(IS_LOGGED);
    let rows = rows.map_err(|source| EngineError::Sql { statement: IS_LOGGED.to_owned(), source })?;
    Ok(rows.into_iter().flatten().next().flatten())
}
