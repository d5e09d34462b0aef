//! Everything one trial needs to know, typed. A study has one as its base; a condition is a copy with levels set.

use super::limit::Limit;
use super::other_host::ClientSettings;
use super::process::ProcessSettings;
use super::running::RunningSettings;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tare_drive::capture::settings::CaptureSettings;
use tare_drive::workload::{AnyLoad, Settle};
use tare_engine::{Charset, Transport};
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
    /// Levels of machine-wide settings. What is not named stays as found.
    pub machine: Vec<Level>,
}

impl Settings {
    pub fn check(&self) -> Result<(), String> {
        if self.engine.running.is_asked() && (self.engine.binary.is_some() || self.engine.data.is_some()) {
            return Err(
                "either a server to start (binary, data) or one that runs already (socket, host), not both".into()
            );
        }
        self.workload.load.load().check(self.workload.threads)
    }
}

/// `[engine]`: which database, and how it is started.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineSettings {
    pub name: String,
    /// Path of the server binary; none: found on the usual paths.
    pub binary: Option<PathBuf>,
    /// A stopped server's data directory to start every trial on a copy of; none: made by tare and cached.
    pub data: Option<PathBuf>,
    /// Further arguments of the program that makes an empty data directory.
    pub init_options: Vec<String>,
    /// An option file of the server's, whose options every trial starts with; none: only those of the study.
    pub defaults_file: Option<PathBuf>,
    /// Whether options of that file which the server does not know are left out.
    pub leaves_out_unknown: bool,
    pub transport: Transport,
    /// What connections to MariaDB and MySQL say that their text is written in.
    pub charset: Charset,
    /// Seconds the server may take to become ready.
    pub start_timeout_s: f64,
    pub options: BTreeMap<String, String>,
    /// A server that someone else runs, in place of one that is started.
    pub running: RunningSettings,
}

impl EngineSettings {
    /// What a data set is called where this engine makes its directory: further arguments make another one.
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
            name: "sqlite".into(),
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
    /// Samples at the beginning of each trial that are measured, recorded aside, and in no figure.
    pub drop_samples: usize,
    pub pause_s: f64,
    /// Seed of the order of trials and of the load.
    pub seed: u64,
    /// Attempts a trial before it counts as failed for good.
    pub attempts: u32,
    /// Half-width of the 95% interval of the mean to reach, as a fraction of it: then `trials` are a pilot, and counts
    /// are chosen from it. None: as given.
    pub target_half_width: Option<f64>,
    /// Seconds for all trials of all conditions when counts are chosen.
    pub budget_s: f64,
    /// Seconds for all of it, data included: the plan is made to fit, and trials end when it is over. None: as long as
    /// it takes.
    pub within_s: Option<f64>,
    /// Seconds a trial may take; none: four times what it should, and a minute.
    pub trial_timeout_s: Option<f64>,
    /// Share of the CPU time that the hypervisor may take from a sample.
    pub steal_limit: Limit,
    /// Share of the time of the benchmark's CPUs that other processes may take from a sample.
    pub foreign_cpu_limit: Limit,
    pub probe: ProbeUse,
    pub probe_share: f64,
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
            // Both are about what restarts of an undisturbed server differ by (3%, Percona): more hides them.
            steal_limit: Limit(Some(0.03)),
            foreign_cpu_limit: Limit(Some(0.05)),
            probe: ProbeUse::Off,
            probe_share: 0.01,
        }
    }
}
