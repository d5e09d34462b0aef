//! `tare find`: finds the best of many placements, options or builds, and drops the worse ones on the way.

use super::ab::effect;
use super::ab_sides::fresh_seed;
use super::beforehand::{Locked, begin_run, resume_run};
use super::execution::{ExecutionArgs, execute};
use super::find_what::{self, What};
use super::interrupt::{self, unless_interrupted};
use super::output::{self, note, quoted_path, time};
use super::plan_view::{self, View};
use super::run_listener::RoundListener;
use super::study_file::{self, MeasuredArgs, check_metrics};
use super::{Exit, Problem, read_topology};
use crate::config;
use crate::run::RunEnd;
use clap::Args;
use std::path::PathBuf;
use tare_findings::find::Find;
use tare_report::terminal::{self, Style};
use tare_report::words::find as words;
use tare_report::{json, write_report_in};
use tare_results::laps::{FIRST_LOOK, RaceStop};
use tare_results::schema::{Plan, Race, TrialRecord};
use tare_results::store::{read_plan, read_trials, write_plan};
use tare_stats::racing::Question;
use tare_study::language::spec::Study;
use tare_study::plan::resolve::Where;
use tare_study::plan::{adapt, race};
use tare_topology::Machine;

/// Find the best of many placements, memory policies, options or builds in a fraction of the trials
///
/// Every combination of the given levels is a candidate. Each block runs every remaining candidate once, with a fresh
/// server each, in random order; those shown to be worse than another are dropped. The reported one is, with the stated
/// confidence, within the minimum effect of the best. Exit codes: 0 found, 4 no candidate has a result, 5 undecided.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FindArgs {
    /// placements (of the study, and clients and server on every pair of nodes), memory (default and interleaved), or a
    /// factor with its levels, such as threads=4,8 or 'command=./new --run'; repeat a factor to add levels
    #[arg(value_name = "WHAT", value_parser = find_what::what)]
    what: Vec<What>,
    /// An option of the engine with its values (may be repeated)
    #[arg(long, value_name = "NAME=VALUE,VALUE", value_parser = find_what::option)]
    option: Vec<What>,
    /// A server's program (may be repeated)
    #[arg(long, value_name = "PATH", value_parser = find_what::binary)]
    binary: Vec<What>,
    /// The study to measure the candidates with, a file or a built-in name; its own factors are left out [default:
    /// first-look for placements; else side-by-side]
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    #[command(flatten)]
    on: MeasuredArgs,
    /// The smallest difference of interest: the reported candidate may be this far behind the best
    #[arg(long, value_name = "PCT", default_value = "2%", value_parser = effect)]
    minimum_effect: f64,
    /// The confidence level, over all candidates and looks
    #[arg(long, value_name = "PCT", default_value = "95%", value_parser = confidence)]
    confidence: f64,
    /// The time for all trials, such as 1h or 30min [default: until the best is known]
    #[arg(long, alias = "budget", value_name = "TIME", value_parser = time)]
    within: Option<f64>,
    /// Also race placements that are equivalent by the symmetry of the machine
    #[arg(long)]
    keep_symmetric: bool,
    /// Where the results go [default: tare-results/find-DATE]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Resume an interrupted race with its original rule; --within gives it more time
    #[arg(long, value_name = "DIR", conflicts_with_all = ["what", "option", "binary", "study", "engine", "load", "metric", "minimum_effect", "confidence", "keep_symmetric", "seed", "set"])]
    resume: Option<PathBuf>,
    /// Show the candidates, those left out and how long the first blocks take, and start nothing
    #[arg(long, conflicts_with = "resume")]
    dry_run: bool,
    /// With --dry-run: show all conditions, however many there are
    #[arg(long, requires = "dry_run")]
    all: bool,
    /// With --dry-run: plan for a described machine, for example "node:4 core:8 pu:2", or an hwloc XML file
    #[arg(long, value_name = "SPEC", requires = "dry_run")]
    topology: Option<String>,
    #[command(flatten)]
    execution: ExecutionArgs,
}

const EXAMPLES: &str = "\
Examples:
  tare find placements --within 1h
  tare find placements memory --engine mariadb \\
      --option innodb_adaptive_hash_index=ON,OFF
  tare find --binary old/mariadbd --binary new/mariadbd threads=4,8 \\
      --minimum-effect 5%";

impl FindArgs {
    fn requested(&self) -> Vec<What> {
        [&self.what, &self.option, &self.binary].into_iter().flatten().cloned().collect()
    }
}

/// Races every combination until the best is known, and prints it with lines to copy.
pub(crate) fn run(args: &FindArgs) -> Result<Exit, Problem> {
    let Some(path) = &args.resume else { return begin(args) };
    interrupt::stop()?;
    let begun =
        resume_run(path, &args.execution.options(), |plan| match &mut plan.race {
            Some(race) => {
                race.budget_s = args.within.or(race.budget_s);
                Ok(())
            }
            None => Err(Problem::new(Exit::Usage, "this is not a race")
                .at(path.display().to_string())
                .advice(format!("resume with: tare {} --resume {}", plan.resumed_by(), quoted_path(path)))),
        })?;
    let Some(mut run) = begun else { return Ok(Exit::Interrupted) };
    run.plan = race::resumed(run.plan, &read_trials(run.directory.folder())?, args.within);
    write_plan(run.directory.folder(), &run.plan)?;
    on_the_track(&run, args)
}

fn begin(args: &FindArgs) -> Result<Exit, Problem> {
    if args.requested().is_empty() {
        return Err(Problem::new(Exit::Usage, "no candidates are named")
            .expected("placements, memory, FACTOR=LEVEL,LEVEL, --option NAME=VALUE,VALUE or --binary PATH")
            .advice("try: tare find placements --dry-run"));
    }
    let (machine, place) = read_topology::machine(args.topology.as_deref())?;
    interrupt::stop()?;
    let Some((study, plan)) = planned(args, &machine, place)? else { return Ok(Exit::Interrupted) };
    if args.dry_run {
        plan_view::print(&study, &plan, View::of(args.execution.json, args.all))?;
        if !args.execution.json {
            output::lines(&first_blocks(&plan))?;
        }
        return Ok(Exit::Done);
    }
    let began = begin_run((study, plan), &machine, args.out.as_deref(), &args.execution.options())?;
    let Some(run) = began else { return Ok(Exit::Interrupted) };
    note(first_blocks(&run.plan).trim());
    on_the_track(&run, args)
}

/// The race of all candidates on a machine; `None` when interrupted.
fn planned(args: &FindArgs, machine: &Machine, place: Where) -> Result<Option<(Study, Plan)>, Problem> {
    let (named, overrides) = (args.study.as_deref(), args.on.overrides());
    let study = find_what::study(named, &args.requested(), machine, &overrides, args.execution.trust)?;
    check_metrics(&study, &args.on.metric)?;
    let planned = unless_interrupted(study_file::planned(study, machine, place, true))?;
    let Some((study, mut plan)) = planned else { return Ok(None) };
    if !args.keep_symmetric {
        adapt::merge_symmetric(&mut plan, machine);
    }
    let plan = raced(args, &study, plan)?;
    Ok(Some((study, plan)))
}

/// Gives the plan its first block and the rule that adds further ones; both are fixed before anything is measured.
fn raced(args: &FindArgs, study: &Study, mut plan: Plan) -> Result<Plan, Problem> {
    plan_view::something_left(study, &plan)?;
    let candidates: Vec<String> = plan
        .conditions
        .iter()
        .filter(|condition| condition.realizable)
        .map(|condition| condition.name.clone())
        .collect();
    if candidates.len() < 2 {
        let reasons: Vec<String> =
            plan.conditions.iter().filter_map(|c| Some(format!("{}: {}", c.name, c.reason.as_ref()?))).collect();
        let problem = Problem::new(Exit::Machine, format!("there is only one candidate here, {}", candidates.join("")))
            .expected("at least two")
            .advice("name more levels, or see what this machine has with `tare topo`");
        return Err(if reasons.is_empty() { problem } else { problem.at(reasons.join("\n")) });
    }
    let planned = plan.trials.len().max(1) as f64;
    plan.estimated_s = plan.data_s + plan.trials_s() * candidates.len() as f64 / planned;
    let question = Question { minimum_effect: args.minimum_effect, alpha: 1.0 - args.confidence };
    let rule = Race {
        metric: args.on.metric.clone(),
        budget_s: args.within,
        ..Race::of(candidates, question, args.on.seed.unwrap_or_else(fresh_seed))
    };
    Ok(race::begun(plan, rule))
}

/// The time until the first candidates can be dropped.
fn first_blocks(plan: &Plan) -> String {
    let Some(rule) = &plan.race else { return String::new() };
    let (first, seconds) = (FIRST_LOOK, plan.rounds_s(FIRST_LOOK));
    // The budget is for trials alone.
    let short = rule.budget_s.is_some_and(|budget_s| budget_s < seconds - plan.data_s);
    let within = if short { ", which is more than --within: name fewer candidates, or give it more time" } else { "" };
    format!(
        "\n{} candidates; the first are dropped after {first} blocks, {} trials, about {}{within}\n",
        rule.candidates.len(),
        first * rule.candidates.len(),
        output::duration(seconds)
    )
}

/// Adds blocks until it is decided; prints the result so far, however the race ends.
fn on_the_track(run: &Locked, args: &FindArgs) -> Result<Exit, Problem> {
    let Locked { study, plan, directory, .. } = run;
    let options = args.execution.options();
    let end = execute(study, plan, directory, &options, &mut RoundListener::new(block_line));
    let plan = read_plan(directory.folder())?;
    let records = read_trials(directory.folder())?;
    let (path, word) = (directory.path().display(), quoted_path(directory.path()));
    let Some(found) = Find::of(&plan, &records).filter(|found| found.blocks > 0) else {
        end?;
        note(&format!("interrupted before the first block; resume with: tare find --resume {word}"));
        return Ok(Exit::Interrupted);
    };
    match args.execution.json {
        true => output::document("tare-find", &json::find(&found, &plan))?,
        false => output::as_is(&terminal::find(&found, &plan, Style::of_stdout(config::get().colour)))?,
    }
    note(&format!("results: {path}"));
    if found.leader.is_some() {
        let results = super::results_problem::open_folder(directory.folder())?;
        let report = write_report_in(directory.folder(), &results)?;
        note(&format!("report:  {}, with a map of where each candidate's threads ran", report.display()));
    }
    match end? {
        RunEnd { left, .. } if left > 0 => {
            note(&format!("interrupted; resume with: tare find --resume {word}"));
            Ok(Exit::Interrupted)
        }
        _ if found.decided => Ok(Exit::Done),
        _ if found.stop == Some(RaceStop::NoneLeft) => Err(Problem::new(
            Exit::TrialFailed,
            "no candidate has a result: trials failed, or the metric is 0 or below",
        )
        .at(format!("{path}/trials.jsonl"))
        .advice(format!("read the reasons with: tare show {word}"))),
        // More time adds no block.
        _ if matches!(found.stop, Some(RaceStop::LastLook | RaceStop::FailsMore | RaceStop::Replaced)) => {
            Ok(Exit::Inconclusive)
        }
        _ => {
            // --within counts from the first block on; if nothing is known, twice the time so far.
            let minutes = ((found.elapsed_s + found.to_go_s.unwrap_or(found.elapsed_s)) / 60.0).ceil();
            note(&format!("resume with: tare find --resume {word} --within {minutes:.0}min"));
            Ok(Exit::Inconclusive)
        }
    }
}

fn block_line(plan: &Plan, records: &[TrialRecord]) -> Option<String> {
    Find::of(plan, records).map(|found| words::line(&found))
}

fn confidence(text: &str) -> Result<f64, String> {
    tare_text::percentage(text).and_then(|share| match (0.5..1.0).contains(&share) {
        true => Ok(share),
        false => Err("expected a percentage from 50 to below 100".to_owned()),
    })
}

#[cfg(test)]
#[path = "find_tests.rs"]
mod tests;
