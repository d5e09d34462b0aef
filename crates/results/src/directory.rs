//! Reads a results directory: `plan.json`, `environment.json`, `study.toml` and `trials.jsonl`.

use super::captures;
use super::error::ReadError;
use super::everything::{Results, Source};
use super::lines::{self, Records, parse};
use super::machines;
use super::names;
use super::schema::Plan;
use std::collections::BTreeMap;
use std::path::Path;

/// The most that is read of a plan, bytes: more than the largest one has.
pub(super) const LARGEST_PLAN: u64 = 128 << 20;
/// The most that is read of any other document that is no file of records, bytes.
const LARGEST: u64 = 64 << 20;

pub(super) fn read(path: &Path) -> Result<Results, ReadError> {
    let mut warnings = Vec::new();
    let mut plan = read_plan(path)?;
    names::of_plan(&mut plan);
    let environment_path = path.join("environment.json");
    let environment = match read_bytes(&environment_path, LARGEST)? {
        Some(bytes) => Some(parse(&bytes, &environment_path, 0)?),
        None => {
            warnings.push("environment.json is missing: the machine and its settings are unknown".to_owned());
            None
        }
    };
    let study_toml =
        read_bytes(&path.join("study.toml"), LARGEST)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let Records { trials, damaged, files } = lines::read_packed(path)?;
    if files == 0 {
        warnings.push("trials.jsonl is missing: no trial has finished".to_owned());
    }
    warnings.extend(damaged.iter().map(ToString::to_string));
    let (trials, strangers) = lines::without_strangers(trials, Some(&plan));
    warnings.extend(strangers);
    let mut captures = BTreeMap::new();
    for trial in trials.iter().filter(|trial| !trial.captures.is_empty()) {
        let (found, unread) = captures::read(path, trial);
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
        open_shards: Vec::new(),
        trials,
        captures,
        machines: machines::environments(path)?,
        damaged,
        warnings,
    })
}

/// Reads `plan.json`, without the records.
pub(super) fn read_plan(directory: &Path) -> Result<Plan, ReadError> {
    let path = directory.join("plan.json");
    match read_bytes(&path, LARGEST_PLAN)? {
        Some(plan) => parse(&plan, &path, 0),
        None => Err(ReadError::NotResults { path: directory.to_owned() }),
    }
}

/// None when there is no such file.
fn read_bytes(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
    Ok(tare_files::read_regular(path, limit)?)
}
