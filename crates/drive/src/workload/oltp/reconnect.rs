//! Clients that outlive their server: who loses a connection waits for the server to come back and goes on.

use super::times::StatementTimes;
use super::work::ClientSlot;
use super::{OltpClient, OltpError, OltpSettings};
use crate::workload::LoadError;
use crate::workload::sessions::{Connections, Reconnect, Tallies};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tare_engine::{Dialect, EngineError, Session, SqlErrorKind};
use tare_load::{Attempt, Client, Random};

/// How long a client waits before it says again that there is no server.
const WAIT: Duration = Duration::from_millis(50);

pub(super) struct Sessions<'a> {
    settings: &'a OltpSettings,
    dialect: &'static dyn Dialect,
    pub connections: Connections,
    pub times: Tallies<StatementTimes>,
    /// The number of the sample in which statements are timed.
    timed: Option<usize>,
    /// None: who loses a connection ends the run.
    reconnect: Option<&'a Reconnect>,
}

impl<'a> Sessions<'a> {
    pub fn new(
        settings: &'a OltpSettings,
        dialect: &'static dyn Dialect,
        clients: usize,
        timed: Option<usize>,
        reconnect: Option<&'a Reconnect>,
    ) -> Self {
        let times = Tallies::new(StatementTimes::default());
        Self { settings, dialect, connections: Connections::new(clients), times, timed, reconnect }
    }

    pub fn survive(&self) -> bool {
        self.reconnect.is_some()
    }

    /// A client over a session that was made ready for it.
    pub fn client(&self, session: Box<dyn Session>, index: usize) -> Result<OltpClient, OltpError> {
        let seat = ClientSlot { index, clients: self.connections.clients() };
        OltpClient::at(seat, session, self.settings, self.dialect)
    }
}

/// An OLTP client whose errors are a load's.
pub(super) struct WorkloadClient<'a> {
    sessions: &'a Sessions<'a>,
    index: usize,
    sample: usize,
    state: State,
}

enum State {
    Here(Box<OltpClient>),
    /// Since when, and the attempt to connect that is under way.
    Away(Instant, Option<Receiver<Result<Box<dyn Session>, EngineError>>>),
}

impl<'a> WorkloadClient<'a> {
    pub fn new(sessions: &'a Sessions<'a>, index: usize, client: OltpClient) -> Self {
        Self { sessions, index, sample: 0, state: State::Here(Box::new(client)) }
    }

    /// One step of the way back: the client when it is there.
    fn come_back(
        &self,
        trying: &mut Option<Receiver<Result<Box<dyn Session>, EngineError>>>,
        reconnect: &Reconnect,
    ) -> Result<Option<OltpClient>, LoadError> {
        let answer = trying.get_or_insert_with(|| {
            // In a thread of its own, for a server that hangs holds it for seconds, and a run may end meanwhile.
            let (sender, receiver) = channel();
            let open = Arc::clone(&reconnect.open);
            // Where the system starts none, no one sends: that is an attempt that failed.
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
            // It went away again before it had prepared everything.
            Err(error) if is_lost(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_lost(error: &OltpError) -> bool {
    matches!(error, OltpError::Statement { source, .. } if source.kind == SqlErrorKind::Lost)
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
            shared.hand_over(sample, times);
        }
        self.sample = sample + 1;
    }
}

impl WorkloadClient<'_> {
    /// Where the client times its statements, in the sample in which it does.
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
