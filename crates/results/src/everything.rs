//! Results from any source, as one type.

use super::captures::Captures;
use super::lines::DamagedLine;
use super::names::factors_in;
use super::schema::{Environment, Plan, TrialRecord};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tare_files::Audience;
use tare_topology::measure::Measured;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Source {
    #[default]
    Directory,
    Csv,
}

/// All data of a finished or interrupted run.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The directory or file that was read, as the caller named it.
    pub path: PathBuf,
    /// Who may read it; derived output must not be readable by anyone else.
    pub audience: Audience,
    /// Whether a run's directory or a CSV file was read.
    pub source: Source,
    /// Name of the study; for a CSV, of the file.
    pub study: String,
    /// The plan of the run; a CSV has none.
    pub plan: Option<Plan>,
    /// The original state of the machine; a CSV has none.
    pub environment: Option<Environment>,
    /// The resolved study as written; a CSV has none.
    pub study_toml: Option<String>,
    /// Every record of the plan's trials, in the order written, whatever its outcome, without duplicates.
    pub trials: Vec<TrialRecord>,
    /// Captures by trial and attempt; a CSV has none.
    pub captures: BTreeMap<(usize, u32), Captures>,
    /// The environment of each machine by its name, if the study ran on several; else empty.
    pub machines: BTreeMap<String, Environment>,
    /// Measured latencies between the machine's nodes, if the output of `tare topo --measure --json` was stored as
    /// `distances.json`.
    pub distances: Option<Measured>,
    /// The content of `certified.json`: what the machine's certificates said about a comparison, in the format of
    /// tare-findings.
    pub certified: Option<serde_json::Value>,
    /// Numbers of the unfinished shards of a study cut into shards; else empty.
    pub open_shards: Vec<usize>,
    /// Damaged lines of the files of records; also reported in [`Results::warnings`].
    pub damaged: Vec<DamagedLine>,
    /// Problems with the files, one sentence each.
    pub warnings: Vec<String>,
}

impl Results {
    /// The factors of all conditions, in the order of the study.
    pub fn factors(&self) -> Vec<String> {
        match &self.plan {
            Some(plan) if !plan.factors.is_empty() => plan.factors.clone(),
            _ => factors_in(self.trials.iter().map(|trial| (trial.condition.as_str(), &trial.levels))),
        }
    }
}
