//! The records of a results directory. Every document carries `schema`; a reader refuses a newer one.
//!
//! | file | holds |
//! | --- | --- |
//! | `study.toml` | the resolved study: every default written out |
//! | `plan.json` | [`Plan`]: conditions and the order of trials |
//! | `environment.json` | [`Environment`]: the machine as it was found |
//! | `trials.jsonl` | one [`TrialRecord`] a line, synced before the next trial begins |
//! | `logs/` | the log of each trial and its server |

use super::cache_lines::SharedLines;
use super::disturbed::Disturber;
use super::events::SidesEvents;
use super::plain::Plain;
pub use super::plan::{
    Decision, LeftOut, Levels, Needs, Plan, PlannedCondition, PlannedPlacement, PlannedTrial, Race, Rungs, Turns,
    Within,
};
use super::search::SearchRecord;
use super::server::ServerRecord;
pub use super::settle::{Duet, SIDE, Session, Settle};
use super::settled::SettledRecord;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tare_cpuset::CpuSet;
use tare_topology::Machine;

/// The newest schema this program reads and the one it writes.
///
/// 2: a plan holds the machine and each condition's settings; records say on which machine they were made, and a
/// thread its process and class.
///
/// 3: a trial that was disturbed and put aside has the outcome `disturbed`; `contaminated` until then.
pub const SCHEMA: u32 = 3;

/// One setting that a trial made, and the proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedSetting {
    pub factor: String,
    pub level: String,
    /// Value before, where one could be read.
    pub found: Option<String>,
    /// What was read back, and where, after setting it.
    pub verified: String,
}

impl AppliedSetting {
    /// One that had no value before which could be read.
    pub fn new(factor: impl Into<String>, level: impl ToString, verified: impl Into<String>) -> Self {
        Self { factor: factor.into(), level: level.to_string(), found: None, verified: verified.into() }
    }
}

/// Which side of a connection a thread works for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadClass {
    #[default]
    Client,
    /// Serves one connection; `server` in records, which scripts read.
    #[serde(rename = "server")]
    Connection,
    /// Belongs to the server but to no connection (log writer, purge ...).
    Background,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadRecord {
    /// Which side it works for; `role` in records.
    #[serde(rename = "role")]
    pub class: ThreadClass,
    /// Number of the connection it belongs to, from 0: client and server with the same number are a pair.
    pub pair: Option<usize>,
    /// Its process; 0 in records of schema 1.
    #[serde(default)]
    pub pid: u32,
    pub tid: u32,
    pub name: String,
    /// CPUs it was allowed to run on, read back from the kernel; empty where it was gone before it was looked at.
    pub allowed_cpus: CpuSet,
    /// CPUs on which it was seen -> number of sightings.
    pub seen_cpus: BTreeMap<usize, u64>,
    /// Moves between CPUs during the sample (kernel count where there is one, else changes between sightings).
    pub migrations: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub user_s: f64,
    pub system_s: f64,
    /// What the scheduler did with it; none where it was not asked for or the kernel does not tell.
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
    /// How long it really was, seconds.
    pub elapsed_s: f64,
    /// Metric name -> value; units and directions in [`crate::metric`].
    pub metrics: BTreeMap<String, f64>,
    /// Transactions a second, one reading a second.
    pub tps_each_second: Vec<f64>,
    /// What else went on: `steal_fraction`, `psi_cpu_some_fraction`, `migrations` ... -> value.
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
    /// A number that every boot draws anew; none where the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
}

/// The host of the client threads, where that was another than the server's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClientHost {
    pub asked: String,
    /// The name that it gives itself, and its boot.
    #[serde(flatten)]
    pub ran_on: RanOn,
    /// Seconds that its clock was ahead of the server's host's; negative where it was behind.
    pub clock_offset_s: f64,
    /// The offset is known to this, seconds: half of the quickest round trip over ssh.
    pub clock_uncertainty_s: f64,
}

/// How the data directory of a trial got the prepared content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DataRecord {
    /// `shared`: the file system shares the blocks; `put-back`: what an earlier trial had changed was written again;
    /// `copied`: everything was.
    pub way: String,
    pub files: usize,
    /// Their bytes, holes included.
    pub bytes: u64,
    /// Files that were not as prepared, or for which no time of change could vouch.
    pub files_put_back: usize,
    /// Bytes that were written for this trial.
    pub bytes_copied: u64,
    pub bytes_compared: u64,
    pub elapsed_s: f64,
}

/// What the server's own memory of pages held of the data, asked of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PoolRecord {
    pub data_pages: u64,
    /// Pages held before the warm-up of the first sample, those of a freshly started server aside.
    pub held_pages_before: u64,
    pub held_pages_after: u64,
    /// The smaller of the two over the data's pages; above 1 where the server needs pages of its own.
    pub resident_fraction: f64,
}

/// A place in the lifetime of a server that several trials shared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifetimeRecord {
    pub number: usize,
    /// Rungs that were measured on this server before, since it started.
    pub place: usize,
    /// The conditions of the lifetime in the order that was drawn for it.
    pub order: Vec<String>,
}

/// One line of `trials.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    pub schema: u32,
    /// Position in the plan's schedule.
    pub trial: usize,
    /// 1 for the first attempt at this trial.
    pub attempt: u32,
    pub block: usize,
    pub condition: String,
    /// Factor -> level, repeated so that a line stands alone.
    pub levels: Levels,
    /// How it ended: measured, or failed and why.
    pub outcome: Outcome,
    /// Why, when not ok; when ok, what disturbed it although it counts, as no attempt was clean.
    #[serde(default, deserialize_with = "crate::earlier::reason")]
    pub reason: Option<String>,
    /// Where it ran; none in records of schema 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_on: Option<RanOn>,
    /// Where its client threads ran, where that was another host: threads of the role `client` are of this one, with
    /// its CPU numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_host: Option<ClientHost>,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
    /// Whole length with start, preload, warm-up and stop, seconds.
    pub elapsed_s: f64,
    /// Which rung of which server lifetime it was; none where it had a lifetime of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<LifetimeRecord>,
    pub settings: Vec<AppliedSetting>,
    /// How its data came to be those that were prepared; none where it had no server, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataRecord>,
    /// What the server held of it in memory; none where it does not say, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<PoolRecord>,
    /// How the server settled between warm-up and samples; none where the study does not ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<SettledRecord>,
    /// Engine version as the server itself reports it.
    pub server_version: Option<String>,
    /// Which build it was, how it was started and set; none in older records and without a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerRecord>,
    /// Processes that the server had started and left running when it ended in good order, in words; they were ended
    /// then, and were alongside the samples before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlived: Vec<String>,
    /// Programs that took CPU time in its disturbed samples, the most first; empty in results of version 0.1.0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed_by: Vec<Disturber>,
    /// On a server that ran already, never empty there and empty elsewhere: what a study that starts its own would set
    /// and prove, and no one did here -> how it is instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uncontrolled: BTreeMap<String, String>,
    /// SHA-1 of the program that the server ran, in hexadecimal digits; none where it could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_program: Option<String>,
    /// SHA-1 of the programs of someone else's clients: the file that was started, and the program that ran where that
    /// is another one, as behind a script. Empty in older records and where the clients are tare's own.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub client_programs: BTreeSet<String>,
    /// The measured runs, in their order; [`TrialRecord::all_samples`] has those of `plain` too.
    pub samples: Vec<SampleRecord>,
    /// Percentiles of the samples' histograms together, worked out when results are read for analysis: these and not
    /// the mean over samples are the trial's.
    #[serde(skip)]
    pub of_all_samples: BTreeMap<String, f64>,
    /// In their place, the samples of results read for analysis of which nothing was recorded but metrics.
    #[serde(skip)]
    pub plain: Plain,
    /// Samples before those, which the study leaves out of all figures (`sampling.drop_samples`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<SampleRecord>,
    /// The searches for the highest rate behind the samples, dropped ones first; empty without an objective.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchRecord>,
    /// What every execution before the measured ones took, seconds, by the metric of its query, in their order.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub warm_up: BTreeMap<String, Vec<f64>>,
    /// How the server went about each query, by the query's metric, as the server said it after the measured
    /// executions; without estimates, so that equal texts are equal plans.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub plans: BTreeMap<String, String>,
    /// Files of captures (profiles, lock waits ...) relative to the results directory, by name.
    #[serde(default)]
    pub captures: BTreeMap<String, String>,
    /// Captures that were requested and could not be made: name -> reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub captures_missing: BTreeMap<String, String>,
    /// The further sample in which the costly captures were made; not part of the metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_sample: Option<CaptureSample>,
}

/// The capture sample: what capturing cost, and what only it has.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CaptureSample {
    /// How long it really was, seconds.
    pub elapsed_s: f64,
    pub tps: f64,
    /// `tps` divided by the mean of the trial's measured samples: 0.95 is a cost of 5%.
    pub tps_ratio: f64,
    /// Wall-clock time by kind of statement of loads `oltp`, microseconds of a transaction; empty of one kind alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statement_us: BTreeMap<String, f64>,
    /// Events of processors and kernel, where they were asked for and could be counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<SidesEvents>,
    /// Cache lines that cores take from each other, where they were asked for and could be sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<SharedLines>,
}

impl TrialRecord {
    /// Whether its server ran already: someone else's, which no trial starts.
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

/// The machine and its settings as they were found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    pub schema: u32,
    pub tare_version: String,
    pub command: String,
    pub kernel: String,
    pub cpu_model: String,
    pub hypervisor: Option<String>,
    pub os: String,
    /// Settings found: path or name -> value.
    pub settings: BTreeMap<String, String>,
    pub machine: Machine,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Measured, and everything asked for was verified.
    #[default]
    Ok,
    /// No usable result; `reason` says why.
    Failed,
    /// Measured, but interfered with by the rules in the docs; kept, not analysed, run again.
    #[serde(alias = "contaminated")]
    Disturbed,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_before_schema_3_have_the_older_name_of_an_outcome() {
        let read = |text: &str| serde_json::from_str::<Outcome>(text).unwrap();
        assert_eq!([read("\"contaminated\""), read("\"disturbed\"")], [Outcome::Disturbed; 2]);
        assert_eq!(serde_json::to_string(&Outcome::Disturbed).unwrap(), "\"disturbed\"");
    }
}
