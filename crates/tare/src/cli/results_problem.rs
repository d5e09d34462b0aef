//! Errors of reading results and writing reports, as the user sees them.

use super::{Exit, Problem, output, trust};
use crate::state;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;
use tare_cpuset::to_raise;
use tare_files::Folder;
use tare_report::WriteError;
use tare_results::{ReadError, Results};

/// Reads results and prints their damaged lines on standard error; all other lines are used.
pub(crate) fn open(path: &Path) -> Result<Results, Problem> {
    with_damage_reported(tare_results::open(path)?)
}

/// As [`open`], for the results directory of an open handle.
pub(crate) fn open_folder(folder: &Folder) -> Result<Results, Problem> {
    with_damage_reported(tare_results::open_folder(folder)?)
}

fn with_damage_reported(results: Results) -> Result<Results, Problem> {
    for line in &results.damaged {
        output::note(&format!("note: {line}"));
    }
    Ok(results)
}

/// Advice for a path without results: similar results, the latest ones, or how to make some.
pub(crate) fn nearest_results(wrong: &Path) -> String {
    let known: Vec<String> = state::results().into_iter().map(|path| path.display().to_string()).collect();
    let all = if known.len() > 1 { "; see all of them with: tare clean --dry-run" } else { "" };
    let wrong = wrong.display().to_string();
    match (tare_text::nearest(&wrong, known.iter().map(String::as_str)), known.last()) {
        (Some(near), _) => format!("did you mean {near}?{all}"),
        (None, Some(last)) => format!("the latest results are {last}{all}"),
        (None, None) => "make some with: tare run".to_owned(),
    }
}

/// The results directories below the folder of a bisection: those of the steps it found, or all of them.
fn of_bisection(path: &Path) -> Option<Vec<String>> {
    let pairs = std::fs::read_dir(path.join("pairs")).ok().filter(|_| path.join("bisect.json").exists())?;
    let mut all: Vec<String> = pairs.flatten().map(|entry| entry.path().display().to_string()).collect();
    all.sort();
    let steps: Vec<String> = all.iter().filter(|name| name.ends_with("-step")).cloned().collect();
    Some(if steps.is_empty() { all } else { steps })
}

/// Advice for a folder that holds results: names the last one.
fn one_inside(path: &Path) -> Option<String> {
    let entries = std::fs::read_dir(path).ok()?.flatten().map(|entry| entry.path());
    let last = entries.filter(|entry| entry.join("plan.json").exists()).max()?;
    Some(format!("name one of the results in it, such as {}", output::quoted_path(&last)))
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        let problem = Self::new(Exit::Usage, error.to_string());
        match error {
            ReadError::Io { path, source } => {
                let problem =
                    Self::new(Exit::Usage, format!("cannot read the results: {source}")).at(path.display().to_string());
                match source.kind() {
                    ErrorKind::NotFound => Self::new(Exit::Usage, "these results do not exist")
                        .at(path.display().to_string())
                        .expected(
                            "a results directory, or a CSV file with the columns condition,trial,sample,metric,value",
                        )
                        .advice(nearest_results(&path)),
                    ErrorKind::PermissionDenied => problem.advice("ask its owner for read permission"),
                    _ => problem.raised(to_raise(&source)),
                }
            }
            ReadError::File(e) if e.is_of_others() => trust::refused(&e),
            ReadError::File(_) => problem.expected("a regular file there, as `tare run` writes it"),
            ReadError::NotResults { path } => {
                let pairs = of_bisection(&path).map(|pairs| {
                    format!("this is the folder of a bisection, whose pairs are results: {}", pairs.join(", "))
                });
                Self::new(Exit::Usage, "this is not a results directory")
                    .at(path.display().to_string())
                    .expected("a directory with plan.json and trials.jsonl, as `tare run` writes it")
                    .advice(pairs.or_else(|| one_inside(&path)).unwrap_or_else(|| nearest_results(&path)))
            }
            ReadError::NoPlan { .. } => problem
                .expected("a plan.json next to them, which is written before the first record")
                .advice("restore it from a copy, or move this folder out of the study to continue without its trials"),
            ReadError::OtherStudy { .. } => problem
                .expected("parts of one study, cut by `tare shard` or run with the same study file and seed")
                .advice("compare results of different studies with tare compare"),
            ReadError::NewerSchema { path, found, known } => Self::new(
                Exit::Usage,
                format!("these results have schema {found}, which this version of tare cannot read"),
            )
            .at(path.display().to_string())
            .expected(format!("schema {known} or older"))
            .advice("read them with the version of tare that wrote them, or a newer one"),
            ReadError::TooManyConditions { path, found } => {
                Self::new(Exit::Usage, format!("these results hold {found} conditions"))
                    .at(path.display().to_string())
                    .expected(format!(
                        "at most {} conditions, because they are analysed together",
                        tare_results::MOST_CONDITIONS
                    ))
                    .advice("split the file by a factor, and analyse each part")
            }
            ReadError::TooMany { path, what, limit } => {
                Self::new(Exit::Usage, format!("these results hold more than {limit} {what}"))
                    .at(path.display().to_string())
                    .expected(format!("at most {limit} {what}, because they are held in memory together"))
                    .advice("split the file, and analyse each part")
            }
            ReadError::OutOfRange { path, out_of_range } => Self::new(Exit::Usage, out_of_range.to_string())
                .at(path.display().to_string())
                .expected("a JSON document written by tare"),
            ReadError::Malformed { path, line, column, expected, .. } => {
                let advice = match path.extension().and_then(OsStr::to_str) {
                    Some("toml") => format!("run a study with: tare run {}", output::quoted_path(&path)),
                    Some("csv") => "correct that line; tare export --table values writes such a file".to_owned(),
                    _ => "restore the file from a copy; without one, run the study again".to_owned(),
                };
                let place = format!("{}, line {line}, column {column}", path.display());
                problem.at(place).expected(expected).advice(advice)
            }
        }
    }
}

impl From<WriteError> for Problem {
    fn from(WriteError(error): WriteError) -> Self {
        let problem = Self::new(Exit::Machine, format!("cannot write the report: {error}"))
            .at(error.path().display().to_string())
            .raised(to_raise(&error));
        match error.source_kind() {
            Some(ErrorKind::NotFound) => problem.expected("a directory that exists"),
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => {
                problem.advice("free some space and run `tare report` again; the results are unchanged")
            }
            Some(ErrorKind::PermissionDenied) => problem.advice("write it elsewhere with --out"),
            _ => problem,
        }
    }
}
