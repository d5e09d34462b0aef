//! Reads a results directory: `plan.json`, `environment.json`, `study.toml` and `trials.jsonl`.

use super::captures;
use super::reader::{ReadError, Results, Source};
use super::schema::{Plan, SCHEMA, TrialRecord};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// The part of every document that is read first: a newer one may not parse as today's type.
#[derive(Deserialize)]
struct Versioned {
    schema: u32,
}

pub(super) fn read(path: &Path) -> Result<Results, ReadError> {
    let mut warnings = Vec::new();
    let plan = read_plan(path)?;
    let environment_path = path.join("environment.json");
    let environment = match read_bytes(&environment_path)? {
        Some(bytes) => Some(parse(&bytes, &environment_path, 0)?),
        None => {
            warnings.push("environment.json is missing: the machine and its settings are unknown".to_owned());
            None
        }
    };
    let study_toml = read_bytes(&path.join("study.toml"))?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let trials = read_trials(path, &mut warnings)?;
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
        trials,
        captures,
        warnings,
    })
}

/// `plan.json` alone.
pub(super) fn read_plan(directory: &Path) -> Result<Plan, ReadError> {
    let path = directory.join("plan.json");
    match read_bytes(&path)? {
        Some(plan) => parse(&plan, &path, 0),
        None => Err(ReadError::NotResults { path: directory.to_owned() }),
    }
}

/// `trials.jsonl` alone, without the files of captures that it names.
pub(super) fn read_trials(directory: &Path, warnings: &mut Vec<String>) -> Result<Vec<TrialRecord>, ReadError> {
    let path = directory.join("trials.jsonl");
    if let Some(bytes) = read_bytes(&path)? {
        return parse_trials(&bytes, &path, warnings);
    }
    warnings.push("trials.jsonl is missing: no trial has finished".to_owned());
    Ok(Vec::new())
}

/// None when there is no such file.
fn read_bytes(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(source) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ReadError::Io { path: path.to_owned(), source }),
    }
}

/// Parses one document that begins `lines_before` lines into its file.
fn parse<T: DeserializeOwned>(bytes: &[u8], path: &Path, lines_before: usize) -> Result<T, ReadError> {
    let malformed = |error: serde_json::Error| ReadError::Malformed {
        path: path.to_owned(),
        line: lines_before + error.line().max(1),
        column: error.column(),
        what: error.to_string(),
        expected: format!("a record of schema {SCHEMA} as tare writes it"),
    };
    let versioned: Versioned = serde_json::from_slice(bytes).map_err(malformed)?;
    if versioned.schema > SCHEMA {
        return Err(ReadError::NewerSchema { path: path.to_owned(), found: versioned.schema, known: SCHEMA });
    }
    serde_json::from_slice(bytes).map_err(malformed)
}

fn parse_trials(bytes: &[u8], path: &Path, warnings: &mut Vec<String>) -> Result<Vec<TrialRecord>, ReadError> {
    let mut trials = Vec::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        // Records are written whole with their newline and synced: a line without one was cut by a crash.
        let whole = line.ends_with(b"\n");
        match parse(line, path, index) {
            Ok(trial) => trials.push(trial),
            Err(ReadError::Malformed { .. }) if !whole => warnings.push(format!(
                "the last line of trials.jsonl (line {}) was cut short, as by a crash; that trial is left out",
                index + 1
            )),
            Err(error) => return Err(error),
        }
    }
    Ok(trials)
}
