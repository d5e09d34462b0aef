//! One connection to a database, as a workload sees it.

use crate::transport::spin::Spinning;
use crate::transport::stream::Interrupter;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;
use tare_cpuset::ThreadRef;

/// How long a server may be silent while it owes an answer, unless a session is told otherwise: longer than any
/// statement of a measurement, and not for ever.
pub const SILENCE: Duration = Duration::from_secs(600);
/// How long connecting and logging in may take together.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);
/// Bytes that a result may take in memory; a server that sends more is out of its mind or not the one meant.
pub(crate) const RESULT_LIMIT: usize = 256 << 20;
/// How long a server may take for each answer before anything is measured, and may not answer a client that connects.
pub const SET_UP: Duration = Duration::from_secs(60);

/// A server-side prepared statement of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementId(pub usize);

/// A value bound to a placeholder of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Param<'a> {
    Int(i64),
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
    Lost,
    /// Anything else: the statement or the data is wrong.
    Other,
}

/// What a statement failed with, as the server said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    pub kind: SqlErrorKind,
    /// The engine's own code; none where the engine did not say a word, or has no code for it.
    pub code: Option<Code>,
    pub message: String,
}

impl SqlError {
    /// What this program says of a session or an answer.
    pub fn own(kind: SqlErrorKind, message: impl Into<String>) -> Self {
        Self { kind, code: None, message: message.into() }
    }

    #[cold]
    pub(crate) fn unknown_statement() -> Self {
        Self::own(SqlErrorKind::Other, "a statement of another session")
    }

    #[cold]
    pub(crate) fn wrong_count(expected: usize, found: usize) -> Self {
        let message = format!("the statement has {expected} parameters, {found} were given");
        Self::own(SqlErrorKind::Other, message)
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            None => f.write_str(&self.message),
            Some(code @ Code::Number(_)) => write!(f, "{} (code {code})", self.message),
            Some(code @ Code::State(_)) => write!(f, "{} (SQLSTATE {code})", self.message),
        }
    }
}

impl std::error::Error for SqlError {}

/// One connection to a server, as a workload uses it.
pub trait Session: Send {
    /// Prepares `sql` on the server; parameters are written as its [`crate::Dialect`] says.
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SqlError>;
    /// Executes and discards the rows: the number of rows returned, or changed where none are returned.
    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<u64, SqlError>;
    /// Executes a prepared statement and returns its rows as text, NULL as None.
    fn fetch(&mut self, _statement: StatementId, _params: &[Param<'_>]) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        Err(SqlError::own(SqlErrorKind::Other, "rows of prepared statements are not read from this database"))
    }
    /// Runs text without parameters and discards the rows; the number as for [`Session::execute`].
    fn run(&mut self, sql: &str) -> Result<u64, SqlError>;
    /// Runs text and returns the rows as text, NULL as None.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError>;
    /// The number of the server thread that serves this session, as the server's own machine knows it; None where the
    /// server does not say.
    fn thread_number(&mut self) -> Result<Option<i32>, SqlError> {
        Ok(None)
    }
    /// The server thread that serves this session, where the engine can say it and it is on this machine.
    fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError>;
    /// How long the server may say nothing while it owes an answer, and how long an answer may go on; none: for ever.
    /// A session that this has ended is lost. New sessions have [`SILENCE`].
    fn set_timeout(&mut self, _limit: Option<Duration>) -> Result<(), SqlError> {
        Ok(())
    }
    /// From now on it spins until an answer arrives, in place of sleeping, and adds how long to this; none: it sleeps.
    fn set_spinning(&mut self, _spinning: Option<Spinning>) {}
    /// How the connection is encrypted, in words (version, cipher suite); none: it is not.
    fn encryption(&self) -> Option<String> {
        None
    }
    /// A handle with which another thread ends the session, also while it waits; none where that is not possible.
    fn interrupter(&self) -> Option<Interrupter> {
        None
    }
    /// Runs a statement whose rows follow over the connection, as [`crate::BulkLoad::Stream`] says; `feed` writes
    /// them. The number of rows that were taken.
    fn load(&mut self, _sql: &str, _feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, SqlError> {
        Err(SqlError::own(SqlErrorKind::Other, "rows cannot be sent behind a statement to this database"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// MariaDB's and MySQL's error number, SQLite's extended result code.
    Number(u32),
    State(SqlState),
}

/// Five digits and capital letters, of which the first two are the class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The state that these bytes are, none where they are not one.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let is_one = bytes.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        bytes.try_into().ok().filter(|_| is_one).map(Self)
    }

    /// Five ASCII characters, as the server sent them.
    pub fn as_str(&self) -> &str {
        // Always ASCII, by construction.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The two characters that related states share.
    pub fn class(&self) -> &str {
        &self.as_str()[..2]
    }
}

impl Code {
    pub fn is_state(self, state: &str) -> bool {
        matches!(self, Self::State(found) if found.as_str() == state)
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The code alone: digits and capital letters, so that it can be part of a metric's name.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::State(state) => f.write_str(state.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_a_number_or_five_characters_and_can_be_part_of_a_name() {
        let state = SqlState::new(b"40P01").unwrap();
        assert_eq!((state.class(), Code::State(state).to_string().as_str()), ("40", "40P01"));
        assert!(Code::State(state).is_state("40P01") && !Code::State(state).is_state("40001"));
        assert_eq!(Code::Number(1062).to_string(), "1062");
        assert!(!Code::Number(40001).is_state("40001"));
        for none in [&b""[..], b"4000", b"400011", b"4000a", b"40 01", b"40\xff01", b"40_01"] {
            assert_eq!(SqlState::new(none), None, "{none:?}");
        }
    }
}
