//! The plan of a run: conditions and the order of trials, written before the first trial.

use super::question::Settle;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_stats::racing::Question;
use tare_text::Value;
use tare_topology::{Fingerprint, MemoryPolicy};

/// Levels of a condition by factor name, for example `placement -> same-pu`.
pub type Levels = BTreeMap<String, String>;

/// One combination of levels, realizable on this machine or not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedCondition {
    /// Unique in the study; `factor=level` words joined by spaces unless the study names it.
    pub name: String,
    pub levels: Levels,
    /// False if this machine cannot run the condition.
    pub realizable: bool,
    pub reason: Option<String>,
    /// Whether the reason is an option that the server does not know: a mistake in the study, not in the machine.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unknown_option: bool,
    /// The CPUs of each thread; none if neither side is bound.
    pub placement: Option<PlannedPlacement>,
    /// Every key of a study with its value in this condition, by `section.key`: the settings of its trials. Empty in
    /// plans of schema 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Value>,
    /// The keys by which the load's transactions touch more rows, tables, warehouses or accounts (`workload.rows`),
    /// with their values; empty if there is none, as with statements that name their rows. None in older plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<BTreeMap<String, u64>>,
}

impl PlannedCondition {
    /// Whether every thread is bound but none is paired: which server thread gets which CPU is then drawn at random for
    /// each trial, from its seed.
    pub fn is_left_to_chance(&self) -> bool {
        let is = |key: &str, word: &str| self.settings.get(key).is_some_and(|value| value.to_string() == word);
        let servers = self.placement.as_ref().map_or(0, |placement| placement.server.len());
        servers > 1 && is("placement.bind", "thread") && is("placement.pairing", "none")
    }
}

/// OS CPU numbers: one set per thread, or a single one for all threads if they share it; none for a side that is left
/// to the OS. Written as lists of numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedPlacement {
    /// CPUs of each client thread, or of all if they share a set.
    #[serde(serialize_with = "write_sets", deserialize_with = "read_sets")]
    pub client: Vec<CpuSet>,
    /// CPUs of each server thread, or of all if they share a set.
    #[serde(serialize_with = "write_sets", deserialize_with = "read_sets")]
    pub server: Vec<CpuSet>,
    /// CPUs of all server threads that serve no connection, if placed separately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "write_set", deserialize_with = "read_set")]
    pub background: Option<CpuSet>,
    /// Memory policy of the server with explicit nodes; none: the kernel's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryPolicy>,
    /// Memory policy of the server's buffer pool, if separate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_memory: Option<MemoryPolicy>,
}

type Numbers = Vec<u32>;

fn numbers(set: &CpuSet) -> Numbers {
    set.iter().collect()
}

fn write_sets<S: Serializer>(sets: &[CpuSet], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(sets.iter().map(numbers))
}

fn read_sets<'d, D: Deserializer<'d>>(from: D) -> Result<Vec<CpuSet>, D::Error> {
    Ok(Vec::<Numbers>::deserialize(from)?.into_iter().map(CpuSet::from_iter).collect())
}

fn write_set<S: Serializer>(set: &Option<CpuSet>, to: S) -> Result<S::Ok, S::Error> {
    set.as_ref().map(numbers).serialize(to)
}

fn read_set<'d, D: Deserializer<'d>>(from: D) -> Result<Option<CpuSet>, D::Error> {
    Ok(Option::<Numbers>::deserialize(from)?.map(CpuSet::from_iter))
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Position in the schedule, from 0; the identity of the trial.
    pub trial: usize,
    /// Its block (pass over all conditions), from 0.
    pub block: usize,
    pub condition: String,
    /// Number of the server lifetime that it shares with neighbouring trials; none: it has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<usize>,
}

/// What will be run and in which order; written once, read by `--resume`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub schema: u32,
    pub study: String,
    /// The only machine that its trials may run on; none in plans of schema 1 and for described machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Fingerprint>,
    /// The machines of the clients' hosts, by the names in the study; empty if clients run on the server's host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub client_machines: BTreeMap<String, Fingerprint>,
    /// Seed of the order and of every trial's load.
    pub seed: u64,
    /// The factors in the order of the study; empty in older plans.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub factors: Vec<String>,
    pub conditions: Vec<PlannedCondition>,
    /// The schedule over the realizable conditions.
    pub trials: Vec<PlannedTrial>,
    pub samples: usize,
    /// Whether it is a rehearsal (`--quick`), which measures too briefly for reliable results.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rehearsal: bool,
    /// Expected wall time of the whole schedule, seconds; of a race or a comparison, with its first round.
    pub estimated_s: f64,
    /// The part of it for making the data, which are made once; 0 in older plans.
    #[serde(default)]
    pub data_s: f64,
    /// Estimated requirements other than time; none in older plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
    /// What was decided after the pilot; none before it, and if the study fixes its counts.
    #[serde(default)]
    pub decision: Option<Decision>,
    /// The rule for adding pairs of its two conditions until their difference is settled; none: every trial was planned
    /// at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settle>,
    /// The rule for dropping the worse of its conditions until the best is known; none: no race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race: Option<Race>,
    /// How the samples of a block's two trials alternate while both servers run; none: one trial after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
    /// What was cut from the study to fit the requested time; none without such a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// Optional machine settings of the study that are not available here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// Choices and omissions that make the study fit the machine and engine, as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Plan {
    /// The command that resumes it: `tare NAME --resume DIR`.
    pub fn resumed_by(&self) -> &'static str {
        match (&self.settle, &self.race) {
            (Some(rule), _) if !rule.certify => "ab",
            // A study whose question is the best condition is raced if it has a time.
            (_, Some(_)) if self.within.is_none() => "find",
            _ => "run",
        }
    }

    /// Whether trials are added until a comparison or a race ends.
    pub fn goes_in_rounds(&self) -> bool {
        self.settle.is_some() || self.race.is_some()
    }

    /// The conditions that the machine of the plan can run.
    pub fn realizable(&self) -> impl Iterator<Item = &PlannedCondition> {
        self.conditions.iter().filter(|condition| condition.realizable)
    }

    /// Adds a trial to the schedule.
    pub fn push(&mut self, block: usize, condition: &str, lifetime: Option<usize>) {
        let (trial, condition) = (self.trials.len(), condition.to_owned());
        self.trials.push(PlannedTrial { trial, block, condition, lifetime });
    }

    pub fn blocks(&self) -> BTreeMap<usize, Vec<&PlannedTrial>> {
        let mut blocks: BTreeMap<usize, Vec<&PlannedTrial>> = BTreeMap::new();
        self.trials.iter().for_each(|trial| blocks.entry(trial.block).or_default().push(trial));
        blocks
    }

    /// Expected time of the trials, seconds, without making their data.
    pub fn trials_s(&self) -> f64 {
        (self.estimated_s - self.data_s).max(0.0)
    }

    /// Expected time of this many blocks or pairs of a plan that has one, seconds, with the data made once.
    pub fn rounds_s(&self, rounds: usize) -> f64 {
        self.data_s + rounds as f64 * self.trials_s()
    }

    /// Whether the two trials of a block run at the same time.
    pub fn is_together(&self) -> bool {
        self.turns.is_some() || self.settle.as_ref().is_some_and(|rule| rule.duet.is_some())
    }

    /// Number of trials that run at the same time, and so take the time of one.
    pub fn at_once(&self) -> f64 {
        if self.is_together() { 2.0 } else { 1.0 }
    }

    /// Total number of trials, including those that are planned after others have ended, as far as their number is
    /// known in advance.
    pub fn trials_in_all(&self) -> usize {
        let all = |within: &Within| within.rungs.as_ref().map(|rule| rule.blocks).or(within.blocks);
        let blocks = self.within.as_ref().and_then(all);
        blocks.map_or(self.trials.len(), |blocks| self.trials.len() * blocks / self.blocks().len().max(1))
    }
}

/// Which of two trials measures first in each round of their turns, drawn at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    pub seed: u64,
}

impl Turns {
    /// Length of a turn, seconds: the speed of a shared host's CPUs changes within a tenth of a second, and caches are
    /// warm again after a hundredth of a turn.
    const LENGTH_S: f64 = 0.02;

    /// Number of turns in a sample of this length.
    pub fn in_sample(sample_s: f64) -> usize {
        (sample_s / Self::LENGTH_S).round().max(1.0) as usize
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Tables and indexes of all its data sets, bytes.
    pub data_bytes: u64,
    /// Disk space, bytes: the data with the servers' other files, in a prepared and a working copy.
    pub disk_bytes: u64,
    /// Maximum memory of one trial, bytes.
    pub memory_bytes: u64,
}

/// Counts that were chosen from the first trials of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Number of the first trial of the schedule that it applies to: all earlier trials are the pilot.
    pub first_trial: usize,
    /// Trials per condition, including those of the pilot if they count.
    pub trials: usize,
    pub samples: usize,
    /// Seconds of load before the first sample from then on.
    pub warmup_s: f64,
    /// Executions of each query added to its warm-up from then on, if warm-up is counted in executions.
    #[serde(default)]
    pub extra_warmup_runs: usize,
    /// Whether the pilot's trials are analysed: false if their warm-up turned out to be too short.
    pub pilot_counts: bool,
    /// Expected half-width of the widest 95% interval, as a fraction of the mean.
    pub half_width: Option<f64>,
    pub reason: String,
}

/// What was cut from a study to fit a time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Within {
    #[serde(alias = "asked_s")]
    pub requested_s: f64,
    pub whole_s: f64,
    pub whole_trials: usize,
    /// Levels that are not measured, by factor.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, Vec<String>>,
    /// How the rungs of its ladders are chosen; none if they were fixed in advance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rungs: Option<Rungs>,
    /// Total blocks of a study that ends as soon as an interim look settles its question ([`crate::looks`]): later
    /// blocks are not yet in the plan. None without interim looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<usize>,
    /// Trials for which there was not enough time.
    #[serde(default)]
    pub stopped: usize,
}

/// Adaptive choice of the rungs of ladders around the peak of each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rungs {
    pub factor: String,
    /// Rungs of a ladder in one block.
    pub at_once: usize,
    /// Total blocks of the study: later blocks are not yet in the plan.
    pub blocks: usize,
}

/// A setting that the study could not apply: of the machine, or an option in a file that the server does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name, as in `[machine]` or in the server.
    pub setting: String,
    pub level: String,
    pub reason: String,
}

/// The rule of a race: fixed before the first trial, so that a resumed run keeps the same rule and error rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Race {
    pub candidates: Vec<String>,
    /// The compared metric; none: the first headline metric of the first block.
    pub metric: Option<String>,
    pub minimum_effect: f64,
    /// Probability that the named candidate is not within the minimum effect of the best.
    pub alpha: f64,
    /// Total seconds of trials; none: until it is decided.
    pub budget_s: Option<f64>,
    pub seed: u64,
    /// Runs that have added blocks: the first one, and each resumed one.
    pub sessions: usize,
    /// Numbers of blocks after which a resumed race had ended for lack of time, in ascending order: it was looked at
    /// then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub early_looks: Vec<usize>,
}

impl Race {
    /// A race of these candidates for the first headline metric, without a time limit.
    pub fn of(candidates: Vec<String>, question: Question, seed: u64) -> Self {
        let Question { minimum_effect, alpha } = question;
        Self {
            candidates,
            metric: None,
            minimum_effect,
            alpha,
            budget_s: None,
            seed,
            sessions: 1,
            early_looks: Vec::new(),
        }
    }

    /// Minimum effect and error rate, as the test takes them.
    pub fn question(&self) -> Question {
        Question { minimum_effect: self.minimum_effect, alpha: self.alpha }
    }
}
