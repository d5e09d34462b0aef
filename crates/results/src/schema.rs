//! The records of a results directory. Every document carries `schema`; a reader refuses a newer one.
//!
//! | file | holds |
//! | --- | --- |
//! | `study.toml` | the resolved study: every default written out |
//! | `plan.json` | [`Plan`]: conditions and the order of trials |
//! | `environment.json` | [`Environment`]: the original state of the machine |
//! | `trials.jsonl` | one [`TrialRecord`] per line, synced before the next trial begins |
//! | `logs/` | the log of each trial and its server |

use super::cache_lines::SharedLines;
use super::disturbed::Disturber;
use super::earlier::{self, Written};
use super::events::SidesEvents;
use super::plain::Plain;
pub use super::plan::{
    Decision, LeftOut, Levels, Needs, Plan, PlannedCondition, PlannedPlacement, PlannedTrial, Race, Rungs, Turns,
    Within,
};
pub use super::question::{Duet, SIDE, Session, Settle};
use super::search::SearchRecord;
use super::server::{ServerRecord, SettledRecord};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use strum::Display;
use tare_cpuset::CpuSet;
use tare_topology::Machine;

/// The newest schema that this program reads, and the one that it writes.
///
/// 2: a plan holds the machine and each condition's settings; records contain the machine that they were made on, and a
/// thread its process and class.
///
/// 3: a trial that was disturbed and set aside has the outcome `disturbed`; `contaminated` before.
///
/// 4: a search has its SLO as metric and limit, and a process that outlived a server its number and name; what was
/// requested is called `requested`, `asked` before.
pub const SCHEMA: u32 = 4;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedSetting {
    pub factor: String,
    pub level: String,
    /// Original value, if one could be read.
    pub found: Option<String>,
    /// The value read back after setting it, and from where.
    pub verified: String,
}

impl AppliedSetting {
    /// A setting without a readable original value.
    pub fn new(factor: impl Into<String>, level: impl ToString, verified: impl Into<String>) -> Self {
        Self { factor: factor.into(), level: level.to_string(), found: None, verified: verified.into() }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ThreadClass {
    #[default]
    Client,
    /// Serves one connection; `server` in records, which scripts read.
    #[serde(rename = "server")]
    Connection,
    /// Belongs to the server but to no connection (log writer, purge ...).
    Background,
}

impl ThreadClass {
    /// What a thread with a connection belongs to, client or server; otherwise its class.
    pub fn side(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Connection => "server",
            Self::Background => "background",
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadRecord {
    /// The side that it works for; `role` in records.
    #[serde(rename = "role")]
    pub class: ThreadClass,
    /// Number of the connection it belongs to, from 0: client and server with the same number are a pair.
    pub pair: Option<usize>,
    /// Its process; 0 in records of schema 1.
    #[serde(default)]
    pub pid: u32,
    pub tid: u32,
    pub name: String,
    /// CPUs it was allowed to run on, read back from the kernel; empty if the thread had ended before.
    pub allowed_cpus: CpuSet,
    /// CPUs on which it was observed -> number of observations.
    pub seen_cpus: BTreeMap<usize, u64>,
    /// Migrations between CPUs during the sample (kernel count if available, else changes between observations). This
    /// and the following are the increase between two readings, times the share of that time that belongs to the sample
    /// if clients go on before and after it.
    pub migrations: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub user_s: f64,
    pub system_s: f64,
    /// Its scheduler statistics; none if not requested or if the kernel does not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleRecord>,
}

/// How a thread spent a sample, from the kernel's `schedstat`; the three add up to the sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ScheduleRecord {
    pub ran_s: f64,
    /// Runnable, and waiting for a CPU, seconds.
    pub waited_s: f64,
    /// Neither: waiting for the other side, a lock or a device, seconds.
    pub slept_s: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleRecord {
    /// Number in the trial, from 0.
    pub sample: usize,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Actual length in seconds.
    pub elapsed_s: f64,
    /// Metric name -> value; units and directions in [`crate::metric`].
    pub metrics: BTreeMap<String, f64>,
    /// Transactions per second, one reading per second.
    pub tps_each_second: Vec<f64>,
    /// Covariates: `steal_fraction`, `psi_cpu_some_fraction`, `migrations` ... -> value.
    pub covariates: BTreeMap<String, f64>,
    /// Latencies in nanoseconds as HDR histograms: `latency_ms` of transactions, `latency_ms_of_NAME` of a statement or
    /// a kind of transaction -> format V2, deflated, in base64. Empty in results of version 0.1.0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub histograms: BTreeMap<String, String>,
    pub threads: Vec<ThreadRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RanOn {
    pub host: String,
    /// The boot id of the kernel, new with every boot; none if the kernel does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
}

/// A process that outlived its server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlived {
    pub pid: i32,
    pub name: String,
}

fn outlived<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Outlived>, D::Error> {
    let one = |written| match written {
        Written::Now(process) => process,
        Written::Earlier(text) => {
            let (pid, name) = earlier::process(text);
            Outlived { pid, name }
        }
    };
    Ok(Vec::<Written<Outlived>>::deserialize(deserializer)?.into_iter().map(one).collect())
}

/// The host of the client threads, if it is not the server's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientHost {
    #[serde(alias = "asked")]
    pub requested: String,
    /// Its own host name, and its boot id.
    #[serde(flatten)]
    pub ran_on: RanOn,
    /// Seconds by which its clock was ahead of the clock of the server's host; negative if behind.
    pub clock_offset_s: f64,
    /// Uncertainty of the offset, seconds: half of the fastest round trip over ssh.
    pub clock_uncertainty_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CopyMethod {
    /// The file system shares the blocks of both: nothing was copied.
    Shared,
    /// A copy existed: only the differences were written.
    PutBack,
    /// No copy existed: everything was copied.
    Copied,
}

/// How the data directory of a trial got the prepared content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataRecord {
    #[serde(alias = "way")]
    pub copy_method: CopyMethod,
    pub files: usize,
    /// Size of the files including holes, bytes.
    pub bytes: u64,
    /// Files that differed from the prepared ones, or whose modification time was not conclusive.
    pub files_put_back: usize,
    /// Bytes that were written for this trial.
    pub bytes_copied: u64,
    pub bytes_compared: u64,
    pub elapsed_s: f64,
}

/// How much of the data the server's buffer pool held, as reported by the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolRecord {
    pub data_pages: u64,
    /// Pages held before the warm-up of the first sample, without those of a freshly started server.
    pub held_pages_before: u64,
    pub held_pages_after: u64,
    /// The smaller of the two over the data's pages; above 1 if the server needs further pages of its own.
    pub resident_fraction: f64,
}

/// A position in the lifetime of a server that several trials shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifetimeRecord {
    pub number: usize,
    /// Number of rungs measured on this server before, since its start.
    pub place: usize,
    /// The conditions of the lifetime in their random order.
    pub order: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    pub schema: u32,
    /// Position in the plan's schedule.
    pub trial: usize,
    /// 1 for the first attempt at this trial.
    pub attempt: u32,
    pub block: usize,
    pub condition: String,
    /// Factor -> level, repeated so that each line is self-contained.
    pub levels: Levels,
    /// Whether it was measured, was disturbed or failed.
    pub outcome: Outcome,
    /// Why, if not ok; if ok, what disturbed it although it counts, because no attempt was clean.
    #[serde(default, deserialize_with = "earlier::reason")]
    pub reason: Option<String>,
    /// Where it ran; none in records of schema 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_on: Option<RanOn>,
    /// The host of its client threads, if separate: threads of the role `client` are on this host, with its CPU
    /// numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_host: Option<ClientHost>,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Total length with start, preload, warm-up and stop, seconds.
    pub elapsed_s: f64,
    /// Its rung and server lifetime; none if it had a lifetime of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<LifetimeRecord>,
    pub settings: Vec<AppliedSetting>,
    /// How its data directory got the prepared content; none without a server, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataRecord>,
    /// How much of the data the server held in memory; none if the server does not report it, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolRecord>,
    /// How the server settled between warm-up and samples; none if the study does not request it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<SettledRecord>,
    /// Engine version as the server itself reports it.
    pub server_version: Option<String>,
    /// The build, how it was started and its settings; none in older records and without a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerRecord>,
    /// Processes that the server had started and that were still running after its regular stop; they were then ended,
    /// but ran during the samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "outlived")]
    pub outlived: Vec<Outlived>,
    /// Programs that took CPU time in its disturbed samples, the largest first; empty in results of version 0.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed_by: Vec<Disturber>,
    /// For a server that ran already (never empty there, empty elsewhere): what a study with its own server would set
    /// and verify, but was not set here -> its actual state.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uncontrolled: BTreeMap<String, String>,
    /// SHA-1 of the server's program, in hexadecimal digits; none if it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_program: Option<String>,
    /// SHA-1 of external client programs: the file that was started, and the program that ran if it is a different one,
    /// as with a script. Empty in older records and if the clients are tare's own.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub client_programs: BTreeSet<String>,
    /// The measured runs, in their order; [`TrialRecord::all_samples`] includes those of `plain`.
    pub samples: Vec<SampleRecord>,
    /// Percentiles over the merged histograms of all samples, computed when results are read for analysis: these are
    /// the trial's values, not the mean over samples.
    #[serde(skip)]
    pub of_all_samples: BTreeMap<String, f64>,
    /// Samples with nothing but metrics, held here in place of `samples` when results are read for analysis.
    #[serde(skip)]
    pub plain: Plain,
    /// Earlier samples, which the study leaves out of all figures (`sampling.drop_samples`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<SampleRecord>,
    /// The searches for the highest rate after the samples, those of dropped samples first; empty without an objective.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchRecord>,
    /// Seconds of every execution before the measured ones, by the metric of its query, in their order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub warm_up: BTreeMap<String, Vec<f64>>,
    /// The execution plan of each query, by the query's metric, as the server printed it after the measured executions;
    /// without estimates, so that equal texts are equal plans.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plans: BTreeMap<String, String>,
    /// Files of captures (profiles, lock waits ...) relative to the results directory, by name.
    #[serde(default)]
    pub captures: BTreeMap<String, String>,
    /// Captures that were requested but not possible: name -> reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub captures_missing: BTreeMap<String, String>,
    /// The additional sample with the expensive captures; not part of the metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_sample: Option<CaptureSample>,
}

/// The capture sample: the cost of capturing, and the data that only this sample has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CaptureSample {
    /// Actual length in seconds.
    pub elapsed_s: f64,
    pub tps: f64,
    /// `tps` divided by the mean of the trial's measured samples: 0.95 is a cost of 5%.
    pub tps_ratio: f64,
    /// Wall-clock time by kind of statement of `oltp` loads, microseconds per transaction; empty with a single kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statement_us: BTreeMap<String, f64>,
    /// Events of processors and kernel, if requested and countable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<SidesEvents>,
    /// Contended cache lines, if requested and sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<SharedLines>,
}

impl TrialRecord {
    /// Whether it used a server that ran already and that trials do not start.
    pub fn ran_already(&self) -> bool {
        !self.uncontrolled.is_empty()
    }

    pub fn new(planned: &PlannedTrial, attempt: u32, levels: Levels, started_at: String) -> Self {
        Self {
            schema: SCHEMA,
            trial: planned.trial,
            attempt,
            block: planned.block,
            condition: planned.condition.clone(),
            levels,
            started_at,
            ..Self::default()
        }
    }
}

/// The machine and its settings in their original state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    pub schema: u32,
    pub tare_version: String,
    pub command: String,
    pub kernel: String,
    pub cpu_model: String,
    pub hypervisor: Option<String>,
    pub os: String,
    /// Original settings: path or name -> value.
    pub settings: BTreeMap<String, String>,
    pub machine: Machine,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// Measured, and everything requested was verified.
    #[default]
    Ok,
    /// No usable result; `reason` says why.
    Failed,
    /// Measured, but disturbed by the rules in the docs; kept, not analysed, repeated.
    #[serde(alias = "contaminated")]
    Disturbed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_outlived_its_server_is_read_from_its_description() {
        let read = |text: &str| outlived(&mut serde_json::Deserializer::from_str(text)).unwrap();
        let process = |pid, name: &str| Outlived { pid, name: name.to_owned() };
        let text = r#"["process 12 (a (b) c)", {"pid": 7, "name": "sleep"}, "process x (y)"]"#;
        assert_eq!(read(text), [process(12, "a (b) c"), process(7, "sleep"), process(0, "process x (y)")]);
    }

    #[test]
    fn records_of_before_schema_3_have_the_older_name_of_an_outcome() {
        let read = |text: &str| serde_json::from_str::<Outcome>(text).unwrap();
        assert_eq!([read("\"contaminated\""), read("\"disturbed\"")], [Outcome::Disturbed; 2]);
        assert_eq!(serde_json::to_string(&Outcome::Disturbed).unwrap(), "\"disturbed\"");
    }
}
