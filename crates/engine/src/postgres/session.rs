//! A session on a PostgreSQL server.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use tare_cpuset::ThreadRef;

use super::connection::Connection;
use crate::contract::session::{HANDSHAKE, SILENCE};
use crate::transport::stream::{Channel, Interrupter, Stream};
use crate::{ConnectTarget, EngineError, Param, Session, SqlError, StatementId};

/// A connection, served by a process of its own.
pub(super) struct PostgresSession(Connection<Stream>);

impl PostgresSession {
    pub(super) fn open(target: &ConnectTarget) -> Result<Self, EngineError> {
        let failed = |source| EngineError::Connect { address: target.address.to_string(), source };
        let unreached = |error: io::Error| EngineError::unreached(&target.address, &error);
        let stream = Stream::connect(&target.address, Instant::now() + HANDSHAKE).map_err(unreached)?;
        let connection = Connection::open(stream, target);
        let mut session = Self(connection.map_err(failed)?);
        session.0.stream_mut().set_deadline(None);
        session.set_timeout(Some(SILENCE)).map_err(failed)?;
        Ok(session)
    }

    /// Version as the server writes it.
    pub(super) fn version(&self) -> &str {
        self.0.version()
    }
}

impl Session for PostgresSession {
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

    fn load(&mut self, sql: &str, feed: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> Result<u64, SqlError> {
        self.0.load(sql, feed)
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

    fn thread_number(&mut self) -> Result<Option<i32>, SqlError> {
        Ok(Some(self.0.backend()))
    }

    /// The main thread of the connection's own process, which the server named when it let us in.
    fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError> {
        let is_local = self.0.stream().is_local();
        Ok(is_local.then_some(self.0.backend()).and_then(|pid| ThreadRef::of_tid(pid).ok()))
    }
}
