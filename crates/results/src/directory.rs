//! Results from any source as one type, and the files of a results directory that are read into it: `plan.json`,
//! `environment.json`, `study.toml` and `trials.jsonl`.

use super::captures::{self, Captures};
use super::error::ReadError;
use super::limits::Limited;
use super::lines::{self, DamagedLine, Records, parse};
use super::names::{self, factors_in};
use super::place::Place;
use super::schema::{Environment, Plan, TrialRecord};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use tare_files::{Audience, Folder};
use tare_topology::measure::Measured;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Source {
    #[default]
    Directory,
    Csv,
}

/// The text of a study, parsed at most once.
#[derive(Debug, Clone)]
pub struct StudyToml {
    pub text: String,
    table: OnceLock<Option<toml::Table>>,
}

impl From<String> for StudyToml {
    fn from(text: String) -> Self {
        Self { text, table: OnceLock::new() }
    }
}

impl StudyToml {
    /// None if the text is not TOML.
    pub fn table(&self) -> Option<&toml::Table> {
        self.table.get_or_init(|| self.text.parse().ok()).as_ref()
    }
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
    pub study_toml: Option<StudyToml>,
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
    /// Damaged lines of the files of records.
    pub damaged: Vec<DamagedLine>,
    /// Other problems with the files, one sentence each.
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

/// Output of `tare topo --measure --json`, stored here by the user.
const DISTANCES: &str = "distances.json";

/// What the machine's certificates say about a comparison, stored by `tare ab` and `tare bisect`.
pub const CERTIFIED: &str = "certified.json";
/// Maximum size of it, bytes.
pub const LARGEST_CERTIFIED: u64 = 1 << 20;

#[derive(serde::Deserialize)]
struct Distances {
    measured: Measured,
}

const PLAN: &str = "plan.json";
/// The file of a study, with every default written out.
pub const STUDY: &str = "study.toml";
/// Maximum size of a study, bytes: 5,000 conditions of twenty keys each fit, and a parsed list takes a hundred times
/// its size.
pub(super) const LARGEST_STUDY: u64 = 4 << 20;
/// Maximum size of a plan, bytes: larger than any valid plan.
pub(super) const LARGEST_PLAN: u64 = 128 << 20;
/// Maximum size of any other document except files of records, bytes.
const LARGEST: u64 = 64 << 20;

/// Maximum size of the environments of all machines of a study together, bytes: one has 10 to 100 KB.
pub(super) const MOST_ENVIRONMENTS: u64 = LARGEST;

fn distances(bytes: &[u8], path: &Path) -> Result<Measured, ReadError> {
    let read = serde_json::from_slice::<Distances>(bytes).map_err(|error| ReadError::Malformed {
        path: path.to_owned(),
        line: error.line().max(1),
        column: error.column(),
        what: error.to_string(),
        expected: "what tare topo --measure --json prints".to_owned(),
    })?;
    read.measured.check().map_err(|out_of_range| ReadError::OutOfRange { path: path.to_owned(), out_of_range })?;
    Ok(read.measured)
}

pub(super) fn read(folder: &Folder) -> Result<Results, ReadError> {
    let (path, mut warnings) = (folder.path(), Vec::new());
    let mut plan = read_plan(folder)?;
    names::of_plan(&mut plan);
    let environment = match folder.read(ENVIRONMENT, LARGEST)? {
        Some(bytes) => Some(named(parse(&bytes, &path.join(ENVIRONMENT), 0)?)),
        None => {
            warnings.push("environment.json is missing: the machine and its settings are unknown".to_owned());
            None
        }
    };
    let study_toml = folder.read(STUDY, LARGEST_STUDY)?;
    let study_toml = study_toml.map(|bytes| String::from_utf8_lossy(&bytes).into_owned().into());
    let distances = match folder.read(DISTANCES, LARGEST)? {
        Some(bytes) => Some(distances(&bytes, &path.join(DISTANCES))?),
        None => None,
    };
    // It only adds to what the records show: one that cannot be read is none.
    let certified = folder.read(CERTIFIED, LARGEST_CERTIFIED)?.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Records { trials, damaged, files } = lines::read_packed(folder)?;
    if files == 0 {
        warnings.push("trials.jsonl is missing: no trial has finished".to_owned());
    }
    let (trials, strangers) = lines::without_strangers(trials, Some(&plan));
    warnings.extend(strangers);
    let (mut captures, place) = (BTreeMap::new(), Place::of(Arc::new(folder.again()?)));
    for trial in trials.iter().filter(|trial| !trial.captures.is_empty()) {
        let (found, unread) = captures::read(&place, trial);
        captures.insert((trial.trial, trial.attempt), found);
        warnings.extend(unread);
    }
    Ok(Results {
        path: path.to_owned(),
        source: Source::Directory,
        study: plan.study.clone(),
        plan: Some(plan),
        environment,
        study_toml,
        distances,
        certified,
        trials,
        captures,
        machines: environments(folder)?,
        damaged,
        warnings,
        ..Results::default()
    })
}

pub(super) fn read_plan(directory: &Folder) -> Result<Plan, ReadError> {
    match directory.read(PLAN, LARGEST_PLAN)? {
        Some(plan) => parse(&plan, &directory.path().join(PLAN), 0),
        None => Err(ReadError::NotResults { path: directory.path().to_owned() }),
    }
}

/// Current time, RFC 3339 in UTC with microseconds.
pub fn now() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

pub(super) const ENVIRONMENT: &str = "environment.json";
/// The folder with the environment of each machine, by its name.
pub(super) const ENVIRONMENTS: &str = "environments";

/// The environment of each machine; empty for results of a single machine.
pub(super) fn environments(directory: &Folder) -> Result<BTreeMap<String, Environment>, ReadError> {
    let mut machines = BTreeMap::new();
    // Anything but a folder was not written by tare.
    let Ok(Some(folder)) = directory.sub(ENVIRONMENTS) else { return Ok(machines) };
    let mut left = MOST_ENVIRONMENTS;
    for name in folder.names()? {
        let host = Path::new(&name).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(environment) = environment(&folder, &name, &mut left)? {
            machines.insert(host, environment);
        }
    }
    Ok(machines)
}

/// One machine's environment, of which at most `left` bytes are read; none if the file does not exist.
pub(super) fn environment(folder: &Folder, name: &str, left: &mut u64) -> Result<Option<Environment>, ReadError> {
    let bytes = folder.read(name, *left)?;
    *left -= bytes.as_ref().map_or(0, Vec::len) as u64;
    bytes.map(|bytes| parse(&bytes, &folder.path().join(name), 0).map(named)).transpose()
}

fn named(mut environment: Environment) -> Environment {
    names::of_environment(&mut environment);
    environment
}
