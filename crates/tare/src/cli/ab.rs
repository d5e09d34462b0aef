//! `tare ab`: is B slower than A, pair by pair until it is settled.

use super::ab_sides::{self, Side, side};
use super::compare::percentage;
use super::output::{self, note};
use super::run::{Teller, begun_before, default_out, execute, room_for_data, unless_interrupted};
use super::{Exit, Problem, interrupt, plan_view, study_file, trust};
use crate::run::{Listener, RunEnd};
use clap::Args;
use serde::Serialize;
use std::hash::{BuildHasher, Hasher};
use std::path::PathBuf;
use tare_drive::capture::environment::environment;
use tare_drive::workload::Progress;
use tare_findings::ab::{Ab, AbVerdict};
use tare_report::words::ab as words;
use tare_results::pairs::Rule;
use tare_results::schema::{Outcome, Plan, Settle, TrialRecord};
use tare_results::store::{Directory, read_plan, read_trials, write_plan};
use tare_study::language::parse::Overrides;
use tare_study::language::spec::{SIDE, Study};
use tare_study::language::write;
use tare_study::plan::queue::Next;
use tare_study::plan::resolve::Where;
use tare_study::plan::settle;
use tare_topology::Machine;

/// Chance of a false alarm over all looks.
const ALPHA: f64 = 0.05;
/// A budget for more pairs than this is worth a rule that can use them: twice those of the last fixed look.
const PAIRS_OF_LOOKS: f64 = 36.0;

/// Is B different from A? Pairs of trials in random order until it is settled, at 5% of false alarms
///
/// Each pair is one fresh trial of each side; which of them runs first is drawn at random, and what the place in the
/// pair does is estimated and taken out. It is settled when the interval of B/A excludes 1 (faster, slower) or lies
/// within the minimum effect (equivalent). Exit codes: 0 faster or equivalent, 1 B is slower, 5 undecided when the
/// budget is spent.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct AbArgs {
    /// The baseline: binary=PATH, build=NAME, option.NAME=VALUE, placement=NAME, 'command=PROGRAM ARGS', or another
    /// factor with a level
    #[arg(long, value_name = "SIDE", value_parser = side, required_unless_present = "resume")]
    a: Option<Side>,
    /// The candidate, written the same way; the same as --a measures the tool and the machine (A/A)
    #[arg(long, value_name = "SIDE", value_parser = side, required_unless_present = "resume")]
    b: Option<Side>,
    /// The study that the sides are measured on, a file or a built-in name; its own factors are left out [default:
    /// side-by-side; first-look for placements]
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    /// Run on this engine: sqlite, mariadb, mysql or postgresql
    #[arg(long)]
    engine: Option<String>,
    /// Run this load in place of the study's, for example read_write or dbt3
    #[arg(long, value_name = "WORKLOAD")]
    load: Option<String>,
    /// The metric to compare [default: the load's first headline metric]
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// The smallest change of interest; smaller ones count as equivalent
    #[arg(long, value_name = "PCT", default_value = "2%", value_parser = effect)]
    minimum_effect: f64,
    /// The time for all trials, such as 30min, 90s or 2h; without it, until it is settled
    #[arg(long, value_name = "TIME", value_parser = super::output::time)]
    budget: Option<f64>,
    /// Seed of the order within pairs [default: a new one, which is recorded]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Change one key of the study, for example sampling.sample_s=5 (may be repeated)
    #[arg(long = "set", value_name = "PATH.KEY=VALUE")]
    set: Vec<String>,
    /// Where the results go [default: tare-results/ab-DATE]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Go on with an interrupted comparison, by the rule that it began with
    #[arg(long, value_name = "DIR", conflicts_with_all = ["a", "b", "study", "engine", "load", "metric", "budget", "seed", "set"])]
    resume: Option<PathBuf>,
    /// Use a study, or results, that others own or may write to: programs that they name run as you
    #[arg(long)]
    trust: bool,
    /// Print one JSON document on standard output; the line after each pair still goes to standard error
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  tare ab --a binary=old/mariadbd --b binary=new/mariadbd --budget 30min
  tare ab --engine mariadb --a option.innodb_adaptive_hash_index=ON --b option.innodb_adaptive_hash_index=OFF
  tare ab --a 'command=./old --run' --b 'command=./new --run' --minimum-effect 5%";

/// Adds pairs of both sides until it is settled whether they differ, and prints the verdict.
///
/// # Errors
/// With exit codes 2 (usage), 3 (machine), 4 (trials).
pub fn run(args: &AbArgs) -> Result<Exit, Problem> {
    interrupt::stop()?;
    match &args.resume {
        Some(path) => {
            let begun = Directory::begun(path, trust::whose(args.trust))?;
            let Some(_host) = unless_interrupted(super::host::take())? else { return Ok(Exit::Interrupted) };
            let directory = Directory::lock(begun)?;
            let (study, mut plan) = begun_before(&directory)?;
            let Some(rule) = &mut plan.settle else {
                return Err(Problem::new(Exit::Usage, "this is no comparison of two sides")
                    .at(path.display().to_string())
                    .advice(format!("go on with: tare run --resume {}", path.display())));
            };
            rule.sessions += 1;
            write_plan(directory.folder(), &plan)?;
            compare(&study, &plan, &directory, args)
        }
        None => begin(args),
    }
}

fn begin(args: &AbArgs) -> Result<Exit, Problem> {
    let (Some(a), Some(b)) = (&args.a, &args.b) else {
        return Err(Problem::new(Exit::Usage, "a side is missing").expected("--a SIDE and --b SIDE"));
    };
    let load = args.load.iter().map(|load| format!("workload.name={load}"));
    let sets = load.chain(args.set.iter().cloned()).collect();
    let overrides = Overrides { engine: args.engine.clone(), sets, ..Overrides::default() };
    let study = ab_sides::study(args.study.as_deref(), a, b, &overrides, args.trust)?;
    let machine = Machine::this()?;
    let planned = unless_interrupted(study_file::planned(study, &machine, Where::Here, true))?;
    let Some((study, plan)) = planned else { return Ok(Exit::Interrupted) };
    let plan = settle_of(args, plan)?;
    room_for_data(&plan)?;
    if !args.json {
        plan_view::print_notes(&plan);
    }
    let Some(_host) = unless_interrupted(super::host::take())? else { return Ok(Exit::Interrupted) };
    let out = args.out.clone().unwrap_or_else(|| default_out(&study.name, &tare_results::now()));
    let directory = Directory::create(&out, trust::whose(args.trust))?;
    directory.begin(&write::to_toml(&study), &plan, &environment(&machine))?;
    compare(&study, &plan, &directory, args)
}

/// The plan with its first pair and the rule that adds further ones, fixed before anything is measured.
fn settle_of(args: &AbArgs, plan: Plan) -> Result<Plan, Problem> {
    let side = |letter: &str| plan.conditions.iter().find(|c| c.levels.get(SIDE).is_some_and(|own| own == letter));
    let (Some(a), Some(b)) = (side("a"), side("b")) else {
        return Err(Problem::new(Exit::Machine, "a side is left out here").at(plan.notes.join("; ")));
    };
    if let Some(missing) = [a, b].into_iter().find(|condition| !condition.realizable) {
        let reason = missing.reason.clone().unwrap_or_default();
        return Err(Problem::new(Exit::Machine, format!("this machine cannot do {}", missing.name)).expected(reason));
    }
    // The plan holds one trial a side.
    let fits = args.budget.map(|budget_s| budget_s / plan.estimated_s.max(f64::MIN_POSITIVE));
    let rule = match fits {
        Some(pairs) if pairs <= PAIRS_OF_LOOKS => Rule::Looks,
        _ => Rule::Anytime,
    };
    let rule = Settle {
        a: a.name.clone(),
        b: b.name.clone(),
        metric: args.metric.clone(),
        minimum_effect: args.minimum_effect,
        alpha: ALPHA,
        rule,
        budget_s: args.budget,
        seed: args.seed.unwrap_or_else(fresh_seed),
        sessions: 1,
    };
    Ok(settle::begun(plan, rule))
}

/// Another one every time: the keys of the standard library's hasher come from the system's random numbers.
fn fresh_seed() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

/// Adds pairs until it is settled; shows what is decided however that ends.
fn compare(study: &Study, plan: &Plan, directory: &Directory, args: &AbArgs) -> Result<Exit, Problem> {
    let teller = Teller { password: None, json: args.json, wait: false, trusted: args.trust };
    let end = execute(study, plan, directory, &teller, &mut PairListener::default());
    let plan = read_plan(directory.folder())?;
    let records = read_trials(directory.folder())?;
    let path = directory.path().display();
    match Ab::of(&plan, &records).filter(|ab| ab.pairs + ab.lost + ab.disturbed > 0) {
        Some(ab) => {
            print(&ab, args.json)?;
            note(&format!("results: {path}"));
            match end? {
                RunEnd { left, .. } if left > 0 => {
                    note(&format!("interrupted; go on with: tare ab --resume {path}"));
                    Ok(Exit::Interrupted)
                }
                _ => exit_of(&ab, &path.to_string()),
            }
        }
        None => {
            end?;
            note(&format!("interrupted before the first pair; go on with: tare ab --resume {path}"));
            Ok(Exit::Interrupted)
        }
    }
}

fn exit_of(ab: &Ab, path: &str) -> Result<Exit, Problem> {
    match ab.verdict {
        AbVerdict::Faster | AbVerdict::Equivalent => Ok(Exit::Done),
        AbVerdict::Slower => Ok(Exit::GateFailed),
        AbVerdict::Undecided if ab.pairs == 0 && ab.lost > 0 => {
            Err(Problem::new(Exit::TrialFailed, "no pair has a result: trials failed for good")
                .at(format!("{path}/trials.jsonl"))
                .advice(format!("read the reasons with: tare show {path}")))
        }
        AbVerdict::Undecided => Ok(Exit::Inconclusive),
    }
}

/// What `tare ab --json` prints.
#[derive(Serialize)]
struct AbJson<'a> {
    text: String,
    metric: &'a Option<String>,
    ratio: Option<f64>,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    verdict: AbVerdict,
    minimum_effect: f64,
    pairs: usize,
    lost_pairs: usize,
    disturbed_pairs: usize,
    sessions: usize,
    elapsed_s: f64,
    smallest_detectable: Option<f64>,
    pairs_to_go: Option<usize>,
    pairs_to_go_at_most: Option<usize>,
    slot: Option<SlotJson>,
}

#[derive(Serialize)]
struct SlotJson {
    ratio: f64,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
}

fn print(ab: &Ab, json: bool) -> Result<(), Problem> {
    if json {
        let slot = ab.slot.map(|slot| SlotJson {
            ratio: slot.value,
            ci_low: slot.ci.map(|ci| ci.low),
            ci_high: slot.ci.map(|ci| ci.high),
        });
        let document = AbJson {
            text: words::sentence(ab),
            metric: &ab.metric,
            ratio: ab.ratio,
            ci_low: ab.ci.map(|ci| ci.low),
            ci_high: ab.ci.map(|ci| ci.high),
            verdict: ab.verdict,
            minimum_effect: ab.rule.minimum_effect,
            pairs: ab.pairs,
            lost_pairs: ab.lost,
            disturbed_pairs: ab.disturbed,
            sessions: ab.sessions(),
            elapsed_s: ab.elapsed_s,
            smallest_detectable: ab.smallest_detectable,
            pairs_to_go: ab.pairs_to_go,
            pairs_to_go_at_most: ab.pairs_to_go_at_most,
            slot,
        };
        return output::document("tare-ab", &document);
    }
    let rows: String =
        words::rows(ab).iter().map(|(name, value)| format!("  {name:<10} {}\n", tare_text::shown(value))).collect();
    output::text(&format!("{}\n\n{rows}", words::sentence(ab)))
}

/// A line after each pair.
#[derive(Debug, Default)]
struct PairListener {}

impl Listener for PairListener {
    fn begin(&mut self, _next: &Next, _done: usize, _left: usize) {}

    fn hear(&mut self, _progress: Progress) {}

    fn end(&mut self, record: &TrialRecord) {
        let reason = record.reason.as_deref().unwrap_or_default();
        match record.outcome {
            Outcome::Ok => {}
            Outcome::Failed => note(&format!("trial {} ({}) failed: {reason}", record.trial, record.condition)),
            Outcome::Contaminated => note(&format!(
                "trial {} ({}) was disturbed and will run again: {reason}",
                record.trial, record.condition
            )),
        }
    }

    fn looked(&mut self, plan: &Plan, records: &[TrialRecord]) {
        if let Some(ab) = Ab::of(plan, records) {
            note(&words::line(&ab));
        }
    }

    fn decided(&mut self, _plan: &Plan) {}

    fn preparing(&mut self, condition: &str) {
        note(&format!("preparing data of {condition}"));
    }
}

fn effect(text: &str) -> Result<f64, String> {
    percentage(text).and_then(|effect| match effect > 0.0 && effect < 1.0 {
        true => Ok(effect),
        false => Err("expected a percentage above 0 and below 100".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::output::time;
    use super::*;

    #[test]
    fn times_and_effects_have_units() {
        assert_eq!((time("30min"), time("90s"), time("2h"), time("45")), (Ok(1800.0), Ok(90.0), Ok(7200.0), Ok(45.0)));
        assert!(time("0").is_err() && time("soon").is_err() && time("-1s").is_err());
        assert_eq!(effect("2%"), Ok(0.02));
        assert!(effect("0").is_err() && effect("100%").is_err());
    }
}
