//! Dropping the tables, and no others: their names are words that other people use too.

use super::{TABLES, TpccError};
use tare_engine::{Session, SqlErrorKind};

/// Drops those of the nine tables that are there, and says how many were.
///
/// # Errors
/// [`TpccError::NotOurs`], before anything is dropped, where a table of such a name has other columns; the server's
/// refusal.
pub fn cleanup(session: &mut dyn Session) -> Result<usize, TpccError> {
    let mut there = Vec::new();
    // Those that refer to others go first.
    for table in TABLES.iter().rev() {
        if reads(session, "1", table.name)? {
            let columns: Vec<_> = table.columns().collect();
            if !reads(session, &columns.join(", "), table.name)? {
                return Err(TpccError::NotOurs { table: table.name });
            }
            there.push(table.name);
        }
    }
    for name in &there {
        let sql = format!("DROP TABLE {name}");
        session.run(&sql).map_err(|source| TpccError::statement(&sql, source))?;
    }
    Ok(there.len())
}

/// Whether the server can read this of a table, of which no row is asked for.
fn reads(session: &mut dyn Session, columns: &str, table: &str) -> Result<bool, TpccError> {
    let sql = format!("SELECT {columns} FROM {table} WHERE 1 = 0");
    match session.query(&sql) {
        Ok(_) => Ok(true),
        Err(source) if source.kind == SqlErrorKind::Other => Ok(false),
        Err(source) => Err(TpccError::statement(&sql, source)),
    }
}
