//! One client's connection, and the server thread behind it.

use crate::workload::load::Connect as Open;
use crate::workload::{LoadContext, LoadError, ServerAt};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tare_cpuset::{ThreadRef, bind_thread};
use tare_engine::{Interrupter, Session, SqlError, SqlErrorKind, StatementId};
use tare_load::{Client, ClientThread, Connect};
use tare_topology::ResolvedPlacement;

/// The connections of all clients: how to end each from outside, and the server thread behind it.
pub struct Connections {
    interrupters: Mutex<Vec<Option<Interrupter>>>,
    serving: Mutex<Vec<Option<ThreadRef>>>,
}

impl Connections {
    pub(crate) fn new(clients: usize) -> Self {
        Self { interrupters: Mutex::new(vec![None; clients]), serving: Mutex::new(vec![None; clients]) }
    }

    pub(crate) fn clients(&self) -> usize {
        held(&self.interrupters).len()
    }

    /// Adopts a session for a client. Its time-out is removed: the run itself ends sessions that wait too long, and a
    /// limit of the socket would set a timer for every statement.
    pub(crate) fn adopt(&self, session: &mut dyn Session, client: usize) -> Result<(), LoadError> {
        session.set_timeout(None).map_err(LoadError::own)?;
        held(&self.interrupters)[client] = session.interrupter();
        Ok(())
    }

    pub(crate) fn interrupt(&self) {
        held(&self.interrupters).iter().flatten().for_each(Interrupter::interrupt);
    }

    /// The server thread behind each connection, if known.
    pub(crate) fn serving(&self) -> Vec<Option<ThreadRef>> {
        held(&self.serving).clone()
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Connects each client in its own thread, which is bound first; `make` creates a client from its session.
pub(crate) struct Connector<'a, M> {
    connections: &'a Connections,
    connect: &'a Open<'a>,
    placement: &'a ResolvedPlacement,
    server_at: ServerAt,
    make: M,
}

impl<'a, M> Connector<'a, M> {
    pub(crate) fn new<C>(stage: &LoadContext<'a>, connections: &'a Connections, make: M) -> Self
    where
        M: Fn(Box<dyn Session>, usize) -> Result<C, LoadError> + Sync,
    {
        Self {
            connections,
            connect: stage.connect,
            placement: &stage.placement.placement,
            server_at: stage.server_at,
            make,
        }
    }

    /// For servers that are restarted: their threads change.
    pub(crate) fn of_changing_server(self, changes: bool) -> Self {
        Self { server_at: if changes { ServerAt::Elsewhere } else { self.server_at }, ..self }
    }

    /// The server thread behind a connection. A refused query is an error only if that thread is to be bound.
    fn serving(&self, session: &mut dyn Session) -> Result<Option<ThreadRef>, LoadError> {
        match self.server_at.serving(session) {
            Ok(thread) => Ok(thread),
            Err(_) if self.placement.server.is_empty() => Ok(None),
            Err(e) => Err(LoadError::own(e)),
        }
    }
}

impl<M, C> Connect for Connector<'_, M>
where
    M: Fn(Box<dyn Session>, usize) -> Result<C, LoadError> + Sync,
    C: Client<Error = LoadError>,
{
    type Client = C;
    type Error = LoadError;

    fn bind(&self, thread: ClientThread) -> Result<(), LoadError> {
        match self.placement.client_cpus(thread.index) {
            Some(cpus) => bind_thread(thread.id, cpus).map_err(|e| LoadError::SystemUnderTest(e.into())),
            None => Ok(()),
        }
    }

    fn connect(&self, thread: ClientThread) -> Result<C, LoadError> {
        let mut session = (self.connect)()?;
        self.connections.adopt(session.as_mut(), thread.index)?;
        let serving = self.serving(session.as_mut())?;
        held(&self.connections.serving)[thread.index] = serving;
        (self.make)(session, thread.index)
    }
}

/// BEGIN or COMMIT: prepared like other statements, or sent as text if the server cannot prepare it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Border {
    pub sql: &'static str,
    prepared: Option<StatementId>,
}

impl Border {
    pub(crate) fn prepare(session: &mut dyn Session, sql: &'static str) -> Result<Self, SqlError> {
        match session.prepare(sql) {
            Ok(statement) => Ok(Self { sql, prepared: Some(statement) }),
            Err(error) if error.kind == SqlErrorKind::NotPreparable => Ok(Self { sql, prepared: None }),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn of_text(sql: &'static str) -> Self {
        Self { sql, prepared: None }
    }

    pub(crate) fn send(&self, session: &mut dyn Session) -> Result<(), SqlError> {
        match self.prepared {
            Some(statement) => session.execute(statement, &[]).map(drop),
            None => session.run(self.sql).map(drop),
        }
    }
}

/// Rolls back a failed transaction. That none is open any more (after a deadlock) is not an error.
pub(crate) fn roll_back(session: &mut dyn Session) -> Result<(), SqlError> {
    match session.run("ROLLBACK") {
        Err(source) if source.kind == SqlErrorKind::Lost => Err(source),
        _ => Ok(()),
    }
}
