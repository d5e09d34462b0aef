//! `tare history`: finds where a metric changed over many results, or over their runs in one file in place of them.

use super::compare::{exit_of, nearest, percentage};
use super::results_problem::nearest_results;
use super::{Exit, Problem, output};
use crate::config;
use clap::Args;
use std::collections::{HashMap, HashSet};
use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_files::Audience;
use tare_findings::history::{self, HistoryError, KeptError, NotAdded, Options, Run};
use tare_findings::state::nothing_done;
use tare_report::export::write::Format;
use tare_report::terminal::{self, Style};
use tare_report::{html, json, words};
use tare_results::ReadError;

/// Largest list of commits that is read, bytes.
const LARGEST_LIST: u64 = 1 << 20;

/// Find the changes in many results over time, and what else changed there
///
/// Each results directory or CSV file is one run; a folder stands for all runs in it. Runs are ordered by their first
/// trials; if a run has no recorded time, all are in the order of the command line, those of a folder by name. At least
/// 6 runs are needed. A file of --keep stands for the runs in it.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// Results directories, CSV files with the columns condition,trial,sample,metric,value, folders of them, or files
    /// that --keep has written
    #[arg(required = true, value_name = "DIR|FILE")]
    results: Vec<PathBuf>,
    /// A metric to look at (may be repeated) [default: throughput and query times]
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// A condition to look at (may be repeated) [default: all]
    #[arg(long = "condition", value_name = "NAME")]
    conditions: Vec<String>,
    /// The smallest change of interest; smaller ones are not shown
    #[arg(long, value_name = "PCT", default_value = "1%", value_parser = percentage)]
    minimum_effect: f64,
    /// Gate: exit 1 if a metric is now slower by more than PCT percent than in any earlier segment, or by a drift
    #[arg(long, value_name = "PCT", value_parser = percentage)]
    fail_if_slower: Option<f64>,
    /// A file with the commit that each run measured, one line each: the run's name and the commit [default: the commit
    /// in the run's name]
    #[arg(long, value_name = "FILE")]
    commits: Option<PathBuf>,
    /// Add the runs to those of this file (.jsonl), which is made if missing, and examine all of them: it takes the
    /// place of their results in later calls
    #[arg(long, value_name = "FILE", value_parser = kept_argument)]
    keep: Option<PathBuf>,
    /// Also write the lines as a page (.html) or a picture (.svg, .png)
    #[arg(long, value_name = "FILE", value_parser = page_or_picture)]
    out: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// Prints the changes of every line; as a gate it chooses the exit code.
pub(crate) fn run(args: History) -> Result<Exit, Problem> {
    let Kept { mut runs, audience } = gathered(&args)?;
    let by_time = history::in_order(&mut runs);
    let options = Options {
        minimum_effect: args.minimum_effect,
        metrics: args.metrics,
        conditions: args.conditions,
        fail_if_slower: args.fail_if_slower,
    };
    let found = history::history(&runs, by_time, &options)?;
    if let Some(path) = &args.out {
        let picture = [Format::Svg, Format::Png].into_iter().find(|format| has_ending(path, &format.to_string()));
        super::export::to_file(path, audience, |file| match picture {
            Some(format) => super::export::write_chart(&html::history_picture(&found), format, file),
            None => file.write_all(html::history_page(&found, args.fail_if_slower).as_bytes()),
        })?;
        output::note(&format!("written: {}", path.display()));
    }
    match args.json {
        true => output::document("tare-history", &json::history(&found))?,
        false => {
            let style = Style::of_stdout(config::get().colour);
            output::as_is(&terminal::history(&found, args.fail_if_slower, style))?;
        }
    }
    Ok(exit_of(found.gate.map(|gate| gate.outcome())))
}

/// All runs, in the order of the command line after those of `--keep`, which then has them too.
fn gathered(args: &History) -> Result<Kept, Problem> {
    let paths = expanded(&args.results)?;
    let _lock = args.keep.as_deref().map(lock_kept).transpose()?;
    let mut all = args.keep.as_deref().map(read_kept).transpose()?.flatten().unwrap_or_default();
    let (before, readers, mut changed) = (all.runs.len(), all.audience, false);
    // Files of runs may have the runs of other arguments.
    let merges = args.keep.is_some() || paths.iter().any(|path| is_kept(path));
    for path in &paths {
        let read = read(path)?;
        all.audience = all.audience.max(read.audience);
        for run in read.runs {
            match merges {
                true => changed |= history::add(&mut all.runs, run).map_err(|error| not_added(&error, path))?,
                false => all.runs.push(run),
            }
        }
        few(all.runs.len())?;
    }
    if let Some(path) = &args.commits {
        changed |= name_commits(&mut all.runs, path)?;
    }
    if let Some(path) = &args.keep
        && (changed || all.audience > readers)
    {
        write_kept(path, &all)?;
        note_kept(path, before, all.runs.len());
    }
    Ok(all)
}

/// Keeps only what a history needs: there may be hundreds of runs.
fn read(path: &Path) -> Result<Kept, Problem> {
    if is_kept(path)
        && let Some(kept) = read_kept(path)?
    {
        return Ok(kept);
    }
    let results = super::results_problem::open(path)?;
    for (metric, trials) in nothing_done(&results.trials) {
        output::note(&format!("{}: {}", path.display(), words::nothing_done(&metric, trials)));
    }
    Ok(Kept { runs: vec![Run::of(name(path), &results)], audience: results.audience })
}

fn not_added(error: &NotAdded, path: &Path) -> Problem {
    Problem::new(Exit::Usage, error.to_string())
        .at(path.display().to_string())
        .expected("a name of its own for the file of each run")
        .advice("rename the file, for example by its date; or delete the line of the earlier run")
}

fn page_or_picture(text: &str) -> Result<PathBuf, String> {
    const ENDINGS: &[&str] = if cfg!(feature = "png") { &["html", "svg", "png"] } else { &["html", "svg"] };
    let path = PathBuf::from(text);
    match ENDINGS.iter().any(|ending| has_ending(&path, ending)) {
        true => Ok(path),
        false => Err(format!("expected a name that ends with .{}", ENDINGS.join(" or ."))),
    }
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.extension().is_some_and(|own| own == ending)
}

/// Whether a run has another commit now.
fn name_commits(runs: &mut [Run], path: &Path) -> Result<bool, Problem> {
    let (mut changed, mut without) = (false, 0);
    let text = tare_files::read_named_file(path, LARGEST_LIST)?;
    let mut named: HashMap<String, Vec<&mut Run>> = HashMap::new();
    for run in runs {
        named.entry(run.name.clone()).or_default().push(run);
    }
    for (number, line) in String::from_utf8_lossy(&text).lines().enumerate() {
        let line = line.trim();
        let (name, commit) = match line.rsplit_once(char::is_whitespace) {
            None if line.is_empty() => continue,
            Some((name, commit)) => (name.trim_end(), commit),
            None => {
                return Err(Problem::new(Exit::Usage, "a line does not have a run and its commit")
                    .at(format!("{}:{}", path.display(), number + 1))
                    .expected("the run's name, a space, its commit"));
            }
        };
        without += usize::from(!named.contains_key(name));
        for run in named.get_mut(name).into_iter().flatten() {
            let commit = Some(tare_text::shown_name(commit).into_owned());
            changed |= run.commit != commit;
            run.commit = commit;
        }
    }
    if without > 0 {
        let lines = tare_text::count(without, "line");
        output::note(&format!("{}: {lines} with a name that no run has", path.display()));
    }
    Ok(changed)
}

/// Resolves each argument: a run, or the runs in a directory that is not itself a run, by name. A directory of others
/// may have any number of names: it is read until there are too many runs. No signal is handled, so that Ctrl-C ends
/// the reading of runs and the search for changes as well.
fn expanded(named: &[PathBuf]) -> Result<Vec<PathBuf>, Problem> {
    let mut all = Vec::new();
    for path in named {
        if !path.is_dir() || is_results(path) {
            all.push(path.clone());
            few(all.len())?;
            continue;
        }
        let failed = |error: std::io::Error| {
            Problem::new(Exit::Usage, format!("cannot read the folder: {error}")).at(path.display().to_string())
        };
        let mut inside = Vec::new();
        for entry in std::fs::read_dir(path).map_err(failed)? {
            inside.extend(Some(entry.map_err(failed)?.path()).filter(|path| is_run(path)));
            few(all.len() + inside.len())?;
        }
        if inside.is_empty() {
            return Err(Problem::new(Exit::Usage, "this folder contains no results")
                .at(path.display().to_string())
                .expected("results directories as `tare run` writes them, or CSV files")
                .advice(nearest_results(path)));
        }
        inside.sort();
        all.extend(inside);
    }
    let mut known = HashSet::new();
    all.retain(|path| known.insert(std::fs::canonicalize(path).unwrap_or_else(|_| path.clone())));
    Ok(all)
}

fn is_results(path: &Path) -> bool {
    path.join("plan.json").exists() || path.join("shards.json").exists()
}

fn is_run(path: &Path) -> bool {
    is_results(path) || (path.is_file() && path.extension().is_some_and(|extension| extension == "csv"))
}

/// The last part of a path, which distinguishes runs in one directory.
fn name(path: &Path) -> String {
    let last = if path.is_file() { path.file_stem() } else { path.file_name() };
    tare_text::shown_name(&last.map_or_else(|| path.display().to_string(), |last| last.to_string_lossy().into_owned()))
        .into_owned()
}

impl From<HistoryError> for Problem {
    fn from(error: HistoryError) -> Self {
        let problem = Self::new(Exit::Usage, error.to_string());
        match error {
            HistoryError::Unknown { name, known, .. } => nearest(problem, &name, &known),
            HistoryError::TooMany(_) => problem
                .expected(format!("at most {} of them", history::MOST_LINES))
                .advice("name what to look at with --condition and --metric"),
            HistoryError::Nothing => problem.expected("at least one usable trial in one of the runs"),
        }
    }
}

/// The ending of the file's name.
const ENDING: &str = "jsonl";
/// The most runs of one history: the search for changes compares all of them.
const MOST_RUNS: usize = 2_000;
/// Largest file that is read or written, bytes: 2,000 runs have 30 MB.
const LARGEST: u64 = 256 << 20;

/// Runs, and who may read them.
#[derive(Default)]
struct Kept {
    pub runs: Vec<Run>,
    pub audience: Audience,
}

fn is_kept(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

fn kept_argument(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if is_kept(&path) { Ok(path) } else { Err(format!("expected a name that ends with .{ENDING}")) }
}

/// Longest wait for other calls that add runs: each reads its results, perhaps hundreds.
const LONGEST_LOCK: Duration = Duration::from_secs(60);

/// From reading the runs until they are written, no other call adds some.
fn lock_kept(path: &Path) -> Result<File, Problem> {
    let held = tare_files::lock_folder_of(path, LONGEST_LOCK).map_err(|error| not_kept(path, &error))?;
    held.ok_or_else(|| {
        Problem::new(Exit::Machine, "another process has locked the folder of the history for a minute")
            .at(path.display().to_string())
            .advice("run this again when that has ended; lslocks(8) lists it")
    })
}

/// The runs of a file; `None` if there is none.
fn read_kept(path: &Path) -> Result<Option<Kept>, Problem> {
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
fn write_kept(path: &Path, kept: &Kept) -> Result<(), Problem> {
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
        Problem::new(Exit::Usage, error.to_string()).expected("a line that tare history has written with --keep");
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
fn note_kept(path: &Path, before: usize, runs: usize) {
    let added = tare_text::count(runs - before, "run");
    output::note(&format!("{}: {added} added, {runs} in all", path.display()));
}

fn few(runs: usize) -> Result<(), Problem> {
    match runs > MOST_RUNS {
        false => Ok(()),
        true => Err(Problem::new(Exit::Usage, "these are too many runs")
            .expected(format!("at most {MOST_RUNS}"))
            .advice("name the newest ones; of a file of --keep: tail -n 1000")),
    }
}
