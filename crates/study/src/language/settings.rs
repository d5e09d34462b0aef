//! All settings of one trial, typed. A study has one set as its base; a condition is a copy with its levels applied.
//! Among them: `[process]`, properties of the server process as factors, and the share of the time from which an
//! interference counts.

use super::elsewhere::{ClientSettings, RunningSettings};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::path::PathBuf;
use std::str::FromStr;
use tare_drive::capture::settings::CaptureSettings;
use tare_drive::workload::{AnyLoad, Settle};
use tare_engine::{Allocator, Aslr, Charset, Engine, Sqlite, Transport};
use tare_noise::{CacheLimits, Level, Setting};
use tare_results::probe::ProbeUse;
use tare_text::Value;
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

    /// Sets the level of a machine-wide setting; `as-found` removes it.
    pub(crate) fn set_machine(&mut self, setting: Setting, level: &str) -> Result<(), String> {
        self.machine.retain(|level| level.setting() != setting);
        if level != AS_FOUND {
            self.machine.push(setting.level(level).map_err(|_| format!("{}, or {AS_FOUND}", setting.levels()))?);
            // In a fixed order, so that equal settings compare equal. The frequency driver comes first, because
            // changing it resets the settings that depend on it.
            let of = |setting: Setting| (setting != Setting::IntelPstate, setting.name());
            self.machine.sort_by_key(|level| of(level.setting()));
        }
        Ok(())
    }

    /// Whether its trials start a server: not without one, or with one that runs already.
    pub fn starts_a_server(&self) -> bool {
        self.workload.load.load().needs_server() && !self.engine.running.is_requested()
    }

    /// Whether tare makes the data of its server.
    pub fn makes_data(&self) -> bool {
        self.starts_a_server() && self.engine.data.is_none()
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

/// The share of the time above which a sample counts as disturbed; none: never.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit(pub Option<f64>);

impl Limit {
    /// The value and the limit, if the value is above the limit.
    pub fn exceeded(self, value: Option<&f64>) -> Option<(f64, f64)> {
        let (value, limit) = (*value?, self.0?);
        (value > limit).then_some((value, limit))
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<f64>()) {
            ("off", _) => Ok(Self(None)),
            (_, Ok(limit)) if (0.0..1.0).contains(&limit) => Ok(Self(Some(limit))),
            _ => Err("a fraction from 0 to 1, such as 0.05, or off".into()),
        }
    }
}

impl Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(limit) => write!(f, "{limit}"),
            None => f.write_str("off"),
        }
    }
}

/// The level of a machine or process setting that means: leave it unchanged, but record it.
pub(crate) const AS_FOUND: &str = "as-found";
/// The environment variable that enlarges the environment.
pub const PADDING: &str = "TARE_PADDING";
/// Bytes of the padding's name, its `=` and the terminating zero.
pub const PADDING_OVERHEAD: usize = PADDING.len() + 2;
/// Limit on a single string of exec: MAX_ARG_STRLEN, 32 pages of 4 KiB (execve(2)).
const LONGEST: usize = 131_072;

/// No server starts with less memory.
const LEAST_MEMORY: u64 = 16 << 20;
pub(crate) const NO_LIMIT: &str = "none";
/// The kernel's masks for the ways of a cache have 32 bits.
pub(crate) const MOST_WAYS: u32 = 32;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProcessSettings {
    /// Address space layout of the server; none: as found.
    pub aslr: Option<Aslr>,
    /// Its memory allocator; none: as found.
    pub allocator: Option<Allocator>,
    /// Bytes that a padding variable adds to its environment; 0: no padding.
    pub environment_bytes: usize,
    /// Limit on its memory including its page cache, bytes; none: no limit.
    pub memory_limit_bytes: Option<u64>,
    /// Limits on the L3 cache and the memory bandwidth that its threads use.
    pub cache: CacheLimits,
}

/// A limit of memory: bytes, with or without a unit, or none.
pub(crate) fn memory_limit(level: &Value) -> Result<Option<u64>, String> {
    let level = level.to_string();
    match tare_engine::bytes(&level) {
        Some(bytes) if bytes >= LEAST_MEMORY => Ok(Some(bytes)),
        None if level == NO_LIMIT => Ok(None),
        _ => Err(format!("a size of {} MiB or more, such as 512M, or {NO_LIMIT}", LEAST_MEMORY >> 20)),
    }
}

pub(crate) fn environment_bytes(level: &Value) -> Result<usize, String> {
    match level.to_string().parse() {
        Ok(bytes) if bytes == 0 || (PADDING_OVERHEAD..=LONGEST).contains(&bytes) => Ok(bytes),
        _ => Err(format!("0, or a number of bytes from {PADDING_OVERHEAD} to {LONGEST}")),
    }
}

pub(crate) fn or_as_found<T: FromStr<Err: Display>>(level: &Value) -> Result<Option<T>, String> {
    match level.to_string().as_str() {
        AS_FOUND => Ok(None),
        level => level.parse().map(Some).map_err(|levels| format!("{levels}, or {AS_FOUND}")),
    }
}

/// A limit of at least 1, or none.
pub(crate) fn limit(level: &Value, most: u32, what: &str) -> Result<Option<u32>, String> {
    let level = level.to_string();
    if level == NO_LIMIT {
        return Ok(None);
    }
    let limit = level.parse().ok().filter(|limit| (1..=most).contains(limit));
    limit.map(Some).ok_or_else(|| format!("{what} from 1 to {most}, or {NO_LIMIT}"))
}
