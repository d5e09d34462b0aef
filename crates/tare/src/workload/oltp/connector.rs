//! One client's connection, and the server thread behind it.

use super::OltpError;
use super::reconnect::{Sessions, WorkloadClient};
use crate::workload::{LoadError, Stage};
use std::sync::{Mutex, PoisonError};
use tare_engine::Session;
use tare_load::{ClientThread, Connect};
use tare_topology::{ResolvedPlacement, ThreadRef, bind};

/// Connects one client, in its own thread.
pub(super) struct Connector<'a> {
    sessions: &'a Sessions<'a>,
    connect: &'a (dyn Fn() -> Result<Box<dyn Session>, LoadError> + Sync),
    placement: &'a ResolvedPlacement,
    server_is_here: bool,
    serving: Mutex<Vec<Option<ThreadRef>>>,
}

impl<'a> Connector<'a> {
    pub(super) fn new(sessions: &'a Sessions<'a>, stage: &Stage<'a>) -> Self {
        Self {
            sessions,
            connect: stage.connect,
            placement: &stage.placement.placement,
            // The threads of a server that was started again are others.
            server_is_here: stage.server_is_here && !sessions.survive(),
            serving: Mutex::new(vec![None; sessions.clients()]),
        }
    }

    /// Ends all sessions that wait for the server.
    pub(super) fn interrupt(&self) {
        self.sessions.interrupt();
    }

    /// The server thread behind each connection, where it is known.
    pub(super) fn found(&self) -> Vec<Option<ThreadRef>> {
        self.serving.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The server thread behind a connection. Who may not ask need not know, unless that thread is to be bound.
    fn serving(&self, session: &mut dyn Session) -> Result<Option<ThreadRef>, LoadError> {
        if !self.server_is_here {
            return Ok(None);
        }
        match session.server_thread() {
            Ok(thread) => Ok(thread),
            Err(_) if self.placement.server.is_empty() => Ok(None),
            Err(e) => Err(LoadError::own(e)),
        }
    }
}

impl<'a> Connect for Connector<'a> {
    type Client = WorkloadClient<'a>;
    type Error = LoadError;

    fn bind(&self, thread: ClientThread) -> Result<(), LoadError> {
        match self.placement.client_cpus(thread.index) {
            Some(cpus) => bind::bind_thread(thread.id, cpus).map_err(|e| LoadError::Subject(e.into())),
            None => Ok(()),
        }
    }

    fn connect(&self, thread: ClientThread) -> Result<WorkloadClient<'a>, LoadError> {
        let mut session = (self.connect)()?;
        self.sessions.adopt(session.as_mut(), thread.index)?;
        let serving = self.serving(session.as_mut())?;
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)[thread.index] = serving;
        Ok(WorkloadClient::new(self.sessions, thread.index, self.sessions.client(session)?))
    }
}

impl From<OltpError> for LoadError {
    fn from(error: OltpError) -> Self {
        Self::own(error)
    }
}
