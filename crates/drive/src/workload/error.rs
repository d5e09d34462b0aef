//! Errors of a load, and of creating its data.

use super::sessions::InvalidSample;
use crate::sut::SutError;
use std::error::Error;
use tare_cpuset::LimitTooLow;
use tare_engine::{EngineError, Session, SqlError, SqlErrorKind};

const SHOWN: usize = 120;

pub(super) fn shown(sql: &str) -> String {
    let mut shown: String = sql.chars().take(SHOWN).collect();
    if shown.len() < sql.len() {
        shown.push_str(" ...");
    }
    shown
}

/// Why a session that makes or uses the tables of a load cannot go on; part of that load's own errors.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot connect: {0}")]
    Connect(#[source] OwnError),
    #[error("{sql}: {source}")]
    Statement { sql: String, source: SqlError },
    /// A table could not be created: an older one may exist.
    #[error("{sql}: {source}")]
    Create { sql: String, source: SqlError },
}

impl SessionError {
    pub(super) fn connect(source: impl Into<OwnError>) -> Self {
        Self::Connect(source.into())
    }

    pub(super) fn statement(sql: &str, source: SqlError) -> Self {
        Self::Statement { sql: shown(sql), source }
    }
}

/// Runs one statement; an error contains its text.
pub(super) fn run(session: &mut dyn Session, sql: &str) -> Result<u64, SessionError> {
    session.run(sql).map_err(|source| SessionError::statement(sql, source))
}

/// Whether the server can read these columns of a table; no row is read.
pub(super) fn reads(session: &mut dyn Session, columns: &str, table: &str) -> Result<bool, SessionError> {
    let sql = format!("SELECT {columns} FROM {table} WHERE 1 = 0");
    match session.query(&sql) {
        Ok(_) => Ok(true),
        Err(source) if source.kind == SqlErrorKind::Other => Ok(false),
        Err(source) => Err(SessionError::statement(&sql, source)),
    }
}

impl From<SessionError> for LoadError {
    fn from(error: SessionError) -> Self {
        Self::own(error)
    }
}

/// An error of one load; its cause is in its chain of sources.
type OwnError = Box<dyn Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("interrupted")]
    Interrupted,
    /// No connection, or the server does not report which thread serves it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    SystemUnderTest(#[from] SutError),
    /// A transaction or query failed permanently, returned a wrong answer, or could not be sent.
    #[error(transparent)]
    Own(OwnError),
    /// The load exceeded its time limit and ended the server itself.
    #[error(transparent)]
    Ended(OwnError),
    #[error("{0}")]
    Generator(String),
    #[error(
        "preload: the server's pool holds {held} pages of the data's {data}, less than 99%: configure a larger pool \
         or smaller tables"
    )]
    NotResident {
        /// Increase of the pages in the pool since the server started.
        held: u64,
        data: u64,
    },
    #[error("{threads} client threads: {source}")]
    Limit { threads: usize, source: LimitTooLow },
    #[error("this load needs a server, and none was started for it")]
    NoServer,
}

impl LoadError {
    pub fn own(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Own(Box::new(error))
    }

    /// Whether the connection to the server was lost in a transaction.
    pub fn is_connection_lost(&self) -> bool {
        self.sql_error().is_some_and(|error| error.kind == SqlErrorKind::Lost)
    }

    /// Whether the server did not do what a transaction asked for because the account has no right to it.
    pub fn is_denied(&self) -> bool {
        self.sql_error().is_some_and(SqlError::is_denied)
    }

    fn sql_error(&self) -> Option<&SqlError> {
        std::iter::successors(self.source(), |&cause| cause.source()).find_map(|cause| cause.downcast_ref())
    }
}

impl From<InvalidSample> for LoadError {
    fn from(error: InvalidSample) -> Self {
        Self::own(error)
    }
}

/// Why data could not be created; the cause is in the chain of sources, where engines look for a full disk.
pub type FillError = OwnError;
