//! All settings of one trial, typed. A study has one set as its base; a condition is a copy with its levels applied.

use super::limit::Limit;
use super::other_host::ClientSettings;
use super::process::ProcessSettings;
use super::running::RunningSettings;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tare_drive::capture::settings::CaptureSettings;
use tare_drive::workload::{AnyLoad, Settle};
use tare_engine::{Charset, Engine, Sqlite, Transport};
use tare_noise::Level;
use tare_results::probe::ProbeUse;
use tare_topology::Placement;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    pub engine: EngineSettings,
    pub workload: WorkloadSettings,
    pub client: ClientSettings,
    pub placement: Placement,
    pub process: ProcessSettings,
    pub capture: CaptureSettings,
    /// Levels of machine-wide settings. Settings that are not listed stay as found.
    pub machine: Vec<Level>,
}

impl Settings {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.engine.running.is_requested() && (self.engine.binary.is_some() || self.engine.data.is_some()) {
            return Err("either a server to start (binary, data) or a running one (socket, host), not both".into());
        }
        self.workload.load.load().check(self.workload.threads)
    }
}

/// `[engine]`: the database, and how it is started.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineSettings {
    pub kind: &'static dyn Engine,
    /// Path of the server program; none: found in the usual places.
    pub binary: Option<PathBuf>,
    /// Data directory of a stopped server; every trial starts on a copy of it. None: created by tare and cached.
    pub data: Option<PathBuf>,
    /// Further arguments of the program that creates an empty data directory.
    pub init_options: Vec<String>,
    /// An option file of the server, whose options apply to every trial; none: only options of the study apply.
    pub defaults_file: Option<PathBuf>,
    /// Whether options of that file that the server does not know are left out.
    pub leaves_out_unknown: bool,
    pub transport: Transport,
    /// The character set that connections to MariaDB and MySQL announce.
    pub charset: Charset,
    /// Time limit for the server to become ready, seconds.
    pub start_timeout_s: f64,
    pub options: BTreeMap<String, String>,
    /// A server that someone else runs, instead of one that is started.
    pub running: RunningSettings,
}

impl EngineSettings {
    /// The name of a data set in a directory of this engine: further arguments of its creation become part of it.
    pub fn named(&self, dataset: String) -> String {
        match self.init_options.as_slice() {
            [] => dataset,
            options => format!("{dataset}, made with {}", options.join(" ")),
        }
    }
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            kind: &Sqlite,
            binary: None,
            data: None,
            init_options: Vec::new(),
            defaults_file: None,
            leaves_out_unknown: false,
            transport: Transport::Socket,
            charset: Charset::Server,
            start_timeout_s: 60.0,
            options: BTreeMap::new(),
            running: RunningSettings::default(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadSettings {
    pub threads: usize,
    pub settle: Settle,
    pub load: AnyLoad,
}

impl Default for WorkloadSettings {
    fn default() -> Self {
        Self { threads: 1, settle: Settle::default(), load: AnyLoad::default() }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    pub trials: usize,
    pub samples: usize,
    pub warmup_s: f64,
    pub sample_s: f64,
    /// Samples at the beginning of each trial that are measured and recorded separately, but not used in any result.
    pub drop_samples: usize,
    pub pause_s: f64,
    /// Seed of the order of trials and of the load.
    pub seed: u64,
    /// Limit on the attempts at a trial; after that it has failed.
    pub attempts: u32,
    /// Target for the half-width of the 95% interval of the mean, as a fraction of the mean: `trials` are then a
    /// pilot, from which the counts are chosen. None: the counts are as given.
    pub target_half_width: Option<f64>,
    /// Time limit for all trials of all conditions if counts are chosen, seconds.
    pub budget_s: f64,
    /// Time limit for the whole run, data included, seconds: the plan is cut to fit, and no trial starts that is not
    /// expected to end in time. None: no limit.
    pub within_s: Option<f64>,
    /// Time limit for a trial, seconds; none: four times the expected time, plus a minute.
    pub trial_timeout_s: Option<f64>,
    /// Share of the CPU time that the hypervisor may steal during a sample.
    pub steal_limit: Limit,
    /// Share of the time of the benchmark's CPUs that other processes may use during a sample.
    pub foreign_cpu_limit: Limit,
    /// None: not set, so that a comparison may record the probes; else as off.
    pub probe: Option<ProbeUse>,
    pub probe_share: f64,
}

impl Sampling {
    pub fn probe_use(&self) -> ProbeUse {
        self.probe.unwrap_or(ProbeUse::Off)
    }
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            trials: 10,
            samples: 1,
            warmup_s: 10.0,
            sample_s: 60.0,
            drop_samples: 0,
            pause_s: 0.0,
            seed: 1,
            attempts: 2,
            target_half_width: None,
            budget_s: 3600.0,
            within_s: None,
            trial_timeout_s: None,
            // Both are about the spread of restarts of an undisturbed server (3%, Percona): more would hide it.
            steal_limit: Limit(Some(0.03)),
            foreign_cpu_limit: Limit(Some(0.05)),
            probe: None,
            probe_share: 0.01,
        }
    }
}
