//! One connection to a database, as a workload sees it.

use std::fmt;

use tare_topology::ThreadRef;

/// A server-side prepared statement of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub usize);

/// A bound parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param<'a> {
    /// A signed integer.
    Int(i64),
    /// Text.
    Text(&'a str),
}

/// What a failed statement means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlErrorKind {
    /// Deadlock, lock timeout, busy: run the whole transaction again (MariaDB 1213, 1020, 1205; SQLite BUSY).
    Retry,
    /// The statement cannot be prepared on this server (MariaDB 1295): send it as text.
    NotPreparable,
    /// No space left where the server keeps its files.
    DiskFull,
    /// The connection is gone.
    Lost,
    /// Anything else: the statement or the data is wrong.
    Other,
}

/// A failed statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// What it means.
    pub kind: SqlErrorKind,
    /// The engine's own code, 0 where it has none.
    pub code: u32,
    /// The engine's own words.
    pub message: String,
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (code {})", self.message, self.code)
    }
}

impl std::error::Error for SqlError {}

/// One connection.
pub trait Session: Send {
    /// Prepares `sql` on the server; parameters are written as its [`super::Dialect`] says.
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SqlError>;
    /// Executes and discards the rows: the number of rows returned, or changed where none are returned.
    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<u64, SqlError>;
    /// Runs text without parameters and discards the rows; the number as for [`Session::execute`].
    fn run(&mut self, sql: &str) -> Result<u64, SqlError>;
    /// Runs text and returns the rows as text, NULL as None.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError>;
    /// The server thread that serves this session, where the engine can say it and it is on this machine.
    fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError>;
}
