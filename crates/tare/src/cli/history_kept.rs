//! The runs of a history in one file, in place of their results.

use super::{Exit, Problem, output};
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_files::Audience;
use tare_findings::history::{KeptError, Run};
use tare_results::ReadError;

/// The ending of the file's name.
const ENDING: &str = "jsonl";
/// The most runs of one history: the search for changes compares all of them.
const MOST_RUNS: usize = 2_000;
/// Largest file that is read or written, bytes: 2,000 runs have 30 MB.
const LARGEST: u64 = 256 << 20;

/// Runs, and who may read them.
#[derive(Default)]
pub(crate) struct Kept {
    pub runs: Vec<Run>,
    pub audience: Audience,
}

pub(crate) fn is_kept(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

pub(crate) fn argument(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if is_kept(&path) { Ok(path) } else { Err(format!("expected a name that ends with .{ENDING}")) }
}

/// Longest wait for other calls that add runs: each reads its results, perhaps hundreds.
const LONGEST_LOCK: Duration = Duration::from_secs(60);

/// From reading the runs until they are written, no other call adds some.
pub(crate) fn lock(path: &Path) -> Result<File, Problem> {
    let held = tare_files::lock_folder_of(path, LONGEST_LOCK).map_err(|error| not_kept(path, &error))?;
    held.ok_or_else(|| {
        Problem::new(Exit::Machine, "another process has locked the folder of the history for a minute")
            .at(path.display().to_string())
            .advice("run this again when that has ended; lslocks(8) lists it")
    })
}

/// The runs of a file; `None` if there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Kept>, Problem> {
    let refused = |error| Problem::from(ReadError::from(error));
    let Some(file) = tare_files::open_named(path).map_err(refused)? else { return Ok(None) };
    let audience = Audience::of(&file, path).map_err(refused)?;
    let text = tare_files::read_all(file, path, LARGEST).map_err(refused)?;
    let mut runs = Vec::new();
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        few(runs.len() + 1)?;
        let at = || format!("{}:{}", path.display(), number + 1);
        runs.push(Run::from_line(line).map_err(|error| malformed(&error).at(at()))?);
    }
    Ok(Some(Kept { runs, audience }))
}

/// Writes the file completely or not at all, readable by no one who may not read its sources.
pub(crate) fn write(path: &Path, kept: &Kept) -> Result<(), Problem> {
    let mut text = String::new();
    for run in &kept.runs {
        text.push_str(&run.to_line().map_err(|error| not_kept(path, &error))?);
        text.push('\n');
    }
    if text.len() as u64 > LARGEST {
        return Err(Problem::new(Exit::Usage, format!("the runs of this history have {} bytes", text.len()))
            .at(path.display().to_string())
            .expected(format!("at most {LARGEST}"))
            .advice("delete the lines of the oldest runs"));
    }
    let written = tare_files::write_named(kept.audience, path, |file| file.write_all(text.as_bytes()));
    written.map_err(|error| not_kept(path, &error))
}

fn not_kept(path: &Path, error: &dyn Display) -> Problem {
    Problem::new(Exit::Machine, format!("cannot keep the history: {error}"))
        .at(path.display().to_string())
        .advice("name a file in a directory that exists and has room")
}

fn malformed(error: &KeptError) -> Problem {
    let problem =
        Problem::new(Exit::Usage, error.to_string()).expected("a line that `tare history --keep FILE` has written");
    match error {
        KeptError::OtherVersion(_) => problem.advice("read it with the version of tare that wrote it"),
        // Written by a later version that has other kinds of facts.
        KeptError::Malformed(error) if error.is_data() => {
            problem.advice("read it with the version of tare that wrote it, or restore a copy of the file")
        }
        _ => problem.advice("delete the line; --keep adds its run again from its results"),
    }
}

/// Says what was added, on standard error.
pub(crate) fn note(path: &Path, before: usize, runs: usize) {
    let added = tare_text::count(runs - before, "run");
    output::note(&format!("{}: {added} added, {runs} in all", path.display()));
}

pub(crate) fn few(runs: usize) -> Result<(), Problem> {
    match runs > MOST_RUNS {
        false => Ok(()),
        true => Err(Problem::new(Exit::Usage, "these are too many runs")
            .expected(format!("at most {MOST_RUNS}"))
            .advice("name the newest ones; of a file of --keep: tail -n 1000")),
    }
}
