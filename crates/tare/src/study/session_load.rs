//! The load of a trial: client threads bound, server threads found and bound, samples taken, every thread proved.

use super::dataset::dialect;
use super::progress::Progress;
use super::trial::Trial;
use crate::capture::sample::{CaptureSample, Captured, Place};
use crate::capture::threads::{ThreadWatch, Watched, stray};
use crate::engine::{EngineError, Server, SqlError};
use crate::results::schema::{self, Role, SampleRecord};
use crate::workload::oltp::{OltpClient, OltpError};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};
use tare_load::{Arrivals, ClientThread, Connect, LoadSettings, Observer, Pace, Reading, RunError, Sample, Stage};
use tare_noise::Snapshot;
use tare_topology::bind::{self, BindError};
use tare_topology::observe::{self, NodeStat, ObserveError};
use tare_topology::{Bind, CpuSet};
use thiserror::Error;

/// Where the kernel keeps what it knows of each node.
const NODES: &str = "/sys/devices/system/node";

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

/// What a load gave.
#[derive(Default)]
pub struct Loaded {
    /// The measured samples.
    pub samples: Vec<SampleRecord>,
    /// What the capture sample cost, where there was one.
    pub capture_cost: Option<schema::CaptureSample>,
    /// The captures, still to be finished when the server has stopped.
    pub captures: Option<CaptureSample>,
}

impl Loaded {
    /// Makes the captures readable. Call it when the server has stopped.
    pub fn finish_captures(&mut self) -> Captured {
        self.captures.take().map(CaptureSample::finish).unwrap_or_default()
    }
}

/// Runs warm-up and samples of a trial against its server, and after them the capture sample.
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
    let (watched, parts) = (Vec::new(), Vec::new());
    let mut watcher = Watcher { trial, server, connector: &connector, watched, open: None, parts, captures: None };
    let samples = tare_load::run(&load_settings, &connector, &mut watcher).map_err(|e| match e {
        RunError::Observer(e) | RunError::Connect { source: e, .. } | RunError::Transaction { source: e, .. } => e,
        other => LoadError::Generator(other.to_string()),
    })?;
    let records = samples.iter().zip(watcher.parts).enumerate().map(|(i, (sample, part))| record(i, sample, part));
    let capture_cost = samples.get(sampling.samples).map(|extra| capture_cost(&samples[..sampling.samples], extra));
    Ok(Loaded { samples: records.collect(), capture_cost, captures: watcher.captures })
}

/// Connects one client, in its own thread.
struct Connector<'a> {
    trial: &'a Trial<'a>,
    server: &'a dyn Server,
    server_threads: Mutex<Vec<Option<u32>>>,
}

impl Connect for Connector<'_> {
    type Client = WorkloadClient;
    type Error = LoadError;

    fn bind(&self, thread: ClientThread) -> Result<(), LoadError> {
        match self.trial.placement.client_cpus(thread.index) {
            Some(cpus) => Ok(bind::bind_thread(thread.tid.cast_signed(), cpus)?),
            None => Ok(()),
        }
    }

    fn connect(&self, thread: ClientThread) -> Result<WorkloadClient, LoadError> {
        let mut session = self.server.connect()?;
        let serving = session.server_thread()?;
        self.server_threads.lock().unwrap_or_else(PoisonError::into_inner)[thread.index] = serving;
        let settings = &self.trial.condition.settings;
        Ok(WorkloadClient(OltpClient::new(session, &settings.workload.oltp, dialect(settings))?))
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

/// A sample that is under way.
struct Open {
    started_at: String,
    before: Snapshot,
    nodes: BTreeMap<u32, NodeStat>,
    watch: ThreadWatch,
}

/// What belongs to a sample beside the load generator's own figures.
struct Part {
    started_at: String,
    covariates: BTreeMap<String, f64>,
    threads: Vec<schema::ThreadRecord>,
}

/// Binds when all are connected, watches every sample, stops when asked.
struct Watcher<'a> {
    trial: &'a Trial<'a>,
    server: &'a dyn Server,
    connector: &'a Connector<'a>,
    watched: Vec<Watched>,
    open: Option<Open>,
    parts: Vec<Part>,
    captures: Option<CaptureSample>,
}

impl Watcher<'_> {
    /// With no pairing, which server thread gets which PU is left to chance, as it is without tare: drawn afresh each
    /// trial, from the seed.
    fn server_sets(&self, threads: usize) -> Vec<Option<CpuSet>> {
        let placement = &self.trial.placement;
        let mut sets: Vec<Option<CpuSet>> = (0..threads).map(|i| placement.server_cpus(i).cloned()).collect();
        if placement.bind == Bind::Thread && placement.pairing == tare_topology::Pairing::None {
            let seed = self.trial.study.sampling.seed.wrapping_add(1 + self.trial.planned.trial as u64);
            let order = tare_stats::order::randomized_blocks(threads, 1, seed).pop().unwrap_or_default();
            sets = order.into_iter().map(|i| sets[i].clone()).collect();
        }
        sets
    }

    fn begin_captures(&self) -> CaptureSample {
        let settings = &self.trial.condition.settings;
        let (planned, sampling) = (&self.trial.planned, &self.trial.study.sampling);
        let threads = settings.workload.threads;
        let place = Place::new(self.trial.directory, planned.trial, self.trial.attempt, threads, sampling.sample_s);
        CaptureSample::begin(&settings.capture, place, self.server)
    }

    fn background(&self, known: &[Watched]) -> Result<Vec<Watched>, LoadError> {
        let pid = self.server.pid().cast_signed();
        let all = self.trial.placement.server.iter().flat_map(CpuSet::iter).collect::<CpuSet>();
        let asked = (!all.is_empty()).then_some(all);
        let serves = |tid: i32| known.iter().any(|w| w.role == Role::Server && w.tid == tid);
        Ok(observe::tids(pid)?
            .into_iter()
            .filter(|tid| !serves(*tid))
            .map(|tid| Watched { role: Role::Background, pair: None, pid, tid, asked: asked.clone() })
            .collect())
    }
}

impl Observer for Watcher<'_> {
    type Error = LoadError;

    fn connected(&mut self, threads: &[ClientThread]) -> Result<(), LoadError> {
        let serving = self.connector.server_threads.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sets = self.server_sets(threads.len());
        let own = std::process::id().cast_signed();
        for (thread, (serving, cpus)) in threads.iter().zip(serving.into_iter().zip(sets)) {
            self.watched.push(Watched {
                role: Role::Client,
                pair: Some(thread.index),
                pid: own,
                tid: thread.tid.cast_signed(),
                asked: self.trial.placement.client_cpus(thread.index).cloned(),
            });
            let Some(tid) = serving.map(u32::cast_signed) else {
                if cpus.is_some() {
                    return Err(LoadError::NoServerThread(thread.index));
                }
                continue;
            };
            if let Some(cpus) = &cpus {
                bind::bind_thread(tid, cpus)?;
            }
            let pid = self.server.pid().cast_signed();
            self.watched.push(Watched { role: Role::Server, pair: Some(thread.index), pid, tid, asked: cpus });
        }
        let background = self.background(&self.watched)?;
        self.watched.extend(background);
        Progress::WarmUp { seconds: self.trial.study.sampling.warmup_s }.send();
        Ok(())
    }

    fn sample_start(&mut self, sample: usize) -> Result<(), LoadError> {
        Progress::Sample { sample, seconds: self.trial.study.sampling.sample_s }.send();
        if sample >= self.trial.study.sampling.samples {
            self.captures = Some(self.begin_captures());
            return Ok(());
        }
        self.open = Some(Open {
            started_at: crate::results::now(),
            before: Snapshot::take(),
            nodes: observe::numastat(Path::new(NODES)),
            watch: ThreadWatch::start(self.watched.clone()),
        });
        Ok(())
    }

    fn sample_end(&mut self, _sample: usize) -> Result<(), LoadError> {
        if let Some(captures) = &mut self.captures {
            captures.end();
        }
        let Some(open) = self.open.take() else { return Ok(()) };
        let mut threads = open.watch.finish();
        if let Some(stray) = stray(&self.watched, &threads) {
            return Err(LoadError::Stray(stray));
        }
        let mut covariates = Snapshot::take().since(&open.before);
        add_thread_covariates(&mut covariates, &threads);
        let capture = self.trial.condition.settings.capture;
        if capture.memory {
            add_pages(&mut covariates, self.server.pid().cast_signed());
            add_numastat(&mut covariates, &open.nodes);
        }
        if capture.schedule {
            add_schedule(&mut covariates, &threads);
        } else {
            threads.iter_mut().for_each(|thread| thread.schedule = None);
        }
        // Of the many helpers of a server, those that did nothing are not worth a line each.
        threads.retain(|t| t.role != Role::Background || t.user_s + t.system_s > 0.0);
        self.parts.push(Part { started_at: open.started_at, covariates, threads });
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

fn add_thread_covariates(covariates: &mut BTreeMap<String, f64>, threads: &[schema::ThreadRecord]) {
    for (role, name) in [(Role::Client, "client"), (Role::Server, "server"), (Role::Background, "background")] {
        let of_role = || threads.iter().filter(move |t| t.role == role);
        let mut add = |what: &str, sum: u64| covariates.insert(format!("{name}_{what}"), sum as f64);
        add("migrations", of_role().map(|t| t.migrations).sum());
        add("voluntary_switches", of_role().map(|t| t.voluntary_switches).sum());
        add("involuntary_switches", of_role().map(|t| t.involuntary_switches).sum());
    }
}

/// Where the server's memory is, in pages a node.
fn add_pages(covariates: &mut BTreeMap<String, f64>, pid: i32) {
    // Not permitted or gone: then it is not recorded, as on kernels without NUMA.
    for (node, pages) in observe::pages_by_node(pid).unwrap_or_default() {
        covariates.insert(format!("server_memory_bytes_node{node}"), pages.bytes as f64);
    }
}

/// How often the allocator of each node gave what was asked of it, on the whole machine. With a single node there is
/// nothing to miss.
fn add_numastat(covariates: &mut BTreeMap<String, f64>, before: &BTreeMap<u32, NodeStat>) {
    let after = observe::numastat(Path::new(NODES));
    if after.len() < 2 {
        return;
    }
    for (node, stat) in &after {
        let during = stat.since(before.get(node).unwrap_or(&NodeStat::default()));
        for (name, value) in [("hit", during.hit), ("miss", during.miss), ("other", during.other)] {
            covariates.insert(format!("numa_{name}_pages_node{node}"), value as f64);
        }
    }
}

/// Share of the server threads' time in which they were runnable and had no CPU.
fn add_schedule(covariates: &mut BTreeMap<String, f64>, threads: &[schema::ThreadRecord]) {
    let server = threads.iter().filter(|thread| thread.role == Role::Server).filter_map(|thread| thread.schedule);
    let (waited, all) =
        server.fold((0.0, 0.0), |(waited, all), s| (waited + s.waited_s, all + s.ran_s + s.waited_s + s.slept_s));
    if all > 0.0 {
        covariates.insert("server_waited_for_cpu_fraction".into(), waited / all);
    }
}

fn capture_cost(measured: &[Sample], extra: &Sample) -> schema::CaptureSample {
    let mean = measured.iter().map(Sample::tps).sum::<f64>() / measured.len().max(1) as f64;
    let tps_ratio = if mean > 0.0 { extra.tps() / mean } else { 0.0 };
    schema::CaptureSample { elapsed_s: extra.elapsed_s, tps: extra.tps(), tps_ratio }
}

fn record(number: usize, sample: &Sample, part: Part) -> SampleRecord {
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
    let mut covariates = part.covariates;
    covariates.insert("restarts".into(), sample.restarts as f64);
    SampleRecord {
        sample: number,
        started_at: part.started_at,
        elapsed_s: sample.elapsed_s,
        metrics,
        tps_each_second: sample.tps_each_second.clone(),
        covariates,
        threads: part.threads,
    }
}
