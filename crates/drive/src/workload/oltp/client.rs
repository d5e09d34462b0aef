//! One connection that runs the transactions of a workload, and clients that outlive their server: after a lost
//! connection a client waits for the server to return, and continues.

use super::grouped::Grouped;
use super::one_statement::{Bulk, Insert, RandomSelect};
use super::statements::StatementTimes;
use super::work::{ClientSlot, Work};
use super::{OltpError, OltpSettings, SessionError, Workload};
use crate::workload::LoadError;
use crate::workload::sessions::{Connections, Reconnect, Tallies, roll_back};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tare_engine::{Dialect, EngineError, Session, SqlError, SqlErrorKind};
use tare_load::{Attempt, Client, Queries, Random};

pub struct OltpClient {
    session: Box<dyn Session>,
    dialect: &'static dyn Dialect,
    work: Box<dyn Work>,
    sent: Queries,
}

impl OltpClient {
    /// Prepares every statement of the workload for every table on the session: 5 * tables + 2 for read_only, 9 *
    /// tables + 2 for read_write. In some workloads each of several clients draws from a range of its own.
    pub fn at(
        slot: ClientSlot,
        mut session: Box<dyn Session>,
        settings: &OltpSettings,
        dialect: &'static dyn Dialect,
    ) -> Result<Self, OltpError> {
        settings.tables.check()?;
        let open = session.as_mut();
        let work: Box<dyn Work> = match settings.workload {
            Workload::Insert => Box::new(Insert::new(settings, dialect)),
            Workload::BulkInsert => Box::new(Bulk::new(open, slot)?),
            Workload::SelectRandomPoints | Workload::SelectRandomRanges => {
                Box::new(RandomSelect::new(open, settings, dialect, slot)?)
            }
            _ => Box::new(Grouped::new(open, settings, dialect)?),
        };
        Ok(Self { session, dialect, work, sent: Queries::default() })
    }

    pub(super) fn times(&mut self) -> Option<&mut StatementTimes> {
        self.work.times()
    }

    fn roll_back(&mut self) -> Result<(), OltpError> {
        if self.work.leaves_open() {
            roll_back(self.session.as_mut()).map_err(|source| SessionError::statement("ROLLBACK", source))?;
        }
        Ok(())
    }

    fn is_to_be_run_again(&self, error: &SqlError) -> bool {
        error.kind == SqlErrorKind::Retry || (self.work.may_collide() && self.dialect.is_duplicate(error))
    }
}

impl Client for OltpClient {
    type Error = OltpError;

    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, OltpError> {
        self.sent = Queries::default();
        match self.work.attempt(self.session.as_mut(), random, &mut self.sent) {
            Ok(()) => Ok(Attempt::Done(self.sent)),
            Err(OltpError::Session(SessionError::Statement { source, .. })) if self.is_to_be_run_again(&source) => {
                self.roll_back()?;
                Ok(Attempt::Restart(self.sent))
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for OltpClient {
    fn drop(&mut self) {
        self.work.finish(self.session.as_mut());
    }
}

/// Wait before a client tries again to connect.
const WAIT: Duration = Duration::from_millis(50);

pub(super) struct Sessions<'a> {
    settings: &'a OltpSettings,
    dialect: &'static dyn Dialect,
    pub connections: Connections,
    pub times: Tallies<StatementTimes>,
    /// Number of the sample in which statements are timed.
    timed: Option<usize>,
    /// None: a lost connection ends the run.
    pub reconnect: Option<&'a Reconnect>,
}

impl<'a> Sessions<'a> {
    pub(crate) fn new(
        settings: &'a OltpSettings,
        dialect: &'static dyn Dialect,
        clients: usize,
        timed: Option<usize>,
        reconnect: Option<&'a Reconnect>,
    ) -> Self {
        let times = Tallies::new(StatementTimes::default());
        Self { settings, dialect, connections: Connections::new(clients), times, timed, reconnect }
    }

    pub(crate) fn client(&self, session: Box<dyn Session>, index: usize) -> Result<OltpClient, OltpError> {
        let slot = ClientSlot { index, clients: self.connections.clients() };
        OltpClient::at(slot, session, self.settings, self.dialect)
    }
}

/// An OLTP client whose error type is that of a load.
pub(super) struct WorkloadClient<'a> {
    sessions: &'a Sessions<'a>,
    index: usize,
    sample: usize,
    state: State,
}

enum State {
    Here(Box<OltpClient>),
    /// Time of the loss, and the attempt to connect in progress.
    Away(Instant, Option<Receiver<Result<Box<dyn Session>, EngineError>>>),
}

impl<'a> WorkloadClient<'a> {
    pub(crate) fn new(sessions: &'a Sessions<'a>, index: usize, client: OltpClient) -> Self {
        Self { sessions, index, sample: 0, state: State::Here(Box::new(client)) }
    }

    /// One step of reconnecting; returns the client once it is connected.
    fn come_back(
        &self,
        trying: &mut Option<Receiver<Result<Box<dyn Session>, EngineError>>>,
        reconnect: &Reconnect,
    ) -> Result<Option<OltpClient>, LoadError> {
        let answer = trying.get_or_insert_with(|| {
            // In a separate thread: a hanging server blocks it for seconds, and the run may end in the meantime.
            let (sender, receiver) = channel();
            let open = Arc::clone(&reconnect.open);
            // If the system starts no thread, the sender is dropped, which counts as a failed attempt.
            let _ = Builder::new().spawn(move || sender.send(open()));
            receiver
        });
        let opened = match answer.recv_timeout(WAIT) {
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) | Ok(Err(_)) => None,
            Ok(Ok(session)) => Some(session),
        };
        *trying = None;
        let Some(mut session) = opened else {
            std::thread::sleep(WAIT);
            return Ok(None);
        };
        self.sessions.connections.adopt(session.as_mut(), self.index)?;
        match self.sessions.client(session, self.index) {
            Ok(client) => Ok(Some(client)),
            // The connection was lost again before everything was prepared.
            Err(error) if is_lost(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_lost(error: &OltpError) -> bool {
    matches!(error, OltpError::Session(SessionError::Statement { source, .. }) if source.kind == SqlErrorKind::Lost)
}

impl Client for WorkloadClient<'_> {
    type Error = LoadError;

    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, LoadError> {
        match (&mut self.state, self.sessions.reconnect) {
            (State::Here(client), reconnect) => match (client.transaction(random), reconnect) {
                (Err(error), Some(reconnect)) if is_lost(&error) => {
                    reconnect.seen().lost += 1;
                    self.state = State::Away(Instant::now(), None);
                    Ok(Attempt::Away)
                }
                (attempt, _) => Ok(attempt?),
            },
            (State::Away(..), None) => Ok(Attempt::Away),
            (State::Away(since, trying), Some(reconnect)) => {
                let (since, mut trying) = (*since, trying.take());
                let client = self.come_back(&mut trying, reconnect)?;
                self.state = match client {
                    None => State::Away(since, trying),
                    Some(client) => {
                        let mut seen = reconnect.seen();
                        seen.back += 1;
                        seen.away.push((since, Instant::now()));
                        State::Here(Box::new(client))
                    }
                };
                Ok(Attempt::Away)
            }
        }
    }

    fn sample_begins(&mut self) {
        if let Some(times) = self.times() {
            times.start();
        }
    }

    fn sample_ended(&mut self, sample: usize) {
        let shared = &self.sessions.times;
        if let Some(times) = self.times() {
            times.stop();
            shared.hand_over(sample, times);
        }
        self.sample = sample + 1;
    }
}

impl WorkloadClient<'_> {
    /// The client's statement times, in the sample in which statements are timed.
    fn times(&mut self) -> Option<&mut StatementTimes> {
        match &mut self.state {
            State::Here(client) if self.sessions.timed == Some(self.sample) => client.times(),
            _ => None,
        }
    }
}

impl Drop for WorkloadClient<'_> {
    fn drop(&mut self) {
        if let (State::Away(since, _), Some(reconnect)) = (&self.state, self.sessions.reconnect) {
            let mut seen = reconnect.seen();
            seen.still_away += 1;
            seen.away.push((*since, Instant::now()));
        }
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
