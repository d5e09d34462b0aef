//! The load of a dbt3 trial: each query warmed up, measured and checked, one after the other, on one connection.

use crate::capture::interference::Seen;
use crate::run::progress::Progress;
use crate::run::state;
use crate::trial::loaded::Loaded;
use crate::trial::measure::Trial;
use crate::trial::session_load::LoadError;
use crate::trial::session_threads::{Connected, SessionThreads, Surroundings, bind_client};
use crate::workload::dbt3::{self, Dbt3Error, Dbt3Settings, Preloaded, Query, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tare_engine::{Dialect, Server};
use tare_results::schema::{AppliedSetting, SampleRecord};
use tare_topology::ThreadRef;

/// Time between two looks for an interrupt and at the clock while a query runs.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs all of a trial's queries against its server.
pub fn load(trial: &Trial<'_>, server: &dyn Server) -> Result<Loaded, LoadError> {
    std::thread::scope(|scope| {
        let (tasks, for_client) = channel();
        let (from_client, replies) = channel();
        // It ends when `tasks` is dropped with the runner. Of a server that does not answer, the runner has made an
        // end.
        scope.spawn(move || client(trial, server, &for_client, &from_client));
        let settings = trial.condition.settings.workload.dbt3;
        Runner { trial, server, settings, tasks, replies, threads: SessionThreads::new(trial, server) }.run()
    })
}

/// What the client thread is asked to do.
enum Task {
    /// Read everything once, if so, and say what is in memory.
    Preload(bool),
    /// Execute and drop the rows.
    Measure(String),
    /// Execute and keep them.
    Rows(String),
}

/// What it has done.
enum Done {
    Connected(Connected),
    /// What was read, and (pages in the buffer pool, pages of the data) where the engine says so.
    Preloaded(Preloaded, Option<(u64, u64)>),
    Measured {
        seconds: f64,
        rows: u64,
    },
    Rows(Vec<Row>),
}

/// The client thread: bound before it connects, so that its memory is its own.
fn client(trial: &Trial<'_>, server: &dyn Server, tasks: &Receiver<Task>, replies: &Sender<Result<Done, LoadError>>) {
    let dialect = server.dialect();
    let connect = || {
        let thread = ThreadRef::of_this_thread();
        bind_client(trial, 0, thread)?;
        let mut session = server.connect()?;
        dbt3::set_up(session.as_mut(), dialect)?;
        let serving = session.server_thread()?;
        Ok((session, Connected { client: thread, serving }))
    };
    let mut session = match connect() {
        Ok((session, connected)) => {
            let _ = replies.send(Ok(Done::Connected(connected)));
            session
        }
        Err(error) => {
            let _ = replies.send(Err(error));
            return;
        }
    };
    while let Ok(task) = tasks.recv() {
        let done = match task {
            Task::Preload(read) => preload(session.as_mut(), dialect, read),
            Task::Measure(sql) => {
                let clock = Instant::now();
                let rows = session.run(&sql);
                let seconds = clock.elapsed().as_secs_f64();
                rows.map(|rows| Done::Measured { seconds, rows }).map_err(LoadError::from)
            }
            Task::Rows(sql) => session.query(&sql).map(Done::Rows).map_err(LoadError::from),
        };
        // A runner that no longer listens has its result.
        if replies.send(done).is_err() {
            return;
        }
    }
}

fn preload(session: &mut dyn tare_engine::Session, dialect: &dyn Dialect, read: bool) -> Result<Done, LoadError> {
    let done = if read { dbt3::preload(session, dialect)? } else { Preloaded::default() };
    let pages = dialect.pages_in_memory(session)?;
    Ok(Done::Preloaded(done, pages))
}

struct Runner<'a> {
    trial: &'a Trial<'a>,
    server: &'a dyn Server,
    settings: Dbt3Settings,
    tasks: Sender<Task>,
    replies: Receiver<Result<Done, LoadError>>,
    threads: SessionThreads<'a>,
}

impl Runner<'_> {
    fn run(mut self) -> Result<Loaded, LoadError> {
        if let Done::Connected(connected) = self.reply(None)? {
            self.threads.connected(&[connected])?;
        }
        let dialect = self.server.dialect();
        let mut applied = vec![self.preload()?];
        let mut samples = vec![SampleBuilder::default(); self.trial.study.sampling.samples];
        let mut against: BTreeSet<String> = BTreeSet::new();
        for number in self.settings.queries.iter() {
            let query = Query::new(number, self.settings.scale, dialect);
            against.insert(self.query(&query, &mut samples)?);
        }
        applied.push(AppliedSetting {
            factor: "queries".into(),
            level: self.settings.queries.to_string(),
            found: None,
            verified: format!("rows compared with {}", against.into_iter().collect::<Vec<_>>().join(" and ")),
        });
        let samples = samples.into_iter().enumerate().map(|(i, sample)| sample.build(self.trial, i)).collect();
        Ok(Loaded { samples, applied, ..Loaded::default() })
    }

    /// All executions of one query. Where the expected rows are from.
    fn query(&mut self, query: &Query, samples: &mut [SampleBuilder]) -> Result<String, LoadError> {
        Progress::Query { query: query.number }.send();
        let mut checked = None;
        for run in 0..self.settings.warmup_runs {
            // One execution of each trial is looked at row by row: the first that does not count.
            if run == 0 {
                checked = Some(self.check(query)?);
            } else {
                self.execute(query)?;
            }
        }
        let mut counts = Vec::with_capacity(samples.len());
        for sample in samples {
            self.threads.start();
            let executed = self.execute(query);
            let around = self.threads.finish();
            let (seconds, rows) = executed?;
            sample.add(query.metric(), seconds, around?);
            counts.push(rows);
        }
        let (expected, against) = match checked {
            Some(checked) => checked,
            // The first execution was to be measured: one more, after the last.
            None => self.check(query)?,
        };
        match counts.into_iter().find(|found| *found != expected) {
            Some(found) => Err(Dbt3Error::RowCount { query: query.number, expected, found }.into()),
            None => Ok(against),
        }
    }

    fn execute(&self, query: &Query) -> Result<(f64, u64), LoadError> {
        match self.ask(Task::Measure(query.sql.clone()), query.number)? {
            Done::Measured { seconds, rows } => Ok((seconds, rows)),
            _ => Err(out_of_step()),
        }
    }

    /// Number of rows, and where the rows they were compared with are from.
    fn check(&self, query: &Query) -> Result<(u64, String), LoadError> {
        let Done::Rows(rows) = self.ask(Task::Rows(query.sql.clone()), query.number)? else {
            return Err(out_of_step());
        };
        let who = format!("{} {}", self.trial.condition.settings.engine.name, self.server.version());
        let directory = state::cache_directory().join("answers");
        let against = dbt3::check(query, self.settings.scale, &rows, &directory, &who)?;
        Ok((rows.len() as u64, against))
    }

    fn preload(&self) -> Result<AppliedSetting, LoadError> {
        let on = self.settings.preload;
        self.tasks.send(Task::Preload(on)).map_err(|_| out_of_step())?;
        let Done::Preloaded(read, pages) = self.reply(None)? else { return Err(out_of_step()) };
        let mut verified = match on {
            true => format!("{} entries of {} tables and indexes read", read.entries, read.indexes),
            false => "nothing read before the first query".to_owned(),
        };
        if let Some((held, all)) = pages {
            verified.push_str(&format!("; the buffer pool holds {held} pages, the data have {all}"));
        }
        let level = if on { "on" } else { "off" };
        Ok(AppliedSetting { factor: "preload".into(), level: level.into(), found: None, verified })
    }

    fn ask(&self, task: Task, query: u8) -> Result<Done, LoadError> {
        self.tasks.send(task).map_err(|_| out_of_step())?;
        let named = |error| match error {
            LoadError::Sql(source) => Dbt3Error::Statement { what: format!("Q{query}"), source }.into(),
            other => other,
        };
        self.reply(Some(query)).map_err(named)
    }

    /// Waits for the client, no longer than a query may take. Who interrupts or is late has the server killed, for
    /// nothing else ends a query on every engine: the trial has failed, and its data are its own.
    fn reply(&self, query: Option<u8>) -> Result<Done, LoadError> {
        let timeout_s = self.settings.query_timeout_s;
        let deadline = query.map(|query| (query, Instant::now() + Duration::from_secs_f64(timeout_s)));
        let late = || deadline.filter(|(_, until)| Instant::now() > *until);
        loop {
            let error = match self.replies.recv_timeout(LOOK_EVERY) {
                Ok(done) => match late() {
                    Some((query, _)) => return Err(Dbt3Error::Timeout { query, timeout_s }.into()),
                    None => return done,
                },
                Err(RecvTimeoutError::Disconnected) => return Err(out_of_step()),
                Err(RecvTimeoutError::Timeout) if self.trial.interrupted.load(Ordering::Relaxed) => {
                    LoadError::Interrupted
                }
                Err(RecvTimeoutError::Timeout) => match late() {
                    Some((query, _)) => Dbt3Error::Timeout { query, timeout_s }.into(),
                    None => continue,
                },
            };
            if let Some(pid) = rustix::process::Pid::from_raw(self.server.pid().cast_signed()) {
                // Gone already is as good.
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
            return Err(error);
        }
    }
}

fn out_of_step() -> LoadError {
    LoadError::Generator("the client thread ended or is out of step".into())
}

/// One sample, put together from an execution of each query.
#[derive(Debug, Clone, Default)]
struct SampleBuilder {
    metrics: BTreeMap<String, f64>,
    around: Option<Surroundings>,
    elapsed_s: f64,
}

impl SampleBuilder {
    fn add(&mut self, metric: String, seconds: f64, around: Surroundings) {
        self.metrics.insert(metric, seconds);
        self.elapsed_s += seconds;
        match &mut self.around {
            Some(all) => all.merge(around),
            None => self.around = Some(around),
        }
    }

    fn build(self, trial: &Trial<'_>, sample: usize) -> SampleRecord {
        let around = self.around.unwrap_or_default();
        let seen = Seen { covariates: around.covariates, users: around.users };
        SampleRecord {
            sample,
            started_at: around.started_at,
            elapsed_s: self.elapsed_s,
            metrics: self.metrics,
            tps_each_second: Vec::new(),
            covariates: trial.take_in(sample, seen),
            threads: around.threads,
        }
    }
}
