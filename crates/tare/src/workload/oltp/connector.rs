//! One client's connection, and the server thread behind it.

use super::{OltpClient, OltpError, OltpSettings};
use crate::workload::{LoadError, Stage};
use std::sync::{Mutex, PoisonError};
use tare_engine::{Dialect, Interrupter, Session};
use tare_load::{ClientThread, Connect};
use tare_topology::{ResolvedPlacement, ThreadRef, bind};

/// Connects one client, in its own thread.
pub(super) struct Connector<'a> {
    settings: &'a OltpSettings,
    connect: &'a (dyn Fn() -> Result<Box<dyn Session>, LoadError> + Sync),
    dialect: &'static dyn Dialect,
    placement: &'a ResolvedPlacement,
    server_is_here: bool,
    serving: Mutex<Vec<Option<ThreadRef>>>,
    /// End sessions that wait for a server which does not answer.
    interrupters: Mutex<Vec<Interrupter>>,
}

impl<'a> Connector<'a> {
    pub(super) fn new(settings: &'a OltpSettings, stage: &Stage<'a>, threads: usize) -> Self {
        Self {
            settings,
            connect: stage.connect,
            dialect: stage.dialect,
            placement: &stage.placement.placement,
            server_is_here: stage.server_is_here,
            serving: Mutex::new(vec![None; threads]),
            interrupters: Mutex::default(),
        }
    }

    /// Ends all sessions that wait for the server.
    pub(super) fn interrupt(&self) {
        let sessions = self.interrupters.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.iter().for_each(Interrupter::interrupt);
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

impl Connect for Connector<'_> {
    type Client = WorkloadClient;
    type Error = LoadError;

    fn bind(&self, thread: ClientThread) -> Result<(), LoadError> {
        match self.placement.client_cpus(thread.index) {
            Some(cpus) => bind::bind_thread(thread.id, cpus).map_err(|e| LoadError::Subject(e.into())),
            None => Ok(()),
        }
    }

    fn connect(&self, thread: ClientThread) -> Result<WorkloadClient, LoadError> {
        let mut session = (self.connect)()?;
        // The run itself ends sessions that wait too long; a limit of the socket's own would arm a timer a statement.
        session.set_timeout(None).map_err(LoadError::own)?;
        self.interrupters.lock().unwrap_or_else(PoisonError::into_inner).extend(session.interrupter());
        let serving = self.serving(session.as_mut())?;
        self.serving.lock().unwrap_or_else(PoisonError::into_inner)[thread.index] = serving;
        Ok(WorkloadClient(OltpClient::new(session, self.settings, self.dialect)?))
    }
}

impl From<OltpError> for LoadError {
    fn from(error: OltpError) -> Self {
        Self::own(error)
    }
}

/// An OLTP client whose errors are a load's.
pub(super) struct WorkloadClient(OltpClient);

impl tare_load::Client for WorkloadClient {
    type Error = LoadError;

    fn transaction(&mut self, random: &mut tare_load::Random) -> Result<tare_load::Attempt, LoadError> {
        Ok(self.0.transaction(random)?)
    }
}
