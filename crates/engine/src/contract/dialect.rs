//! The SQL that a database speaks, as far as the workloads need to know it.

use crate::{Session, SqlError};
use std::fmt::Debug;
use std::path::Path;

/// How a column is defined that numbers the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    pub definition: &'static str,
    /// Whether these words make it the primary key already.
    pub is_key: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collation {
    /// As the server does when it is told nothing.
    Default,
    Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkLoad {
    /// As INSERTs of many rows.
    Inserts,
    /// One statement ([`Dialect::load_from`]) with which the server itself reads a named pipe.
    Pipe,
    /// One statement ([`Dialect::load_through_session`]) whose rows follow over the connection ([`Session::load`]).
    Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Index<'a> {
    pub name: &'a str,
    pub columns: &'a str,
}

/// A statement that reads a table or an index from end to end and answers with one number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    pub sql: String,
    pub counts: Counted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Entries: as many as the table has rows.
    Rows,
    Pages,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolPages {
    pub held: u64,
    /// Of all tables and indexes of the session's database.
    pub data: u64,
    /// Whether it loads at its start what an earlier server held.
    pub reloads: bool,
}

/// Work that a server still has to do for statements that have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    /// What it is, in words that names of figures have: `history_list_length`.
    pub what: &'static str,
    pub amount: u64,
    pub done: Done,
}

/// When a backlog is waited for no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    AtMost(u64),
    /// It is as large as it was before: the server keeps that.
    Steady,
    /// Likewise, where less than so much is left.
    SteadyBelow(u64),
}

/// The SQL of a kind of database. What a workload does with it stands in the workload's own folder.
pub trait Dialect: Debug + Send + Sync {
    /// How parameter `number` (from 1) of a statement to prepare is written.
    fn placeholder(&self, _number: usize) -> String {
        "?".to_owned()
    }

    /// Begins a transaction; `writes` when it is going to write.
    fn begin(&self, _writes: bool) -> &'static str {
        "BEGIN"
    }

    /// What follows a SELECT whose rows the same transaction is going to change; begins with a space or is empty.
    fn locks_rows(&self) -> &'static str {
        " FOR UPDATE"
    }

    /// The type of a date with its time of day, to the second at least and without a time zone.
    fn moment(&self) -> &'static str {
        "TIMESTAMP"
    }

    /// Whether several sessions can fill tables at the same time.
    fn fills_in_parallel(&self) -> bool {
        true
    }

    /// Whether a table is made in one transaction, definition and all. Otherwise some thousand rows are.
    fn makes_table_in_one_transaction(&self) -> bool {
        false
    }

    /// How a column is defined that numbers the rows.
    fn identity(&self) -> Identity;

    /// What stands for the number of a new row where the server is to give it one; none: the column is left out.
    fn next_number(&self) -> Option<&'static str> {
        None
    }

    /// Has the rows of a table numbered on behind those that brought their numbers along; none where that is so anyway.
    fn number_on(&self, _table: &str, _column: &str) -> Option<String> {
        None
    }

    /// Whether a row was refused because there is one with its key already.
    fn is_duplicate(&self, _error: &SqlError) -> bool {
        false
    }

    /// What follows the definition of a table whose primary key has so many columns; begins with a space or is empty.
    fn table_suffix(&self, collation: Collation, key_columns: usize) -> &'static str;

    fn year(&self, column: &str) -> String;

    /// The word between `AS` and a common table expression that must be computed once; ends with a space or is empty.
    fn materialized(&self) -> &'static str {
        ""
    }

    /// Makes these indexes of a table that has its rows, in as few passes as the database can.
    fn create_indexes(&self, table: &str, indexes: &[Index<'_>]) -> Vec<String> {
        indexes.iter().map(|index| format!("CREATE INDEX {} ON {table} ({})", index.name, index.columns)).collect()
    }

    /// Has the optimiser's statistics of a table made anew.
    fn analyze(&self, table: &str) -> String {
        format!("ANALYZE {table}")
    }

    /// Reads the table (through `unindexed`, a column of no index) and then each of its indexes from end to end.
    fn scans(&self, table: &str, unindexed: &str, indexes: &[Index<'_>]) -> Vec<Scan>;

    /// What a session of analytical queries sends first.
    fn query_session(&self) -> &'static [&'static str] {
        &[]
    }

    fn bulk_load(&self) -> BulkLoad {
        BulkLoad::Inserts
    }

    /// What a session that loads sends first; `scratch` is a directory with room for sorting.
    fn load_session(&self, _scratch: &Path) -> Vec<String> {
        Vec::new()
    }

    /// Loads rows with columns separated by `|` from a file that the server opens; for [`BulkLoad::Pipe`].
    fn load_from(&self, _table: &str, _file: &Path) -> String {
        String::new()
    }

    /// Whether rows get into a table with fewest costs through [`Dialect::load_through_session`] where the server has
    /// no access to the client's files: this session is allowed to, and it beats INSERTs of many rows.
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

    /// How the server would go about a query, as text without what differs from one moment to the next (estimates of
    /// rows, costs): equal texts are equal plans. None where the server does not say.
    fn plan(&self, _session: &mut dyn Session, _sql: &str) -> Result<Option<String>, SqlError> {
        Ok(None)
    }

    /// Reads every table and every index of the session's database from end to end, whatever they are: how many.
    fn read_all(&self, session: &mut dyn Session) -> Result<usize, SqlError>;

    /// How full the server's own memory of pages is; none where the server does not say.
    fn pages_in_memory(&self, _session: &mut dyn Session) -> Result<Option<PoolPages>, SqlError> {
        Ok(None)
    }

    /// Has the server do at once what it would do later by itself.
    fn begin_settling(&self) -> &'static [&'static str] {
        &[]
    }

    /// What the server still has to do for statements that have ended; none where it says nothing of it.
    fn backlog(&self, _session: &mut dyn Session) -> Result<Vec<Backlog>, SqlError> {
        Ok(Vec::new())
    }
}

/// The number that a statement answers with, none when it answers with something else.
pub(crate) fn number(session: &mut dyn Session, sql: &str) -> Result<Option<u64>, SqlError> {
    let rows = session.query(sql)?;
    Ok(rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok()))
}
