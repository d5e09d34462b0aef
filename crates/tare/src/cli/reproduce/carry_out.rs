//! Runs the experiments one after the other and prints the verdict on each claim.

use super::predict::{On, PLANNED, plan, testable};
use super::view;
use crate::cli::beforehand::Outlook;
use crate::cli::execution::{RunOptions, begun_at, begun_in, execute, host, read_begun, room_for_data};
use crate::cli::interrupt::unless_interrupted;
use crate::cli::output::{duration, note, quoted_path};
use crate::cli::run_listener::TerminalListener;
use crate::cli::time_left::Left;
use crate::cli::{Exit, Problem, plan_view, results_problem, trust};
use std::path::Path;
use std::time::{Duration, Instant};
use tare_files::Folder;
use tare_findings::reproduce::{Claimed, Open, Reproduced, Why, of_results};
use tare_report::html::claims;
use tare_report::write_report_in;
use tare_results::claim::{Claim, Predicted, Predictions};
use tare_results::schema::{Needs, Plan};
use tare_results::store::{Directory, read_trials};
use tare_study::language::spec::Study;
use tare_study::plan::estimate;
use tare_study::plan::resolve::Where;
use tare_topology::Machine;

/// The page of all claims, next to the directories of their experiments.
const PICTURE: &str = "claims.html";

/// Runs the remaining experiments below `out` and prints the verdict on each claim. `planning` is the part of the given
/// time that is spent already.
///
/// # Errors
/// When nothing could be started. After an experiment that fails the others go on; if all that were started failed, the
/// exit code is that of the first.
pub(crate) fn run(
    predictions: &Predictions,
    out: &Path,
    options: &RunOptions,
    planning: Duration,
) -> Result<Exit, Problem> {
    let (trusted, json) = (options.trusted, options.json);
    let runs = predictions.experiments.iter().filter(|own| own.blocks > 0).count();
    let machine = Machine::this()?;
    let on = On { machine: &machine, place: Where::Here, servers: &predictions.servers };
    let _host = match runs {
        0 => None,
        _ => match unless_interrupted(host(options.wait))? {
            Some(host) => Some(host),
            None => return Ok(Exit::Interrupted),
        },
    };
    if !json {
        view::heading()?;
    }
    let until = ends(predictions.within_s, planning);
    let mut end = End::default();
    let mut all = Vec::new();
    for predicted in &predictions.experiments {
        let path = out.join(&predicted.experiment.name);
        let left_s = || match path.join("plan.json").exists() {
            true => left_of(predicted, &path, on, trusted).map_or(predicted.expected_s, |(_, left)| left.likely_s),
            false => predicted.expected_s,
        };
        let is_to_run = predicted.blocks > 0 && !end.interrupted && left_s() > 0.0;
        if is_to_run && !is_in_time(predicted.least_s.min(left_s()), until) {
            end.late += 1;
        } else if is_to_run {
            end.started += 1;
            announce(predicted, end.started, runs);
            let options = RunOptions { until, ..RunOptions::of(false, trusted) };
            end.interrupted = match experiment(predicted, &path, on, &options) {
                Ok(finished) => {
                    end.late += usize::from(finished && left_s() > 0.0);
                    !finished
                }
                Err(problem) => {
                    note(&problem.to_string());
                    end.failed.push(problem.exit);
                    tare_engine::interrupted()
                }
            };
        }
        let claimed = verdicts(predicted, out)?;
        if !json {
            view::verdicts(&claimed)?;
        }
        all.extend(claimed);
    }
    report(predictions, &all, out, options, &end)
}

/// When the given time is over; none without a limit.
fn ends(within_s: Option<f64>, planning: Duration) -> Option<Instant> {
    let left = Duration::try_from_secs_f64(within_s?).ok()?.saturating_sub(planning);
    Instant::now().checked_add(left)
}

fn announce(predicted: &Predicted, number: usize, of: usize) {
    note(&format!(
        "{} ({number} of {of}): {}, {}, about {}",
        predicted.experiment.name,
        tare_text::count(predicted.experiment.claims.len() - predicted.cannot.len(), "claim"),
        tare_text::count(predicted.blocks, "block"),
        duration(predicted.expected_s)
    ));
}

/// Whether an experiment that takes at least so long can end by then, apart from the error of the estimate.
fn is_in_time(least_s: f64, until: Option<Instant>) -> bool {
    let left = |until: Instant| until.saturating_duration_since(Instant::now()).as_secs_f64();
    until.is_none_or(|until| PLANNED * least_s <= left(until))
}

/// How the experiments ended.
#[derive(Default)]
struct End {
    started: usize,
    /// The exit codes of those that failed.
    failed: Vec<Exit>,
    /// How many did not start, or not end, within the time.
    late: usize,
    interrupted: bool,
}

fn report(
    predictions: &Predictions,
    all: &[Claimed],
    out: &Path,
    options: &RunOptions,
    end: &End,
) -> Result<Exit, Problem> {
    if options.json {
        view::document(predictions, all)?;
    } else {
        view::summed(all)?;
    }
    if predictions.experiments.iter().any(|own| own.blocks > 0) {
        picture(predictions, all, out, options.trusted)?;
        note(&format!("results: {}, all claims in {}", out.display(), out.join(PICTURE).display()));
    }
    if end.late > 0 {
        let late = tare_text::count(end.late, "experiment");
        let word = quoted_path(out);
        note(&format!("{late} did not end within the time; resume with: tare reproduce --resume {word}"));
    }
    if end.interrupted {
        note(&format!("interrupted; resume with: tare reproduce --resume {}", quoted_path(out)));
        return Ok(Exit::Interrupted);
    }
    if let Some(exit) = end.failed.first().filter(|_| end.failed.len() == end.started) {
        return Ok(*exit);
    }
    let tested = all.iter().any(|own| !matches!(own.verdict, Some(Reproduced::CannotBeTested(_))));
    Ok(if tested { Exit::Done } else { Exit::Machine })
}

/// Announces what is left of the experiments, and asks whether to begin if that is long; returns whether to go on.
pub(crate) fn is_wanted(predictions: &Predictions, out: &Path, options: &RunOptions) -> Result<bool, Problem> {
    let machine = Machine::this()?;
    let on = On { machine: &machine, place: Where::Here, servers: &predictions.servers };
    let (mut experiments, mut claims) = (0, 0);
    let mut all = Left { likely_s: 0.0, most_s: 0.0 };
    let mut needs: Option<Needs> = None;
    for predicted in predictions.experiments.iter().filter(|own| own.blocks > 0) {
        // An experiment that cannot be read or planned reports that when it is its turn.
        let expected = Left { likely_s: predicted.expected_s, most_s: predicted.expected_s };
        let (plan, left) = left_of(predicted, &out.join(&predicted.experiment.name), on, options.trusted)
            .unwrap_or_else(|_| (Plan::default(), expected));
        if left.likely_s > 0.0 {
            experiments += 1;
            claims += predicted.experiment.claims.len() - predicted.cannot.len();
            all = Left { likely_s: all.likely_s + left.likely_s, most_s: all.most_s + left.most_s };
            needs = plan.needs.into_iter().chain(needs).max_by_key(|needs| (needs.disk_bytes, needs.memory_bytes));
        }
    }
    if experiments == 0 {
        return Ok(true);
    }
    let largest = plan_view::needs(&Plan { needs, ..Plan::default() });
    let needs = largest.map_or(String::new(), |needs| format!("; the largest needs {needs}"));
    let line = format!(
        "reproduce: {} in {}; about {}{needs}",
        tare_text::count(claims, "claim"),
        tare_text::count(experiments, "experiment"),
        all.words("")
    );
    let outlook = Outlook { line, seconds: all.likely_s };
    outlook.announce(options.json);
    outlook.is_wanted(options.yes, || predictions.within_s.is_none().then(|| "--within 30min".to_owned()))
}

/// The plan of an experiment, and the time that is left of it.
fn left_of(predicted: &Predicted, path: &Path, on: On<'_>, trusted: bool) -> Result<(Plan, Left), Problem> {
    if !path.join("plan.json").exists() {
        let testable = testable(&predicted.experiment, &predicted.cannot);
        let (study, plan) = plan(&testable, predicted.blocks, on)?;
        let likely_s = predicted.expected_s;
        let again_s = estimate::again_s(&study, &plan);
        return Ok((plan, Left { likely_s, most_s: likely_s + again_s }));
    }
    let folder = Directory::begun(path, trust::whose(trusted))?;
    let (study, plan) = read_begun(&folder)?;
    let likely_s = Outlook::rest(&study, &plan, &read_trials(&folder)?).seconds;
    Ok((plan, Left { likely_s, most_s: likely_s }))
}

/// Writes a page that compares published and measured figures, alongside the results.
fn picture(predictions: &Predictions, all: &[Claimed], out: &Path, trusted: bool) -> Result<(), Problem> {
    let of = |own: &'_ Predicted| own.experiment.claims.len();
    let folders =
        predictions.experiments.iter().flat_map(|own| std::iter::repeat_n(own.experiment.name.as_str(), of(own)));
    let claimed: Vec<(&str, &Claimed)> = folders.zip(all).collect();
    if let Some(folder) = Folder::open(out, trust::whose(trusted))? {
        folder.write(PICTURE, claims(&claimed).as_bytes())?;
    }
    Ok(())
}

/// Runs the rest of an experiment; returns whether it is complete.
fn experiment(predicted: &Predicted, path: &Path, on: On<'_>, options: &RunOptions) -> Result<bool, Problem> {
    let (study, plan, directory) = match begun_at(path, options.trusted)? {
        Some(begun) => begun,
        None => begin(predicted, path, on, options.trusted)?,
    };
    let mut listener = TerminalListener::new(&plan, study.sampling.attempts);
    let end = execute(&study, &plan, &directory, options, &mut listener);
    listener.finish();
    let end = end?;
    if end.done > 0 {
        write_report_in(directory.folder(), &results_problem::open_folder(directory.folder())?)?;
    }
    Ok(end.left == 0)
}

fn begin(predicted: &Predicted, path: &Path, on: On<'_>, trusted: bool) -> Result<(Study, Plan, Directory), Problem> {
    let testable = testable(&predicted.experiment, &predicted.cannot);
    let (study, plan) = plan(&testable, predicted.blocks, on)?;
    room_for_data(&plan)?;
    let directory = begun_in(path, &study, &plan, on.machine, trusted)?;
    Ok((study, plan, directory))
}

/// The verdicts on the claims of an experiment so far.
fn verdicts(predicted: &Predicted, out: &Path) -> Result<Vec<Claimed>, Problem> {
    let path = out.join(&predicted.experiment.name);
    let results = match predicted.blocks > 0 && path.join("plan.json").exists() {
        true => Some(results_problem::open(&path)?),
        false => None,
    };
    let verdict = |claim: &Claim| match (predicted.cannot.get(&claim.name), &results) {
        (Some(cannot), _) => Reproduced::CannotBeTested(cannot.clone()),
        (None, Some(results)) => of_results(claim, results),
        (None, None) => {
            let needs_s = Some(predicted.expected_s).filter(|seconds| *seconds > 0.0);
            Reproduced::NotDecided(Open { figure: None, why: Why::NotRun, needs_s })
        }
    };
    let claims = predicted.experiment.claims.iter();
    Ok(claims.map(|claim| Claimed { claim: claim.clone(), verdict: Some(verdict(claim)) }).collect())
}
