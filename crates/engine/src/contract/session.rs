//! One connection to a database, as a workload sees it.

use crate::transport::spin::Spinning;
use crate::transport::stream::Interrupter;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;
use tare_cpuset::ThreadRef;

/// Default limit on the silence of a server that owes an answer: longer than any measured statement, but finite.
pub const SILENCE: Duration = Duration::from_secs(600);
/// Time limit for connecting and logging in together.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(10);
/// Descriptors of a session: its socket, and the copy with which another thread can end it.
pub const DESCRIPTORS_OF_SESSION: u64 = 2;
/// Limit on the size of a result in memory, bytes; a server that sends more is faulty or the wrong one.
pub(crate) const RESULT_LIMIT: usize = 256 << 20;
/// Time limit for each answer before anything is measured. A server may also fail to answer a client that connects.
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

/// What the caller can do about a failed statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlErrorKind {
    /// Deadlock, lock timeout, busy: run the whole transaction again (MariaDB 1213, 1020, 1205; SQLite BUSY).
    Retry,
    /// The statement cannot be prepared on this server (MariaDB 1295): send it as text.
    NotPreparable,
    /// No space left where the server keeps its files.
    DiskFull,
    Lost,
    /// The system gave PostgreSQL no process for the session.
    NoProcess,
    /// Anything else: the statement or the data is wrong.
    Other,
}

/// The error of a failed statement, as the server reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    pub kind: SqlErrorKind,
    /// The engine's own error code; none if the server sent nothing or has no code for it.
    pub code: Option<Code>,
    pub message: String,
}

impl SqlError {
    /// An error about a session or an answer that this program reports itself.
    pub fn own(kind: SqlErrorKind, message: impl Into<String>) -> Self {
        Self { kind, code: None, message: message.into() }
    }

    /// Whether the account lacks the right to do this: on a database, a table, a column or a routine, or of the server.
    pub fn is_denied(&self) -> bool {
        match &self.code {
            Some(Code::Number(number)) => [1044, 1142, 1143, 1227, 1370].contains(number),
            Some(Code::State(state)) => state.as_str() == "42501",
            None => false,
        }
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
    /// Prepares `sql` on the server; the session's [`crate::Dialect`] defines the placeholders.
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SqlError>;
    /// Executes and discards the rows. Returns the number of rows returned, or of rows changed if none are returned.
    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<u64, SqlError>;
    /// Executes a prepared statement and returns its rows as text, NULL as None.
    fn fetch(&mut self, _statement: StatementId, _params: &[Param<'_>]) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        Err(SqlError::own(SqlErrorKind::Other, "this session does not return rows of prepared statements"))
    }
    /// Runs text without parameters and discards the rows; returns the same number as [`Session::execute`].
    fn run(&mut self, sql: &str) -> Result<u64, SqlError>;
    /// Runs text and returns the rows as text, NULL as None.
    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError>;
    /// The number of the server thread that serves this session, in the numbering of the server's own machine; `None`
    /// if the server does not report it.
    fn thread_number(&mut self) -> Result<Option<i32>, SqlError> {
        Ok(None)
    }
    /// The server thread that serves this session, if the engine can report it and it is on this machine.
    fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError>;
    /// Limits how long the server may stay silent while it owes an answer, and how long an answer may take in total;
    /// `None`: no limit. A session that exceeds it is lost. New sessions use [`SILENCE`].
    fn set_timeout(&mut self, _limit: Option<Duration>) -> Result<(), SqlError> {
        Ok(())
    }
    /// From now on the session spins until an answer arrives, and adds the time to this counter; `None`: it sleeps.
    fn set_spinning(&mut self, _spinning: Option<Spinning>) {}
    /// How the connection is encrypted, in words (version, cipher suite); none if it is not.
    fn encryption(&self) -> Option<String> {
        None
    }
    /// A handle with which another thread can end the session, also while it waits; none if that is not possible.
    fn interrupter(&self) -> Option<Interrupter> {
        None
    }
    /// Runs a statement whose rows follow over the connection, see [`crate::BulkLoad::Stream`]; `feed` writes them.
    /// Returns the number of accepted rows.
    fn load(&mut self, _sql: &str, _feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, SqlError> {
        Err(SqlError::own(SqlErrorKind::Other, "this session cannot send rows after a statement"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// MariaDB's and MySQL's error number, SQLite's extended result code.
    Number(u32),
    State(SqlState),
}

/// Five digits and capital letters; the first two are the class.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The SQLSTATE with these bytes; none if they are not a valid one.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let is_one = bytes.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        bytes.try_into().ok().filter(|_| is_one).map(Self)
    }

    pub(crate) fn as_str(&self) -> &str {
        // Always ASCII, by construction.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The two characters that related states share.
    pub(crate) fn class(&self) -> &str {
        &self.as_str()[..2]
    }
}

impl Code {
    pub(crate) fn is_state(self, state: &str) -> bool {
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
