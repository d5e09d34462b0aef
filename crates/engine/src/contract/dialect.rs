//! The SQL dialect of a database, as far as the workloads need it.

use crate::{Session, SqlError};
use std::fmt::Debug;
use std::path::Path;

/// The definition of a column that numbers the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub definition: &'static str,
    /// Whether this definition already makes the column the primary key.
    pub is_key: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collation {
    Default,
    Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkLoad {
    /// With INSERTs of many rows.
    Inserts,
    /// With one statement ([`Dialect::load_from`]) through which the server itself reads a named pipe.
    Pipe,
    /// With one statement ([`Dialect::load_through_session`]) and rows that follow it ([`Session::load`]).
    Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index<'a> {
    pub name: &'a str,
    pub columns: &'a str,
}

/// A statement that reads a table or an index from end to end and returns one number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    pub sql: String,
    pub counts: Counted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Entries: the same number as the rows of the table.
    Rows,
    Pages,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolPages {
    pub held: u64,
    /// Pages of all tables and indexes of the session's database.
    pub data: u64,
    /// Whether the server loads at start the pages that it held at its last shutdown.
    pub reloads: bool,
}

/// Work that a server still has to do for completed statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// Its name, in the form of a metric's name: `history_list_length`.
    pub what: &'static str,
    pub amount: u64,
    pub done: Done,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    AtMost(u64),
    /// When it has stopped shrinking: the server keeps a remainder.
    Steady,
    /// When it has stopped shrinking and is below this amount.
    SteadyBelow(u64),
}

/// The name of the driver with which sysbench uses such servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum SysbenchDriver {
    Mysql,
    Pgsql,
}

/// The SQL of a kind of database. The statements of a workload are in the workload's own folder.
pub trait Dialect: Debug + Send + Sync {
    /// The placeholder of parameter `number` (from 1) in a prepared statement.
    fn placeholder(&self, _number: usize) -> String {
        "?".to_owned()
    }

    /// The driver with which sysbench uses it; none if it has none.
    fn sysbench_driver(&self) -> Option<SysbenchDriver> {
        None
    }

    /// Begins a transaction; `writes` when it is going to write.
    fn begin(&self, _writes: bool) -> &'static str {
        "BEGIN"
    }

    /// The suffix of a SELECT whose rows the same transaction is going to change; begins with a space or is empty.
    fn locks_rows(&self) -> &'static str {
        " FOR UPDATE"
    }

    /// The type of a date with time of day, with at least one-second resolution and without a time zone.
    fn moment(&self) -> &'static str {
        "TIMESTAMP"
    }

    /// Whether several sessions can fill tables at the same time.
    fn fills_in_parallel(&self) -> bool {
        true
    }

    /// Whether one transaction creates and fills a table. Otherwise each transaction inserts some thousand rows.
    fn makes_table_in_one_transaction(&self) -> bool {
        false
    }

    /// The definition of a column that numbers the rows.
    fn identity(&self) -> Identity;

    /// The value to insert where the server is to generate the number of a row; none: omit the column.
    fn next_number(&self) -> Option<&'static str> {
        None
    }

    /// Continues the numbering after rows with explicit numbers; none if that is automatic.
    fn number_on(&self, _table: &str, _column: &str) -> Option<String> {
        None
    }

    /// Whether a row was rejected because its key exists already.
    fn is_duplicate(&self, _error: &SqlError) -> bool {
        false
    }

    /// The suffix of a table definition with this many primary key columns; begins with a space or is empty.
    fn table_suffix(&self, collation: Collation, key_columns: usize) -> &'static str;

    fn year(&self, column: &str) -> String;

    /// The word between `AS` and a common table expression that must be computed once; ends with a space or is empty.
    fn materialized(&self) -> &'static str {
        ""
    }

    /// Statements that create these indexes on a filled table, in as few passes as the database can.
    fn create_indexes(&self, table: &str, indexes: &[Index<'_>]) -> Vec<String> {
        indexes.iter().map(|index| format!("CREATE INDEX {} ON {table} ({})", index.name, index.columns)).collect()
    }

    /// A statement that recomputes the optimiser statistics of a table.
    fn analyze(&self, table: &str) -> String {
        format!("ANALYZE {table}")
    }

    /// The words after a table's name with which a query reads this index, or without one the table itself.
    fn reads_through(&self, _index: Option<&str>) -> String {
        String::new()
    }

    /// Reads the table (through `unindexed`, a column of no index) and then each of its indexes from end to end.
    /// Counting a column counts the rows, because none is NULL.
    fn scans(&self, table: &str, unindexed: &str, indexes: &[Index<'_>]) -> Vec<Scan> {
        let read = |column: &str, index: Option<&str>| Scan {
            sql: format!("SELECT COUNT({column}) FROM {table} {}", self.reads_through(index)),
            counts: Counted::Rows,
        };
        let first = |index: &Index<'_>| read(index.columns.split(',').next().unwrap_or_default(), Some(index.name));
        std::iter::once(read(unindexed, None)).chain(indexes.iter().map(first)).collect()
    }

    /// Statements that a session of analytical queries sends first.
    fn query_session(&self) -> &'static [&'static str] {
        &[]
    }

    fn bulk_load(&self) -> BulkLoad {
        BulkLoad::Inserts
    }

    /// Statements that a loading session sends first; `scratch` is a directory with space for sorting.
    fn load_session(&self, _scratch: &Path) -> Vec<String> {
        Vec::new()
    }

    /// Loads rows with columns separated by `|` from a file that the server opens; for [`BulkLoad::Pipe`].
    fn load_from(&self, _table: &str, _file: &Path) -> String {
        String::new()
    }

    /// Whether [`Dialect::load_through_session`] is the cheapest way to load rows into a server without access to the
    /// client's files: this session is allowed to use it, and it is faster than INSERTs of many rows.
    fn streams_rows(&self, _session: &mut dyn Session) -> Result<bool, SqlError> {
        Ok(false)
    }

    /// Loads rows with columns separated by `|` that follow over the connection ([`Session::load`]).
    fn load_through_session(&self, _table: &str) -> String {
        String::new()
    }

    /// Whether loading needs a directory in which the server can open pipes and make temporary files.
    fn needs_scratch(&self) -> bool {
        self.bulk_load() == BulkLoad::Pipe
    }

    /// The server's plan for a query, as text without parts that change from one moment to the next (row estimates,
    /// costs): equal texts are equal plans. None if the server does not report it.
    fn plan(&self, _session: &mut dyn Session, _sql: &str) -> Result<Option<String>, SqlError> {
        Ok(None)
    }

    /// Reads every table and every index of the session's database from end to end. Returns their number.
    fn read_all(&self, session: &mut dyn Session) -> Result<usize, SqlError>;

    /// How full the server's buffer pool is; none if the server does not report it.
    fn pages_in_memory(&self, _session: &mut dyn Session) -> Result<Option<PoolPages>, SqlError> {
        Ok(None)
    }

    /// Statements that make the server do at once its deferred work.
    fn begin_settling(&self) -> &'static [&'static str] {
        &[]
    }

    /// Work that the server still has to do for completed statements; empty if it reports none.
    fn backlog(&self, _session: &mut dyn Session) -> Result<Vec<Backlog>, SqlError> {
        Ok(Vec::new())
    }
}

/// The number that a statement returns; none if it returns anything else.
pub(crate) fn number(session: &mut dyn Session, sql: &str) -> Result<Option<u64>, SqlError> {
    let rows = session.query(sql)?;
    Ok(rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok()))
}
