//! The single client of a dbt3 load: a thread that executes tasks, and the handle that waits for it. One task reads
//! every table and every index once, so that measured queries find them in memory.

use super::{AnswerRow, Dbt3Error, Indexes, SessionError, TABLES};
use crate::sut::Connected;
use crate::workload::error::run;
use crate::workload::{Host, LoadError, ServerAt};
use std::fmt;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use tare_cpuset::{CpuSet, ThreadRef, bind_thread};
use tare_engine::{Counted, Dialect, Interrupter, SET_UP, Server, Session, SqlError, SqlErrorKind};

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Preloaded {
    pub indexes: usize,
    pub entries: u64,
    /// Pages of the indexes that were read page by page.
    pub pages: u64,
}

impl fmt::Display for Preloaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { indexes, entries, pages } = self;
        match pages {
            0 => write!(f, "{entries} entries of {indexes} tables and indexes"),
            _ => write!(f, "{pages} pages of {indexes} tables and indexes"),
        }
    }
}

/// Reads every table and every index from end to end, on this session.
pub fn preload(session: &mut dyn Session, dialect: &dyn Dialect, indexes: Indexes) -> Result<Preloaded, Dbt3Error> {
    let mut done = Preloaded::default();
    for table in &TABLES {
        let mut rows = None;
        for scan in table.scans(dialect, indexes) {
            let found = count(session, &scan.sql)?;
            done.indexes += 1;
            if scan.counts == Counted::Pages {
                done.pages += found;
                continue;
            }
            let expected = *rows.get_or_insert(found);
            if found != expected {
                return Err(Dbt3Error::Rows { table: table.name, expected, found });
            }
            done.entries += found;
        }
    }
    Ok(done)
}

fn count(session: &mut dyn Session, sql: &str) -> Result<u64, Dbt3Error> {
    let rows = session.query(sql).map_err(|source| SessionError::statement(sql, source))?;
    let number = rows.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
    number.ok_or_else(|| {
        let source = SqlError::own(SqlErrorKind::Other, "expected one number");
        SessionError::statement(sql, source).into()
    })
}

/// Sets up a session of dbt3. Its server may be silent for as long as a query or a scan takes: the caller has a limit
/// for each, and ends the session.
pub fn set_up(session: &mut dyn Session, dialect: &dyn Dialect) -> Result<(), Dbt3Error> {
    let limit = |source| SessionError::statement("time-out", source);
    session.set_timeout(Some(SET_UP)).map_err(limit)?;
    dialect.query_session().iter().try_for_each(|sql| run(session, sql).map(drop))?;
    Ok(session.set_timeout(None).map_err(limit)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::{Engine, Mariadb, Sqlite};

    #[test]
    fn the_preload_reads_every_table_and_each_index() {
        let scans = |table: usize, dialect| {
            TABLES[table].scans(dialect, Indexes::Keys).into_iter().map(|s| s.sql).collect::<Vec<_>>()
        };
        assert_eq!(
            scans(0, Mariadb.dialect()),
            [
                "SELECT COUNT(l_comment) FROM lineitem FORCE INDEX (PRIMARY)",
                "SELECT COUNT(l_partkey) FROM lineitem FORCE INDEX (i_l_partkey_l_suppkey)",
                "SELECT COUNT(l_suppkey) FROM lineitem FORCE INDEX (i_l_suppkey)",
            ]
        );
        assert_eq!(
            scans(6, Sqlite.dialect()),
            [
                "SELECT COUNT(n_comment) FROM nation NOT INDEXED",
                "SELECT COUNT(n_regionkey) FROM nation INDEXED BY i_n_regionkey"
            ]
        );
    }
}
