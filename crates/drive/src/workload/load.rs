//! What every load can do, and what it is given.

use super::sessions::{NotAsked, Pace, Reconnect, judge};
use super::{Driven, FillError, LoadError};
use crate::sut::{SideThreads, SubjectWatch, WatchSettings};
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::PathBuf;
use tare_cpuset::ThreadRef;
use tare_engine::{Address, Dialect, Server, Session, SqlError};
use tare_files::LogFile;
use tare_load::{Interval, Intervals, Sample};
use tare_results::settled::SettledRecord;
use tare_text::Keys;

/// A load with its settings. Everything that the rest of the program needs to know of it is asked here.
pub trait Load: Keys {
    /// What `workload.name` says in a study.
    fn name(&self) -> &'static str;
    fn check(&self, _threads: usize) -> Result<(), String> {
        Ok(())
    }
    /// A key that was changed and means nothing to it as it is set up; none where every change tells.
    fn dead(&self) -> Option<&'static str> {
        None
    }
    /// Whether it drives a server; else the trial's own process does the work.
    fn needs_server(&self) -> bool {
        true
    }
    /// Whether it opens its connections itself, with what a study says of them.
    fn connects(&self) -> bool {
        self.needs_server()
    }
    fn available(&self, _threads: usize) -> Result<(), String> {
        Ok(())
    }
    /// Whether its clients can be on another host than its server.
    fn clients_elsewhere(&self) -> Result<(), String> {
        Err(format!("the clients of the workload {} are on this host only: leave out client.host", self.name()))
    }
    fn drives(&self, _engine: &str) -> Result<(), String> {
        Ok(())
    }
    /// The data that it works on, in words: two conditions with the same words share one prepared directory.
    fn dataset(&self, seed: u64) -> String;
    /// Bytes of its tables and indexes in a server that has just been filled, about; 0 where it has none.
    fn data_bytes(&self) -> u64 {
        0
    }
    /// Whether all of its data are to be in the server's memory before the first sample.
    fn is_to_be_resident(&self) -> bool {
        false
    }
    /// Bytes that the trial's own process needs for so many threads.
    fn memory_bytes(&self, _threads: usize) -> u64 {
        0
    }
    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError>;
    /// Whether a server that runs already has the data; what a load cannot tell beforehand, its first statement tells.
    fn check_data(&self, _session: &mut dyn Session) -> Result<(), FillError> {
        Ok(())
    }
    /// How a user fills a server that runs already.
    fn how_to_fill(&self) -> &'static str {
        "fill its database first"
    }
    fn drive(&self, stage: LoadContext<'_>) -> Result<Driven, LoadError>;
    /// Expected seconds of all that it does in one trial.
    fn expected_s(&self, counts: &TrialSize) -> f64;
    /// Seconds that it may take at most, where it has limits of its own.
    fn limit_s(&self, counts: &TrialSize) -> f64 {
        self.expected_s(counts)
    }
    /// Whether its clients can rest between warm-up and samples, until the server has settled.
    fn settles(&self) -> Result<(), String> {
        Err(format!("the workload {} goes from its warm-up into its samples without a rest", self.name()))
    }
    /// Why it has no further sample for captures; none where it has one.
    fn no_captures(&self) -> Option<&'static str> {
        None
    }
    /// Its parts that need a server of their own each, one after the other; empty where one server does for all of it.
    fn parts(&self) -> Vec<Box<dyn Load>> {
        Vec::new()
    }
    /// Whether it warms up by repetitions, of which a pilot may ask for more; else by seconds.
    fn warms_up_in_runs(&self) -> bool {
        false
    }
    /// Makes it the load of a server that an earlier trial has warmed up: its own warm-up is left out, and what it
    /// wants in memory is looked at in place of being read. False where it cannot do without.
    fn take_warm(&mut self) -> bool {
        !self.is_to_be_resident()
    }
    /// Whether it changes the data, so that who comes next on the same server finds others.
    fn writes(&self) -> bool {
        true
    }
    /// Adds repetitions to its warm-up, where it counts them.
    fn add_warmup_runs(&mut self, _runs: usize) {}
}

pub trait NamedLoad: Load + Default {
    /// What `workload.name` may say.
    fn names() -> Vec<&'static str> {
        vec![Self::default().name()]
    }

    /// The load of this name, as a study finds it when it says nothing else.
    fn named(name: &str) -> Option<Self> {
        let load = Self::default();
        (load.name() == name).then_some(load)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TrialSize {
    pub samples: usize,
    /// Seconds of load before the first, where a load warms up by time.
    pub warmup_s: f64,
    /// Seconds a sample, where a load measures by time.
    pub sample_s: f64,
    /// Whether one further sample follows, for captures.
    pub extra: bool,
    /// Client threads, which work at the same time as far as there are CPUs.
    pub threads: usize,
    /// CPUs of the machine that it runs on.
    pub cpus: usize,
}

pub struct FillJob<'a> {
    pub seed: u64,
    pub parallel: usize,
    /// Asked now and then with the number of rows added: whether to go on.
    pub go_on: &'a (dyn Fn(u64) -> ControlFlow<()> + Sync),
}

/// Who asked for the load: a trial, or someone at a prompt.
pub trait Host: Sync {
    fn progress(&self, step: Progress);
    fn interrupted(&self) -> bool;
    /// Whether a sample that is under way is to end now, with what was measured until here.
    fn is_enough(&self) -> bool {
        false
    }
    /// The word for work that may end between two steps of it.
    fn go_on(&self) -> ControlFlow<()> {
        if self.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
    /// Where the output of a program that it runs is kept; none where it is not.
    fn log(&self, _name: &str) -> tare_files::Result<Option<LogFile>> {
        Ok(None)
    }
    /// After how many transactions it ends, where its time is not over before; none: by time alone.
    fn events(&self) -> Option<u64> {
        None
    }
    /// Which intervals it wants to hear of; none: throughput once a second tells enough.
    fn intervals(&self) -> Option<Intervals> {
        None
    }
    fn interval(&self, _interval: &Interval) {}
    /// Holds a sample against what was requested. Who shows the figures of any sample notes them and judges afterwards.
    fn judge(&self, pace: Pace, sample: &Sample) -> Result<(), NotAsked> {
        judge(pace, sample)
    }
    /// How clients come back to a server that is started again; none: who loses a connection ends the run.
    fn reconnect(&self) -> Option<&Reconnect> {
        None
    }
    /// The further sample begins: what disturbs may be recorded.
    fn begin_captures(&self, _threads: &SideThreads) {}
    fn end_captures(&self) {}
}

/// Where a server runs, as its clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerAt {
    Here,
    /// On the machine of the trial that these clients work for, which sees and binds its threads.
    Partner,
    /// On a machine where no one sees its threads.
    Elsewhere,
}

impl ServerAt {
    pub fn of(address: &Address) -> Self {
        if address.is_here() { Self::Here } else { Self::Elsewhere }
    }

    /// The thread behind a session, where someone can see it.
    pub fn serving(self, session: &mut dyn Session) -> Result<Option<ThreadRef>, SqlError> {
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
    /// Name of the server's engine; empty where there is no server.
    pub engine: &'a str,
    pub dialect: &'static dyn Dialect,
    /// The server, where this program started it: its process may be looked at, and ended.
    pub server: Option<&'a dyn Server>,
    /// Opens a connection to it, on the thread that will use it.
    pub connect: &'a Connect<'a>,
    /// Where it runs: on this machine its threads can be seen and bound.
    pub server_at: ServerAt,
    pub threads: usize,
    pub seed: u64,
    pub counts: TrialSize,
    pub settle: &'a Settle,
    /// In how many turns a sample is measured, where clients rest while another server is; none where no other is.
    pub turns: Option<usize>,
    /// How that went: the first time that the server did not settle, else the last one.
    pub settled: Option<SettledRecord>,
    /// Where threads belong; also what [`LoadContext::watch`] proves.
    pub placement: &'a WatchSettings,
    pub watch: SubjectWatch,
    pub host: &'a dyn Host,
    pub cache: PathBuf,
}

impl<'a> LoadContext<'a> {
    /// The server, for loads that cannot do without.
    pub fn server(&self) -> Result<&'a dyn Server, LoadError> {
        self.server.ok_or(LoadError::NoServer)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum Progress {
    Starting,
    WarmUp {
        seconds: f64,
    },
    Sample {
        /// From 0.
        sample: usize,
        seconds: f64,
    },
    /// A turn of a sample is over, and another is to follow.
    Turn,
    Query {
        /// 1 to 22.
        query: u8,
    },
    /// A second has passed under load.
    Reading {
        tps: f64,
        /// Seconds since the start of warm-up or sample.
        second: u64,
        warming_up: bool,
    },
    Stopping,
}

/// What is done between warm-up and samples, clients at rest.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settle {
    /// Seconds that are waited at most; 0: the server is not asked what is left.
    pub limit_s: f64,
    /// Statements that are sent before that, one after the other.
    pub statements: Vec<String>,
}

impl Settle {
    pub fn is_asked(&self) -> bool {
        self.limit_s > 0.0 || !self.statements.is_empty()
    }
}
