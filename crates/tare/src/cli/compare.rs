//! `tare compare`: whether B is faster than A, and whether the difference is statistically significant; in GitHub
//! Actions also as annotations and the step's summary, for other CI systems as a file of Markdown.

use super::{Exit, Problem, output, results_problem};
use crate::config;
use clap::Args;
use rustix::fs::OFlags;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tare_files::Audience;
use tare_findings::compare::{self, CompareError, Comparison, Gate, Losses, ManyComparison, Note, Options, Side};
use tare_report::export::documents::{Judged, annotations, markdown};
use tare_report::export::sides;
use tare_report::terminal::{self, Style};
use tare_report::{html, json, words};
use tare_results::Results;
use tare_text::as_text_cell;

/// Compare two or more results, or conditions of results: ratio, interval, verdict
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// A, the baseline: a results directory, a CSV file, or either with `:condition`; several sessions of one side are
    /// separated by commas, and each is one observation
    a: String,
    /// B, the candidate, written the same way; ratios are B/A
    b: String,
    /// Further candidates, each compared with A
    others: Vec<String>,
    /// Gate: exit 1 when B is slower by more than PCT percent, 5 when the trials cannot decide
    #[arg(long, value_name = "PCT", value_parser = percentage)]
    fail_if_slower: Option<f64>,
    /// The smallest change of interest; smaller ones count as equivalent
    #[arg(long, alias = "min-effect", value_name = "PCT", default_value = "1%", value_parser = percentage)]
    minimum_effect: f64,
    /// A metric that the gate judges (may be repeated) [default: throughput and query times]
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// Write a heat map of all relative changes as one HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Append a Markdown summary to a file; in GitHub Actions it is also added to the step's summary
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write every change with its intervals as rows of a CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// Compares the sides and prints ratios, intervals and verdicts; as a gate it chooses the exit code.
pub(crate) fn run(args: Compare) -> Result<Exit, Problem> {
    let options =
        Options { min_effect: args.minimum_effect, fail_if_slower: args.fail_if_slower, judged: args.metrics };
    let names: Vec<String> = [args.a, args.b].into_iter().chain(args.others).collect();
    let sessions: Vec<Vec<String>> = names.iter().map(|name| sessions_of(name)).collect();
    let style = Style::of_stdout(config::get().colour);
    let report =
        |judged: Vec<Judged<'_>>, losses: &[Losses], gate: Option<Gate>, notes: &[Note], audience: Audience| {
            let summary =
                GithubSummary { base: &names[0], judged, losses, gate, notes: &words::notes(notes), audience };
            report_to_github(&summary, args.markdown.as_deref()).map(|()| exit_of(gate))
        };
    let of_two = |found: &Comparison, audience: Audience| {
        match args.json {
            true => output::document("tare-compare", &json::comparison(found))?,
            false => output::as_is(&terminal::comparison(found, &options, style))?,
        }
        let judged = found.metrics.iter().filter(|m| m.judged).map(|m| (names[1].as_str(), m)).collect();
        report(judged, &found.losses, found.gate, &found.notes, audience)
    };
    if sessions.iter().any(|side| side.len() > 1) {
        let (found, audience) = of_sessions(&sessions, &options, args.html.as_ref().or(args.csv.as_ref()))?;
        return of_two(&found, audience);
    }
    let opened = Opened::of(&names)?;
    if let Some(path) = &args.html {
        let all = compare::compare_many(&opened.by_condition(), &options)?;
        written(&opened, path, html::changes(&all, options.min_effect).as_bytes())?;
    }
    if let Some(path) = &args.csv {
        written(&opened, path, &csv_of(&compare::compare_many(&opened.sides(), &options)?)?)?;
    }
    let sides = if args.json { opened.sides() } else { opened.by_condition() };
    match sides.as_slice() {
        [(_, a), (_, b)] => of_two(&compare::compare(*a, *b, &options)?, opened.audience()),
        _ => {
            let found = compare::compare_many(&sides, &options)?;
            match args.json {
                true => output::document("tare-compare-many", &json::comparisons(&found))?,
                false => output::as_is(&terminal::many(&found, &options, style))?,
            }
            let judged = found.metrics.iter().filter(|row| row.metric.judged);
            let judged = judged.map(|row| (row.against.as_str(), &row.metric)).collect();
            report(judged, &found.losses, found.gate, &found.notes, opened.audience())
        }
    }
}

pub(super) fn exit_of(gate: Option<Gate>) -> Exit {
    match gate {
        None | Some(Gate::Passed) => Exit::Done,
        Some(Gate::Failed) => Exit::GateFailed,
        Some(Gate::Inconclusive) => Exit::Inconclusive,
    }
}

/// The sessions of a side: existing results joined by commas. A path or condition with commas in its name is one side.
fn sessions_of(name: &str) -> Vec<String> {
    let parts: Vec<String> = name.split(',').map(str::to_owned).collect();
    let are_there = parts.len() > 1 && parts.iter().all(|part| side(part).0.exists());
    if are_there && !Path::new(name).exists() { parts } else { vec![name.to_owned()] }
}

/// Compares two sides of several sessions; there is no file of all changes for them.
fn of_sessions(
    sessions: &[Vec<String>],
    options: &Options,
    file: Option<&PathBuf>,
) -> Result<(Comparison, Audience), Problem> {
    let [a, b] = sessions else {
        return Err(Problem::new(Exit::Usage, format!("{} sides, one with several sessions", sessions.len()))
            .expected("two sides: sessions are combined only for A and B"));
    };
    if let Some(file) = file {
        return Err(Problem::new(Exit::Usage, "--html or --csv with several sessions")
            .at(file.display().to_string())
            .expected("one session per side; --json has every figure of several"));
    }
    let opened = Opened::of(&[a.as_slice(), b.as_slice()].concat())?;
    let all: Vec<Side<'_>> = opened.sides().into_iter().map(|(_, side)| side).collect();
    let (of_a, of_b) = all.split_at(a.len());
    Ok((compare::compare_sessions(of_a, of_b, options)?, opened.audience()))
}

fn written(opened: &Opened, path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    tare_files::write_named(opened.audience(), path, |file| file.write_all(bytes)).map_err(|error| {
        Problem::new(Exit::Machine, error.to_string()).expected("a directory that exists, with room in it")
    })
}

fn csv_of(found: &ManyComparison) -> Result<Vec<u8>, Problem> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut lines = sides::rows(found).into_iter();
    let written = lines
        .try_for_each(|line| writer.write_record(line.map(|text| as_text_cell(&text).into_owned())))
        .and_then(|()| Ok(writer.flush()?));
    let failed = |error: String| Problem::new(Exit::Machine, format!("the rows cannot be written: {error}"));
    written.map_err(|error| failed(error.to_string()))?;
    writer.into_inner().map_err(|error| failed(error.to_string()))
}

/// The named sides, each set of results read once: so conditions of one run are known to have run together.
pub(super) struct Opened {
    results: Vec<(PathBuf, Results)>,
    named: Vec<(String, usize, Option<String>)>,
}

impl Opened {
    pub(crate) fn of(names: &[String]) -> Result<Self, Problem> {
        let mut opened = Self { results: Vec::new(), named: Vec::new() };
        for name in names {
            let (path, condition) = side(name);
            // A directory named by two different paths is still one run.
            let whole = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            let place = match opened.results.iter().position(|(known, _)| *known == whole) {
                Some(place) => place,
                None => {
                    let results = results_problem::open(&path)?;
                    opened.results.push((whole, results));
                    opened.results.len() - 1
                }
            };
            opened.named.push((name.clone(), place, condition));
        }
        Ok(opened)
    }

    /// Who may read all of these results.
    fn audience(&self) -> Audience {
        Audience::of_all(self.results.iter().map(|(_, results)| results.audience))
    }

    /// What is missing or cannot be read in these results, apart from damaged lines, which were printed when they were
    /// read.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &String> {
        self.results.iter().flat_map(|(_, results)| &results.warnings)
    }

    /// The sides in the order of the command line.
    pub(crate) fn sides(&self) -> Vec<(String, Side<'_>)> {
        let named = self.named.iter();
        named
            .map(|(name, place, condition)| {
                let results = &self.results[*place].1;
                (name.clone(), Side { results, condition: condition.as_deref() })
            })
            .collect()
    }

    /// The same, for people: sides that are different conditions of one run have the names of these conditions.
    fn by_condition(&self) -> Vec<(String, Side<'_>)> {
        let mut sides = self.sides();
        let own: BTreeSet<&String> = self.named.iter().filter_map(|(_, _, condition)| condition.as_ref()).collect();
        if self.results.len() == 1 && own.len() == self.named.len() {
            sides.iter_mut().for_each(|(name, side)| *name = side.condition.unwrap_or(name).to_owned());
        }
        sides
    }
}

/// `RESULTS` or `RESULTS:condition`. A path that exists as a whole is a path, even with colons.
fn side(text: &str) -> (PathBuf, Option<String>) {
    if !Path::new(text).exists() {
        let split = text.match_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
        for (path, condition) in split {
            if !path.is_empty() && Path::new(path).exists() {
                return (PathBuf::from(path), Some(condition.to_owned()));
            }
        }
    }
    (PathBuf::from(text), None)
}

/// Parses the change of a gate as a fraction.
pub(super) fn percentage(text: &str) -> Result<f64, String> {
    let expected = || "expected a percentage from 0 to 1000".to_owned();
    tare_text::percentage(text).and_then(|share| Some(share).filter(|share| *share <= 10.0).ok_or_else(expected))
}

fn conditions(names: &[String]) -> String {
    if names.is_empty() { "no condition with a usable trial".to_owned() } else { names.join(", ") }
}

impl From<CompareError> for Problem {
    fn from(error: CompareError) -> Self {
        let problem = Self::new(Exit::Usage, error.to_string());
        match error {
            CompareError::NoCondition { name, known } => nearest(problem, &name, &known),
            CompareError::NoSuchMetric { name, known } => nearest(problem, &name, &known),
            CompareError::NothingShared { a, b } => problem
                .at(format!("A has {}; B has {}", conditions(&a), conditions(&b)))
                .expected("conditions of the same name, or one condition per side")
                .advice("name one condition per side, as A:CONDITION B:CONDITION"),
            CompareError::SameTrials { .. } => {
                problem.expected("two sets of results, or two conditions of one").advice(
                    "name two conditions, as DIR:CONDITION DIR:OTHER; to see the effect of chance alone, run the study \
                     twice and compare the two",
                )
            }
            CompareError::NoMetric => problem.expected("at least one usable trial of the same metric on each side"),
        }
    }
}

pub(super) fn nearest(problem: Problem, name: &str, known: &[String]) -> Problem {
    if known.is_empty() {
        return problem.expected("results with a trial");
    }
    let near = tare_text::nearest(name, known.iter().map(String::as_str));
    let near = near.map(|near| format!("did you mean `{near}`?"));
    problem.expected(format!("one of: {}", known.join(", "))).advised(near)
}

struct GithubSummary<'a> {
    pub base: &'a str,
    pub judged: Vec<Judged<'a>>,
    pub losses: &'a [Losses],
    /// The verdict of the gate, if there is one.
    pub gate: Option<Gate>,
    pub notes: &'a [String],
    /// Who may read the results that were compared.
    pub audience: Audience,
}

/// Appends the Markdown to `file` and, in a step of GitHub Actions, to the step's summary; annotates what is slower.
///
/// # Errors
/// [`Problem`] when the file cannot be written. A summary that cannot be written only prints a note.
fn report_to_github(summary: &GithubSummary<'_>, file: Option<&Path>) -> Result<(), Problem> {
    let in_step = std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true");
    let text = markdown(summary.base, &summary.judged, summary.losses, summary.gate, summary.notes);
    if let Some(path) = file {
        tare_files::append_named(summary.audience, path, text.as_bytes()).map_err(|error| {
            Problem::new(Exit::Machine, error.to_string())
                .expected("a file that can be written, in a directory that exists")
        })?;
    }
    if in_step {
        annotations(&summary.judged, summary.losses, summary.gate).iter().for_each(|line| output::command(line));
        if let Some(path) = std::env::var_os("GITHUB_STEP_SUMMARY").map(PathBuf::from)
            && let Err(error) = append(&path, &text)
        {
            output::note(&format!("note: the step's summary cannot be written: {error}"));
        }
    }
    Ok(())
}

/// The user who runs the step chooses the file, so it is opened without further checks; a pipe without a reader is not
/// waited for.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    OpenOptions::new().create(true).append(true).custom_flags(at_once).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn existing_results_joined_by_commas_are_sessions_of_one_side() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        for name in ["a.csv", "b.csv", "a,b"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let both = format!("{},{}", path("a.csv"), path("b.csv"));
        assert_eq!(sessions_of(&both), [path("a.csv"), path("b.csv")]);
        let of_conditions = format!("{}:x=1,{}:x=1", path("a.csv"), path("b.csv"));
        assert_eq!(sessions_of(&of_conditions).len(), 2);
        // A path with a comma, a condition with one, and results that do not exist are one side.
        for one in [path("a,b"), format!("{}:x=1,y=2", path("a.csv")), format!("{},{}", path("a.csv"), path("c.csv"))] {
            assert_eq!(sessions_of(&one), std::slice::from_ref(&one));
        }
    }

    #[test]
    fn the_change_of_a_gate_is_a_percentage_up_to_1000() {
        assert_eq!((percentage("408"), percentage("1000%")), (Ok(4.08), Ok(10.0)));
        for bad in ["x", "5%%", "5000"] {
            assert!(percentage(bad).is_err(), "{bad}");
        }
    }
}
