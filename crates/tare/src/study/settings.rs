//! Everything one trial needs to know, typed. A study has one as its base; a condition is a copy with levels set.

use crate::trial::contamination::Limit;
pub use crate::trial::process::ProcessSettings;
use crate::workload::dbt3::Dbt3Settings;
use crate::workload::oltp::{OltpSettings, Workload};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tare_counters::strategies::Strategy;
use tare_counters::workload::Mode;
use tare_engine::Transport;
use tare_topology::Placement;

/// The level of a machine or process setting that means: leave it, but record it.
pub const AS_FOUND: &str = "as-found";

/// All settings of one condition.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// Which database, and how it is started.
    pub engine: EngineSettings,
    /// What the clients do.
    pub workload: WorkloadSettings,
    /// Where threads and memory go.
    pub placement: Placement,
    /// Properties of the server process.
    pub process: ProcessSettings,
    /// What is recorded beside the metrics.
    pub capture: CaptureSettings,
    /// Machine-wide settings: name in `tare-noise` -> level. Absent means as found.
    pub machine: BTreeMap<String, String>,
}

impl Settings {
    /// What no single key can check.
    ///
    /// # Errors
    /// What was expected.
    pub fn check(&self) -> Result<(), String> {
        if self.workload.kind == Kind::Dbt3 && self.workload.threads != 1 {
            return Err("1 thread with dbt3: its queries run one after another on one connection".into());
        }
        Ok(())
    }
}

/// `[engine]`: which database, and how it is started.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineSettings {
    /// A name that the registry of engines knows.
    pub name: String,
    /// Path of the server binary; none: found on the usual paths.
    pub binary: Option<PathBuf>,
    /// A stopped server's data directory to start every trial on a copy of; none: made by tare and cached.
    pub data: Option<PathBuf>,
    /// How clients reach the server.
    pub transport: Transport,
    /// Seconds the server may take to become ready.
    pub start_timeout_s: f64,
    /// Engine options by name, checked after start.
    pub options: BTreeMap<String, String>,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            name: "sqlite".into(),
            binary: None,
            data: None,
            transport: Transport::Socket,
            start_timeout_s: 60.0,
            options: BTreeMap::new(),
        }
    }
}

/// Which workload: each has keys of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// One of sysbench's, on a database.
    #[default]
    Oltp,
    /// TPC-H's 22 queries, on a database.
    Dbt3,
    /// Global counters, in the trial's own process.
    Counters,
}

/// `[workload]`: what the client threads do.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadSettings {
    /// Which of the three below counts.
    pub kind: Kind,
    /// Client threads, one connection each.
    pub threads: usize,
    /// Transactions a second over all threads (open loop); none: as fast as they go (closed loop).
    pub rate: Option<f64>,
    /// Which OLTP workload, on which tables.
    pub oltp: OltpSettings,
    /// Which queries, on tables of which size.
    pub dbt3: Dbt3Settings,
    /// Which counters, how many, how long.
    pub counters: CountersSettings,
}

/// Settings of the workload `counters`; see `tare-counters`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountersSettings {
    /// How counters are kept.
    pub strategy: Strategy,
    /// Where random numbers come from.
    pub generator: Mode,
    /// Whether a round works on data blocks.
    pub data_work: bool,
    /// Rounds a thread and sample.
    pub rounds: u64,
    /// Blocks of counters that there are.
    pub counter_blocks: usize,
    /// Counters that a block holds.
    pub counters_per_block: usize,
    /// Data blocks of 16 KiB.
    pub data_blocks: usize,
}

impl Default for CountersSettings {
    /// The article's numbers, but for the million data blocks (16 GB) that few machines can spare.
    fn default() -> Self {
        Self {
            strategy: Strategy::CounterSet,
            generator: Mode::Corrected,
            data_work: true,
            rounds: 1000,
            counter_blocks: 100,
            counters_per_block: 10,
            data_blocks: 10_000,
        }
    }
}

impl Default for WorkloadSettings {
    fn default() -> Self {
        // sysbench's own default distribution is special, which keeps a quarter of the ids in the middle of the table;
        // uniform is what its users ask for.
        let oltp =
            OltpSettings { distribution: tare_load::Distribution::Uniform, ..OltpSettings::new(Workload::PointSelect) };
        Self {
            kind: Kind::Oltp,
            threads: 1,
            rate: None,
            oltp,
            dbt3: Dbt3Settings::default(),
            counters: CountersSettings::default(),
        }
    }
}

/// `[capture]`: what is recorded beside the metrics. The cheap ones (memory, schedule) belong to every sample; the
/// others to one further sample, after the measured ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureSettings {
    /// A sampled profile of the server.
    pub profile: bool,
    /// How its call chains are found.
    pub call_graph: CallGraph,
    /// Waits for locks inside the server.
    pub locks: bool,
    /// The server's counters, and its storage engine's report.
    pub status: bool,
    /// Memory of the server by node, and hits and misses of the nodes' allocators.
    pub memory: bool,
    /// Time each thread ran, waited for a CPU and slept.
    pub schedule: bool,
}

impl Default for CaptureSettings {
    fn default() -> Self {
        Self { profile: false, call_graph: CallGraph::Dwarf, locks: false, status: false, memory: true, schedule: true }
    }
}

impl CaptureSettings {
    /// Whether anything needs a capture sample.
    pub fn need_a_sample(&self) -> bool {
        self.profile || self.locks || self.status
    }
}

/// How call chains are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallGraph {
    /// From a copy of the stack and the program's unwind tables: whole chains on any build, and the larger cost.
    Dwarf,
    /// From frame pointers: cheap, and whole only where the server was built with them.
    FramePointers,
}

/// `[sampling]`: how often, how long.
#[derive(Debug, Clone, PartialEq)]
pub struct Sampling {
    /// Trials (server lifetimes) a condition.
    pub trials: usize,
    /// Measured samples of each trial.
    pub samples: usize,
    /// Seconds of load before the first sample.
    pub warmup_s: f64,
    /// Length of a sample, seconds.
    pub sample_s: f64,
    /// Seed of the order of trials and of the load.
    pub seed: u64,
    /// Attempts a trial before it counts as failed for good.
    pub attempts: u32,
    /// Half-width of the 95% interval of the mean to reach, as a fraction of it: then `trials` are a pilot, and counts
    /// are chosen from it. None: as given.
    pub target_half_width: Option<f64>,
    /// Seconds for all trials of all conditions when counts are chosen.
    pub budget_s: f64,
    /// Seconds a trial may take; none: four times what it should, and a minute.
    pub trial_timeout_s: Option<f64>,
    /// Share of the CPU time that the hypervisor may take from a sample.
    pub steal_limit: Limit,
    /// Share of the time of the benchmark's CPUs that other processes may take from a sample.
    pub foreign_cpu_limit: Limit,
}

impl Default for Sampling {
    fn default() -> Self {
        Self {
            trials: 10,
            samples: 1,
            warmup_s: 10.0,
            sample_s: 60.0,
            seed: 1,
            attempts: 2,
            target_half_width: None,
            budget_s: 3600.0,
            trial_timeout_s: None,
            // Both are about what restarts of an undisturbed server differ by (3%, Percona): more hides them.
            steal_limit: Limit(Some(0.03)),
            foreign_cpu_limit: Limit(Some(0.05)),
        }
    }
}
