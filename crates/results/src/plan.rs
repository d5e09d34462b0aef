//! What a run is to do: conditions and the order of trials, written before the first one.

use super::settle::Settle;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tare_stats::racing::Question;
use tare_text::Value;
use tare_topology::Fingerprint;

/// Levels of a condition by factor name, for example `placement -> same-pu`.
pub type Levels = BTreeMap<String, String>;

/// One combination of levels, realizable on this machine or not.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedCondition {
    /// Unique in the study; `factor=level` words joined by spaces unless the study names it.
    pub name: String,
    pub levels: Levels,
    /// False when this machine cannot do what the condition asks.
    pub realizable: bool,
    /// Why not, when not realizable.
    pub reason: Option<String>,
    /// The CPUs of each thread; none when neither side is bound.
    pub placement: Option<PlannedPlacement>,
    /// Every key of a study with its value in this condition, by `section.key`: what its trials run with. Empty in
    /// plans of schema 1.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, Value>,
}

/// OS CPU numbers: one inner list a thread, or one list for the whole set when threads share it.
/// An empty outer list is a side that is left to the OS.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedPlacement {
    /// CPUs of each client thread, or of all where they share a set.
    pub client: Vec<Vec<usize>>,
    /// CPUs of each server thread, or of all where they share a set.
    pub server: Vec<Vec<usize>>,
    /// CPUs of all server threads that serve no connection, where something is said of them alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background: Option<Vec<usize>>,
    /// Memory policy of the server with its nodes spelt out; none: the kernel's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<String>,
    /// That of the server's pool of pages, where it has one apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool_memory: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Position in the schedule, from 0; the identity of the trial.
    pub trial: usize,
    /// Which block (pass over all conditions) it belongs to, from 0.
    pub block: usize,
    pub condition: String,
    /// The server lifetime that it shares with the trials alongside it of the same number; none: it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<usize>,
}

/// What will be run and in which order; written once, read by `--resume`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub schema: u32,
    pub study: String,
    /// The machine that it was made for, on which alone its trials run; none in plans of schema 1 and for described
    /// machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Fingerprint>,
    /// The machines of the clients' hosts, as the study names these; none where they are on the server's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub client_machines: BTreeMap<String, Fingerprint>,
    /// Seed of the order and of every trial's load.
    pub seed: u64,
    pub conditions: Vec<PlannedCondition>,
    /// The schedule over the realizable ones.
    pub trials: Vec<PlannedTrial>,
    pub samples: usize,
    /// Whether it is a rehearsal (`--quick`), which measures too shortly to be relied on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rehearsal: bool,
    /// Expected wall time of the whole schedule, seconds.
    pub estimated_s: f64,
    /// What it takes besides time, about; none in older plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
    /// What was decided after the pilot; none before it, and where the study gives its counts itself.
    #[serde(default)]
    pub decision: Option<Decision>,
    /// The rule by which pairs of its two conditions are added until it is settled whether they differ; none: every
    /// trial was planned at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle: Option<Settle>,
    /// The rule by which the worse of its conditions are dropped until the best is known; none: no race.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race: Option<Race>,
    /// How the samples of a block's two trials take turns, while both servers run; none: one trial after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
    /// What was cut of the study to fit the time that was requested; none where nothing was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// Settings of the machine that the study wants where possible and that cannot be had here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What was chosen or left out to make the study fit machine and engine, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Plan {
    pub fn blocks(&self) -> BTreeMap<usize, Vec<&PlannedTrial>> {
        let mut blocks: BTreeMap<usize, Vec<&PlannedTrial>> = BTreeMap::new();
        self.trials.iter().for_each(|trial| blocks.entry(trial.block).or_default().push(trial));
        blocks
    }

    /// Whether the two trials of a block are made together, and not one after the other.
    pub fn is_together(&self) -> bool {
        self.turns.is_some() || self.settle.as_ref().is_some_and(|rule| rule.duet.is_some())
    }

    /// How many trials are made at the same time, and so take the time of one.
    pub fn at_once(&self) -> f64 {
        if self.is_together() { 2.0 } else { 1.0 }
    }

    /// Trials in all, those too that are planned when others have ended, as far as their number is known beforehand.
    pub fn trials_in_all(&self) -> usize {
        let all = |within: &Within| within.rungs.as_ref().map(|rule| rule.blocks).or(within.blocks);
        let blocks = self.within.as_ref().and_then(all);
        blocks.map_or(self.trials.len(), |blocks| self.trials.len() * blocks / self.blocks().len().max(1))
    }
}

/// Which of two trials measures first in each round of their turns, drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    pub seed: u64,
}

impl Turns {
    /// Seconds: the speed of a shared host's CPUs changes from one tenth of a second to the next, and caches are warm
    /// again after a hundredth of this.
    const LENGTH_S: f64 = 0.02;

    /// How many turns a sample of so many seconds has.
    pub fn in_sample(sample_s: f64) -> usize {
        (sample_s / Self::LENGTH_S).round().max(1.0) as usize
    }
}

/// What a plan takes besides time, about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needs {
    /// Tables and indexes of all its data sets, bytes.
    pub data_bytes: u64,
    /// These with the servers' other files, made once and once more to work on, bytes.
    pub disk_bytes: u64,
    /// The most that one trial needs at a time, bytes.
    pub memory_bytes: u64,
}

/// Counts that were chosen from the first trials of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Number of the first trial of the schedule that it applies to: all before are the pilot.
    pub first_trial: usize,
    /// Trials a condition, those of the pilot included where they count.
    pub trials: usize,
    pub samples: usize,
    /// Seconds of load before the first sample from then on.
    pub warmup_s: f64,
    /// Executions of each query added to its warm-up from then on, where warm-up is counted so.
    #[serde(default)]
    pub extra_warmup_runs: usize,
    /// Whether the pilot's trials are analysed: not when they turned out to be too short of warm-up.
    pub pilot_counts: bool,
    /// Half-width of the least steady 95% interval to expect, as a fraction of the mean.
    pub half_width: Option<f64>,
    pub reason: String,
}

/// What was cut of a study to fit a time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Within {
    pub asked_s: f64,
    pub whole_s: f64,
    pub whole_trials: usize,
    /// Levels that are not measured, by factor.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub levels: BTreeMap<String, Vec<String>>,
    /// How the rungs of its ladders are chosen; none where they were fixed beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rungs: Option<Rungs>,
    /// Blocks of a study that ends as soon as a look on the way shows its question settled ([`crate::looks`]): those
    /// still to come are not yet in the plan. None where nothing is looked at on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<usize>,
    /// Trials that the time did not last for.
    #[serde(default)]
    pub stopped: usize,
}

/// Rungs of ladders that are chosen around the peak of each by what was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rungs {
    pub factor: String,
    /// Rungs of a ladder in one block.
    pub at_once: usize,
    /// Blocks of the whole study: those still to come are not yet in the plan.
    pub blocks: usize,
}

/// What a study does without: a setting of the machine, or an option of a file that the server does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name, as `[machine]` or the server has it.
    pub setting: String,
    pub level: String,
    pub reason: String,
}

/// When a race is decided: fixed before the first trial, so that a run that goes on keeps the same rule and error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Race {
    pub candidates: Vec<String>,
    /// The metric that is compared; none: the first headline metric of the first block.
    pub metric: Option<String>,
    pub minimum_effect: f64,
    /// Chance that the named candidate is not within it of the best.
    pub alpha: f64,
    /// Seconds that trials may take together; none: until it is decided.
    pub budget_s: Option<f64>,
    pub seed: u64,
    /// Runs that have added blocks: the first one, and each that went on.
    pub sessions: usize,
}

impl Race {
    /// A race of so many candidates for the first headline metric, without a limit of time.
    pub fn of(candidates: Vec<String>, question: Question, seed: u64) -> Self {
        let Question { minimum_effect, alpha } = question;
        Self { candidates, metric: None, minimum_effect, alpha, budget_s: None, seed, sessions: 1 }
    }

    /// Minimum effect and error, as the test takes them.
    pub fn question(&self) -> Question {
        Question { minimum_effect: self.minimum_effect, alpha: self.alpha }
    }
}
