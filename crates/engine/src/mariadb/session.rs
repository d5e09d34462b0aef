//! A session on a MariaDB server.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use tare_cpuset::ThreadRef;

use crate::contract::session::{HANDSHAKE, SILENCE};
use crate::transport::stream::{Channel, Interrupter, Stream};
use crate::wire::Connection;
use crate::{Code, ConnectTarget, EngineError, Param, Session, SqlError, SqlErrorKind, StatementId};

/// What the server believes that this connection sends.
pub(crate) const CHARSET_QUESTION: &str = "SELECT @@character_set_client";

/// A connection; see [`crate::wire`] for what a statement costs.
pub(crate) struct MariadbSession(Connection<Stream>);

impl MariadbSession {
    pub(crate) fn open(target: &ConnectTarget) -> Result<Self, EngineError> {
        let failed = |source| EngineError::Connect { address: target.address.to_string(), source };
        let unreached = |error: io::Error| EngineError::unreached(&target.address, &error);
        let stream = Stream::connect(&target.address, Instant::now() + HANDSHAKE).map_err(unreached)?;
        let connection = Connection::open(stream, target);
        let mut session = Self(connection.map_err(failed)?);
        session.0.stream_mut().set_deadline(None);
        session.set_timeout(Some(SILENCE)).map_err(failed)?;
        Ok(session)
    }

    /// Whether this is MariaDB; else it is MySQL, or built from it.
    fn is_mariadb(&self) -> bool {
        self.0.version().contains("MariaDB")
    }

    /// Version as the server writes it, without the prefix that old replicas needed.
    pub(super) fn version(&self) -> String {
        let version = self.0.version();
        version.strip_prefix("5.5.5-").unwrap_or(version).to_owned()
    }
}

impl Session for MariadbSession {
    fn prepare(&mut self, sql: &str) -> Result<StatementId, SqlError> {
        self.0.prepare(sql)
    }

    fn execute(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<u64, SqlError> {
        self.0.execute(statement, params)
    }

    fn fetch(&mut self, statement: StatementId, params: &[Param<'_>]) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        self.0.fetch(statement, params)
    }

    fn run(&mut self, sql: &str) -> Result<u64, SqlError> {
        self.0.run(sql)
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, SqlError> {
        self.0.query(sql)
    }

    /// With LOCAL a value that does not fit is a warning, and a row whose key is there already is left out.
    fn load(&mut self, sql: &str, feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, SqlError> {
        let taken = self.0.load(sql, feed)?;
        let warnings = self.0.query("SHOW WARNINGS LIMIT 1")?;
        match warnings.first().map(Vec::as_slice) {
            None => Ok(taken),
            Some(warning) => {
                let cell = |at: usize| warning.get(at).and_then(Option::as_deref);
                let code = cell(1).and_then(|code| code.parse().ok()).map(Code::Number);
                let message = cell(2).unwrap_or("a row was changed on its way").to_owned();
                Err(SqlError { kind: SqlErrorKind::Other, code, message })
            }
        }
    }

    fn set_timeout(&mut self, limit: Option<Duration>) -> Result<(), SqlError> {
        self.0.set_timeout(limit)
    }

    fn encryption(&self) -> Option<String> {
        self.0.stream().encryption()
    }

    fn interrupter(&self) -> Option<Interrupter> {
        self.0.stream().interrupter()
    }

    /// With a pool of threads a connection has no thread of its own between statements: an error that says so.
    fn thread_number(&mut self) -> Result<Option<i32>, SqlError> {
        let rows = self.0.query(if self.is_mariadb() {
            "SELECT TID, @@thread_handling FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
        } else {
            "SELECT THREAD_OS_ID, @@thread_handling FROM performance_schema.threads \
             WHERE PROCESSLIST_ID = CONNECTION_ID()"
        })?;
        match rows.first().map(Vec::as_slice) {
            Some([Some(tid), Some(handling)]) if handling == "one-thread-per-connection" => Ok(tid.parse().ok()),
            Some([_, Some(handling)]) => {
                let message = format!(
                    "this server has thread_handling={handling}: a connection has no thread of its own that could be \
                     placed; start it with thread_handling=one-thread-per-connection, or leave out bind and pairing"
                );
                Err(SqlError::own(SqlErrorKind::Other, message))
            }
            _ => Ok(None),
        }
    }

    fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError> {
        if !self.0.stream().is_local() {
            return Ok(None);
        }
        Ok(self.thread_number()?.and_then(|tid| ThreadRef::of_tid(tid).ok()))
    }
}
