//! Results from wherever they are, as one type.

use super::captures::Captures;
use super::lines::DamagedLine;
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

/// Everything that a finished or interrupted run left behind.
#[derive(Debug, Clone, Default)]
pub struct Results {
    /// The directory or file they came from, as the caller named it.
    pub path: PathBuf,
    /// Who gets at it; what is made of it is for no one else.
    pub audience: Audience,
    /// Whether a run's directory or a CSV file was read.
    pub source: Source,
    /// Name of the study; of the file, for a CSV.
    pub study: String,
    /// What was to be run; a CSV has none.
    pub plan: Option<Plan>,
    /// The machine as found; a CSV has none.
    pub environment: Option<Environment>,
    /// The resolved study as written; a CSV has none.
    pub study_toml: Option<String>,
    /// Every record of the plan's trials, in the order written, whatever its outcome; none twice.
    pub trials: Vec<TrialRecord>,
    /// What was captured alongside the metrics, by trial and attempt; a CSV has none.
    pub captures: BTreeMap<(usize, u32), Captures>,
    /// The environment of each machine by its name, where the study ran on several; else empty.
    pub machines: BTreeMap<String, Environment>,
    /// What the machine's own distances take, where `tare topo --measure --json` was kept as `distances.json`.
    pub distances: Option<Measured>,
    /// Numbers of the shards with trials to go, where a study cut into shards was read; else empty.
    pub open_shards: Vec<usize>,
    /// Lines of the files of records that are no records; [`Results::warnings`] says so too.
    pub damaged: Vec<DamagedLine>,
    /// What was not quite right with the files, one sentence each.
    pub warnings: Vec<String>,
}
