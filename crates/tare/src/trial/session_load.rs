//! The OLTP load of a trial: clients connected, samples taken; their threads are `session_threads`' business.

use crate::capture::interference::Seen;
use crate::capture::sample::CaptureSample;
use crate::run::progress::Progress;
use crate::trial::loaded::{Loaded, begin_captures, capture_cost};
use crate::trial::measure::Trial;
use crate::trial::session_threads::{Connected, SessionThreads, Surroundings, bind_client};
use crate::workload::dbt3::Dbt3Error;
use crate::workload::oltp::{OltpClient, OltpError};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use tare_engine::{EngineError, Server, SqlError};
use tare_load::{Arrivals, ClientThread, Connect, LoadSettings, Observer, Pace, Reading, RunError, Sample, Stage};
use tare_results::schema::SampleRecord;
use tare_topology::ThreadRef;
use tare_topology::bind::BindError;
use tare_topology::observe::ObserveError;
use thiserror::Error;

/// Why a load gave no result.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The run wants this trial to stop.
    #[error("interrupted")]
    Interrupted,
    /// No connection, or the server cannot say which thread serves it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A statement outside the transactions.
    #[error(transparent)]
    Sql(#[from] SqlError),
    /// A transaction failed for good.
    #[error(transparent)]
    Workload(#[from] OltpError),
    /// A query failed, took too long or answered wrongly.
    #[error(transparent)]
    Dbt3(#[from] Dbt3Error),
    /// A thread could not be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A thread could not be looked at.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// A connection whose server thread nobody knows cannot be bound.
    #[error("the server does not say which thread serves connection {0}, so that thread cannot be bound")]
    NoServerThread(usize),
    /// A thread was outside its set.
    #[error("placement not kept: {0}")]
    Stray(String),
    /// The load generator's own.
    #[error("{0}")]
    Generator(String),
    /// The server is gone.
    #[error("the server died: {reason}\n{tail}")]
    ServerDied {
        /// What the clients saw.
        reason: String,
        /// The last lines of its log.
        tail: String,
    },
}

/// Runs warm-up and samples of a trial against its server, and after them the capture sample where one is asked for.
pub fn load(trial: &Trial<'_>, server: &dyn Server) -> Result<Loaded, LoadError> {
    let settings = &trial.condition.settings;
    let sampling = &trial.study.sampling;
    let threads = settings.workload.threads;
    let load_settings = LoadSettings {
        threads,
        seed: sampling.seed.wrapping_add(trial.planned.trial as u64),
        pace: settings.workload.rate.map_or(Pace::Closed, |rate| Pace::Open { rate, arrivals: Arrivals::default() }),
        warmup_s: sampling.warmup_s,
        samples: sampling.samples + usize::from(settings.capture.need_a_sample()),
        sample_s: sampling.sample_s,
    };
    let connector = Connector { trial, server, server_threads: Mutex::new(vec![None; threads]) };
    let threads = SessionThreads::new(trial, server);
    let mut watcher = Watcher { trial, connector: &connector, threads, around: Vec::new(), captures: None };
    let samples = tare_load::run(&load_settings, &connector, &mut watcher).map_err(|e| match e {
        RunError::Observer(e) | RunError::Connect { source: e, .. } | RunError::Transaction { source: e, .. } => e,
        other => LoadError::Generator(other.to_string()),
    })?;
    let around = samples.iter().zip(watcher.around).enumerate();
    let records = around.map(|(i, (sample, around))| record(trial, i, sample, around));
    let capture_cost = samples.get(sampling.samples).map(|extra| capture_cost(&samples[..sampling.samples], extra));
    Ok(Loaded { samples: records.collect(), applied: Vec::new(), capture_cost, captures: watcher.captures })
}

/// Connects one client, in its own thread.
struct Connector<'a> {
    trial: &'a Trial<'a>,
    server: &'a dyn Server,
    server_threads: Mutex<Vec<Option<ThreadRef>>>,
}

impl Connect for Connector<'_> {
    type Client = WorkloadClient;
    type Error = LoadError;

    fn bind(&self, thread: ClientThread) -> Result<(), LoadError> {
        bind_client(self.trial, thread.index, thread.id)
    }

    fn connect(&self, thread: ClientThread) -> Result<WorkloadClient, LoadError> {
        let mut session = self.server.connect()?;
        let serving = session.server_thread()?;
        self.server_threads.lock().unwrap_or_else(PoisonError::into_inner)[thread.index] = serving;
        let settings = &self.trial.condition.settings;
        Ok(WorkloadClient(OltpClient::new(session, &settings.workload.oltp, self.server.dialect())?))
    }
}

/// An OLTP client whose errors are a trial's.
struct WorkloadClient(OltpClient);

impl tare_load::Client for WorkloadClient {
    type Error = LoadError;

    fn transaction(&mut self, random: &mut tare_load::Random) -> Result<tare_load::Attempt, LoadError> {
        Ok(self.0.transaction(random)?)
    }
}

/// Binds when all are connected, watches every sample, stops when asked.
struct Watcher<'a> {
    trial: &'a Trial<'a>,
    connector: &'a Connector<'a>,
    threads: SessionThreads<'a>,
    around: Vec<Surroundings>,
    captures: Option<CaptureSample>,
}

impl Observer for Watcher<'_> {
    type Error = LoadError;

    fn connected(&mut self, threads: &[ClientThread]) -> Result<(), LoadError> {
        let serving = self.connector.server_threads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let connected: Vec<Connected> =
            threads.iter().zip(serving).map(|(thread, serving)| Connected { client: thread.id, serving }).collect();
        self.threads.connected(&connected)?;
        Progress::WarmUp { seconds: self.trial.study.sampling.warmup_s }.send();
        Ok(())
    }

    fn sample_start(&mut self, sample: usize) -> Result<(), LoadError> {
        Progress::Sample { sample, seconds: self.trial.study.sampling.sample_s }.send();
        // One more than are measured: what would disturb them is recorded now.
        if sample >= self.trial.study.sampling.samples {
            self.captures = Some(begin_captures(self.trial, self.connector.server));
        } else {
            self.threads.start();
        }
        Ok(())
    }

    fn sample_end(&mut self, _sample: usize) -> Result<(), LoadError> {
        match &mut self.captures {
            Some(captures) => captures.end(),
            None => self.around.push(self.threads.finish()?),
        }
        Ok(())
    }

    fn reading(&mut self, reading: Reading) -> Result<(), LoadError> {
        if matches!(reading.stage, Stage::Sample(_)) {
            Progress::Reading { tps: reading.tps }.send();
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<(), LoadError> {
        if self.trial.interrupted.load(Ordering::Relaxed) { Err(LoadError::Interrupted) } else { Ok(()) }
    }
}

fn record(trial: &Trial<'_>, number: usize, sample: &Sample, around: Surroundings) -> SampleRecord {
    let mut metrics = BTreeMap::from([("tps".to_owned(), sample.tps()), ("qps".to_owned(), sample.qps())]);
    if let Some(l) = sample.latency_ms {
        for (name, value) in [
            ("mean", l.mean),
            ("p50", l.p50),
            ("p90", l.p90),
            ("p95", l.p95),
            ("p99", l.p99),
            ("p99_9", l.p99_9),
            ("max", l.max),
        ] {
            metrics.insert(format!("latency_ms_{name}"), value);
        }
    }
    if let Some(cpu) = sample.client_cpu_us_per_transaction {
        metrics.insert("client_cpu_us_per_transaction".into(), cpu.user + cpu.system);
    }
    let mut covariates = trial.take_in(number, Seen { covariates: around.covariates, users: around.users });
    covariates.insert("restarts".into(), sample.restarts as f64);
    SampleRecord {
        sample: number,
        started_at: around.started_at,
        elapsed_s: sample.elapsed_s,
        metrics,
        tps_each_second: sample.tps_each_second.clone(),
        covariates,
        threads: around.threads,
    }
}
