//! The interface of all loads, and the context in which a load runs.

use super::sessions::{InvalidSample, Pace, Reconnect, judge};
use super::{Driven, FillError, LoadError};
use crate::sut::{SideThreads, SutWatch, WatchSettings};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::PathBuf;
use tare_cpuset::ThreadRef;
use tare_engine::{Address, Dialect, Server, Session, SqlError};
use tare_files::LogFile;
use tare_load::{Interval, Intervals, Sample};
use tare_results::server::SettledRecord;
use tare_text::Keys;

/// A load with its settings: the only interface between loads and the rest of the program.
pub trait Load: Keys {
    /// The value of `workload.name` in a study.
    fn name(&self) -> &'static str;
    /// Valid values of `workload.name`.
    fn names() -> Vec<&'static str>
    where
        Self: Sized + Default,
    {
        vec![Self::default().name()]
    }
    fn named(name: &str) -> Option<Self>
    where
        Self: Sized + Default,
    {
        Some(Self::default()).filter(|load| load.name() == name)
    }
    fn check(&self, _threads: usize) -> Result<(), String> {
        Ok(())
    }
    /// A changed key that has no effect with the other settings; None if every change has an effect.
    fn dead(&self) -> Option<&'static str> {
        None
    }
    /// The keys by which its transactions touch more rows, tables, warehouses or accounts, with their values; none of a
    /// load whose statements decide alone what they touch.
    fn sizes(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
    /// Whether it drives a server; otherwise the trial's own process does the work.
    fn needs_server(&self) -> bool {
        true
    }
    /// Whether it opens its connections itself, with the connection options of a study.
    fn connects(&self) -> bool {
        self.needs_server()
    }
    fn available(&self, _threads: usize) -> Result<(), String> {
        Ok(())
    }
    /// The pace of clients with one connection each; None for other clients.
    fn pace(&self) -> Option<Pace> {
        None
    }
    /// Whether its clients can be on another host than its server.
    fn clients_elsewhere(&self) -> Result<(), String> {
        let only_here =
            || format!("the workload {} runs its clients only on this host: leave out client.host", self.name());
        self.pace().ok_or_else(only_here).and_then(Pace::may_be_elsewhere)
    }
    fn drives(&self, _engine: &str) -> Result<(), String> {
        Ok(())
    }
    /// A description of its data: conditions with the same description share one prepared directory.
    fn dataset(&self, seed: u64) -> String;
    /// Approximate bytes of its tables and indexes in a freshly filled server; 0 without tables.
    fn data_bytes(&self) -> u64 {
        0
    }
    /// Approximate number of rows that [`Load::fill`] adds, if known before.
    fn rows(&self) -> Option<u64> {
        None
    }
    /// Whether all of its data must be in the server's memory before the first sample.
    fn is_to_be_resident(&self) -> bool {
        false
    }
    /// Bytes that the trial's own process needs for this many threads.
    fn memory_bytes(&self, _threads: usize) -> u64 {
        0
    }
    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError>;
    /// Checks that a running server has the data. Loads that cannot check this fail with their first statement.
    fn check_data(&self, _session: &mut dyn Session) -> Result<(), FillError> {
        Ok(())
    }
    /// How a user fills a running server.
    fn how_to_fill(&self) -> &'static str {
        "fill its database first"
    }
    fn drive(&self, stage: LoadContext<'_>) -> Result<Driven, LoadError>;
    /// Expected seconds of all its work in one trial.
    fn expected_s(&self, counts: &TrialSize) -> f64;
    /// Upper limit in seconds, for loads with time limits of their own.
    fn limit_s(&self, counts: &TrialSize) -> f64 {
        self.expected_s(counts)
    }
    /// Whether its clients can pause between warm-up and samples, until the server has settled.
    fn settles(&self) -> Result<(), String> {
        self.pace()
            .map(drop)
            .ok_or_else(|| format!("the workload {} has no pause between its warm-up and its samples", self.name()))
    }
    /// Why it has no additional sample for captures; None if it has one.
    fn no_captures(&self) -> Option<&'static str> {
        None
    }
    /// Why a trial of it has one sample, without probes; None if both are free to choose.
    fn one_sample(&self) -> Option<&'static str> {
        None
    }
    /// Its parts that need a separate server each, one after the other; empty if one server is enough.
    fn parts(&self) -> Vec<Box<dyn Load>> {
        Vec::new()
    }
    /// Whether it warms up by repetitions, whose number a pilot may increase; otherwise by seconds.
    fn warms_up_in_runs(&self) -> bool {
        false
    }
    /// Prepares it for a server that an earlier trial has warmed up: its own warm-up is left out, and data that must
    /// be in memory are checked instead of read. False if it cannot run without a warm-up.
    fn take_warm(&mut self) -> bool {
        !self.is_to_be_resident()
    }
    /// Whether it changes the data, so that the next load on the same server finds different data.
    fn writes(&self) -> bool {
        true
    }
    /// Adds repetitions to its warm-up, if it warms up by repetitions.
    fn add_warmup_runs(&mut self, _runs: usize) {}
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrialSize {
    pub samples: usize,
    /// Seconds of load before the first sample, for loads that warm up by time.
    pub warmup_s: f64,
    /// Seconds per sample, for loads that measure by time.
    pub sample_s: f64,
    /// Whether an additional sample for captures follows.
    pub extra: bool,
    /// Client threads, which run at the same time as far as there are CPUs.
    pub threads: usize,
    /// CPUs of the machine that it runs on.
    pub cpus: usize,
}

pub struct FillJob<'a> {
    pub seed: u64,
    pub parallel: usize,
    /// Called from time to time with the number of added rows; returns whether to continue.
    pub go_on: &'a (dyn Fn(u64) -> ControlFlow<()> + Sync),
}

/// The caller of a load: a trial, or an interactive command.
pub trait Host: Sync {
    fn progress(&self, step: Progress);
    fn interrupted(&self) -> bool;
    /// Whether the sample in progress should end now, with the data measured so far.
    fn is_enough(&self) -> bool {
        false
    }
    /// Whether work that can stop between two steps should continue.
    fn go_on(&self) -> ControlFlow<()> {
        if self.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    /// The log for the output of a program that it runs; None if the output is not kept.
    fn log(&self, _name: &str) -> tare_files::Result<Option<LogFile>> {
        Ok(None)
    }
    /// Number of transactions after which it ends, if its time has not passed before; None: by time only.
    fn events(&self) -> Option<u64> {
        None
    }
    /// The requested reporting intervals; None: throughput once per second is enough.
    fn intervals(&self) -> Option<Intervals> {
        None
    }
    fn interval(&self, _interval: &Interval) {}
    /// Checks that a sample ran at the requested rate. Callers that show the figures of every sample judge later.
    fn judge(&self, pace: Pace, sample: &Sample) -> Result<(), InvalidSample> {
        judge(pace, sample)
    }
    /// How clients reconnect to a restarted server; None: losing a connection ends the run.
    fn reconnect(&self) -> Option<&Reconnect> {
        None
    }
    /// The additional sample begins: recordings that disturb a measurement may start.
    fn begin_captures(&self, _threads: &SideThreads) {}
    fn end_captures(&self) {}
}

/// The location of the server relative to its clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAt {
    Here,
    /// On the host of the trial that these clients work for, which observes and binds its threads.
    Partner,
    /// On a host where its threads cannot be observed.
    Elsewhere,
}

impl ServerAt {
    pub fn of(address: &Address) -> Self {
        if address.is_here() { Self::Here } else { Self::Elsewhere }
    }

    /// The thread behind a session, if it can be observed.
    pub(crate) fn serving(self, session: &mut dyn Session) -> Result<Option<ThreadRef>, SqlError> {
        match self {
            Self::Here => session.server_thread(),
            Self::Partner => Ok(session.thread_number()?.map(ThreadRef::elsewhere)),
            Self::Elsewhere => Ok(None),
        }
    }
}

/// Opens a connection, on the thread that will use it.
pub type Connect<'a> = dyn Fn() -> Result<Box<dyn Session>, LoadError> + Sync + 'a;

pub struct LoadContext<'a> {
    /// Name of the server's engine; empty without a server.
    pub engine: &'a str,
    pub dialect: &'static dyn Dialect,
    /// The server, unless the clients are on another host; whether its process may be inspected and ended:
    /// [`Server::is_ours`].
    pub server: Option<&'a dyn Server>,
    pub connect: &'a Connect<'a>,
    /// Location of the server: only on this machine its threads can be observed and bound.
    pub server_at: ServerAt,
    pub threads: usize,
    pub seed: u64,
    pub counts: TrialSize,
    pub settle: &'a Settle,
    /// Number of turns per sample, between which clients pause while another server is measured; None without one.
    pub turns: Option<usize>,
    /// How the server settled: the first time that it did not, otherwise the last time.
    pub settled: Option<SettledRecord>,
    /// The placement of the threads, which [`LoadContext::watch`] verifies.
    pub placement: &'a WatchSettings,
    pub watch: SutWatch,
    pub host: &'a dyn Host,
    pub cache: PathBuf,
}

impl<'a> LoadContext<'a> {
    pub(crate) fn server(&self) -> Result<&'a dyn Server, LoadError> {
        self.server.ok_or(LoadError::NoServer)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum Progress {
    Filling(Filled),
    Starting,
    WarmUp {
        seconds: f64,
    },
    Sample {
        /// From 0.
        sample: usize,
        seconds: f64,
    },
    /// A turn of a sample is over, and another will follow.
    Turn,
    Query {
        /// 1 to 22.
        query: u8,
    },
    /// Throughput after each second under load.
    Reading {
        tps: f64,
        /// Seconds since the start of warm-up or sample.
        second: u64,
        warming_up: bool,
    },
    Stopping,
}

/// How far the filling of tables is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filled {
    pub rows: u64,
    /// The final number of rows, if known.
    pub of: Option<u64>,
    /// Since the first row.
    pub seconds: u64,
}

/// Actions between warm-up and samples, while clients pause.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settle {
    /// Maximum seconds of waiting; 0: the server's pending work is not queried.
    pub limit_s: f64,
    /// Statements that are sent first, one after the other.
    pub statements: Vec<String>,
}

impl Settle {
    pub fn is_requested(&self) -> bool {
        self.limit_s > 0.0 || !self.statements.is_empty()
    }
}
