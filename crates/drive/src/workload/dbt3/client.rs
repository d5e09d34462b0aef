//! The single client of a dbt3 load: a thread that executes tasks, and the handle that waits for it.

use super::{AnswerRow, Dbt3Error, Indexes, Preloaded, preload, set_up};
use crate::sut::Connected;
use crate::workload::{Host, LoadError, ServerAt};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use tare_cpuset::{CpuSet, ThreadRef, bind_thread};
use tare_engine::{Dialect, Interrupter, Server, Session};

/// Interval between checks for an interrupt and for the time limit while a query runs.
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(crate) enum Task {
    /// Reads everything once if indexes are given, and returns how much was read.
    Preload(Option<Indexes>),
    Measure(String),
    Rows(String),
    Plan(String),
}

pub(crate) enum Done {
    Connected(Connected, Option<Interrupter>),
    Preloaded(Preloaded),
    Measured {
        seconds: f64,
        rows: u64,
    },
    /// The rows, and the seconds until all were received.
    Rows(Vec<AnswerRow>, f64),
    /// None if the server does not report the plan.
    Plan(Option<String>),
}

pub struct Place {
    /// CPUs of the client thread; None: any.
    pub cpus: Option<CpuSet>,
    /// Whether the server's thread is placed, so that it must be known.
    pub server_is_placed: bool,
    pub server_at: ServerAt,
}

/// The client thread. It is bound before it connects, so that its memory is allocated on its own node.
pub(crate) fn client(
    connect: &(dyn Fn() -> Result<Box<dyn Session>, LoadError> + Sync),
    dialect: &dyn Dialect,
    place: &Place,
    tasks: &Receiver<Task>,
    replies: &Sender<Result<Done, LoadError>>,
) {
    let set_up_session = || {
        let own = ThreadRef::of_this_thread();
        if let Some(cpus) = &place.cpus {
            bind_thread(own, cpus).map_err(|e| LoadError::SystemUnderTest(e.into()))?;
        }
        let mut session = connect()?;
        set_up(session.as_mut(), dialect)?;
        let serving = match place.server_at.serving(session.as_mut()) {
            Err(_) if !place.server_is_placed => None,
            serving => serving.map_err(LoadError::own)?,
        };
        Ok((session, Connected { client: own, serving }))
    };
    let mut session = match set_up_session() {
        Ok((session, connected)) => {
            let _ = replies.send(Ok(Done::Connected(connected, session.interrupter())));
            session
        }
        Err(error) => {
            let _ = replies.send(Err(error));
            return;
        }
    };
    while let Ok(task) = tasks.recv() {
        let done = match task {
            Task::Preload(indexes) => read_all(session.as_mut(), dialect, indexes),
            Task::Measure(sql) => {
                let clock = Instant::now();
                let rows = session.run(&sql);
                let seconds = clock.elapsed().as_secs_f64();
                rows.map(|rows| Done::Measured { seconds, rows }).map_err(LoadError::own)
            }
            Task::Rows(sql) => {
                let clock = Instant::now();
                let rows = session.query(&sql);
                rows.map(|rows| Done::Rows(rows, clock.elapsed().as_secs_f64())).map_err(LoadError::own)
            }
            Task::Plan(sql) => dialect.plan(session.as_mut(), &sql).map(Done::Plan).map_err(LoadError::own),
        };
        // A runner that no longer listens has its result.
        if replies.send(done).is_err() {
            return;
        }
    }
}

fn read_all(session: &mut dyn Session, dialect: &dyn Dialect, indexes: Option<Indexes>) -> Result<Done, LoadError> {
    Ok(Done::Preloaded(match indexes {
        Some(indexes) => preload(session, dialect, indexes)?,
        None => Preloaded::default(),
    }))
}

pub(crate) struct Client<'a> {
    /// Killed when a query takes too long, if tare started it here: nothing else ends a query on every engine.
    pub server: Option<&'a dyn Server>,
    /// Ends the session on a server that tare did not start, or on another host; there the trial ends the server.
    pub interrupter: Option<Interrupter>,
    pub host: &'a dyn Host,
    pub timeout_s: f64,
    pub tasks: Sender<Task>,
    pub replies: Receiver<Result<Done, LoadError>>,
}

impl Client<'_> {
    fn end(&self) {
        let Some(server) = self.server.filter(|server| server.is_ours()) else {
            self.interrupter.iter().for_each(Interrupter::interrupt);
            return;
        };
        if let Some(pid) = rustix::process::Pid::from_raw(server.pid().cast_signed()) {
            // It may have ended already.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }

    /// Sends a task without waiting for its result.
    pub(crate) fn send(&self, task: Task) -> Result<(), LoadError> {
        self.tasks.send(task).map_err(|_| Self::out_of_step())
    }

    /// The thread ended, or its reply does not match the task.
    pub(crate) fn out_of_step() -> LoadError {
        LoadError::Generator("the client thread ended or is out of step".into())
    }

    /// Sends a task for a query and waits for its result, at most for the time limit of a query.
    pub(crate) fn ask(&self, task: Task, query: u8) -> Result<Done, LoadError> {
        self.send(task)?;
        self.reply(Some(query)).map_err(|error| match error {
            LoadError::Own(source) => LoadError::own(Dbt3Error::Query { query, source }),
            other => other,
        })
    }

    /// Waits for the client, at most for the time limit of a query. On an interrupt or a timeout the server is killed,
    /// because no other method ends a query on every engine: the trial has failed, and its data belong to it alone. On
    /// a server that tare did not start, only the session is ended.
    pub(crate) fn reply(&self, query: Option<u8>) -> Result<Done, LoadError> {
        let timeout_s = self.timeout_s;
        let deadline = query.map(|query| (query, Instant::now() + Duration::from_secs_f64(timeout_s)));
        let late = || deadline.filter(|(_, until)| Instant::now() > *until);
        loop {
            let error = match self.replies.recv_timeout(LOOK_EVERY) {
                Ok(done) => match late() {
                    Some((query, _)) => {
                        return Err(LoadError::Ended(Box::new(Dbt3Error::Timeout { query, timeout_s })));
                    }
                    None => return done,
                },
                Err(RecvTimeoutError::Disconnected) => return Err(Self::out_of_step()),
                Err(RecvTimeoutError::Timeout) if self.host.interrupted() => LoadError::Interrupted,
                Err(RecvTimeoutError::Timeout) => match late() {
                    Some((query, _)) => LoadError::Ended(Box::new(Dbt3Error::Timeout { query, timeout_s })),
                    None => continue,
                },
            };
            self.end();
            return Err(error);
        }
    }
}
