//! `tare ab`: runs pairs of trials of two sides until it is decided whether B is slower than A.

use super::ab_sides::{self, Side, pair_line, planned, side};
use super::ab_together::TurnsArgs;
use super::beforehand::{Locked, begin_run, resume_run};
use super::execution::{ExecutionArgs, RunOptions, execute};
use super::interrupt::{self, unless_interrupted};
use super::output::{note, quoted_path};
use super::plan_view::{self, View};
use super::run_listener::RoundListener;
use super::study_file::MeasuredArgs;
use super::{Exit, Problem, ab_certify, ab_result, read_topology};
use crate::run::RunEnd;
use clap::Args;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tare_findings::ab::{Ab, AbVerdict, Needed, ToGo};
use tare_results::pairs::{Rule, Stop};
use tare_results::schema::{Outcome, Plan, TrialRecord};
use tare_results::store::{read_plan, read_trials, write_plan};
use tare_study::language::decide::{Decide, sessions};
use tare_study::language::spec::Study;
use tare_study::plan::resolve::Where;
use tare_study::plan::settle;
use tare_topology::{Fingerprint, Machine};

/// Compare two sides by pairs of trials in random order until it is decided whether B differs from A, with 5% false
/// alarms
///
/// Each pair is one fresh trial of each side; which of them runs first is random, and the effect of the order is
/// estimated and removed. The comparison is decided when the interval of B/A excludes 1 (faster, slower) or lies within
/// the minimum effect (equivalent). Exit codes: 0 faster or equivalent, 1 B is slower, 4 no pair has a result, 5
/// undecided or no verdict.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub(crate) struct AbArgs {
    /// The baseline: binary=PATH, build=NAME, option.NAME=VALUE, placement=NAME, 'command=PROGRAM ARGS', or another
    /// factor with a level
    #[arg(long, value_name = "SIDE", value_parser = side, required_unless_present_any = ["resume", "certify", "study"])]
    a: Option<Side>,
    /// The candidate, written the same way; if it equals --a, the comparison measures the noise of tool and machine
    /// (A/A)
    #[arg(long, value_name = "SIDE", value_parser = side, conflicts_with = "certify",
        required_unless_present_any = ["resume", "certify", "study"])]
    b: Option<Side>,
    /// The study to measure the sides with, a file or a built-in name; its own factors are left out, and its [decide]
    /// applies where no option is given [default: side-by-side; first-look for placements]
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    #[command(flatten)]
    on: MeasuredArgs,
    /// A metric that the change cannot affect (may be repeated): if it changes, there is no verdict [default: the
    /// probes next to the samples]
    #[arg(long = "control", value_name = "NAME", conflicts_with = "certify")]
    controls: Vec<String>,
    /// The smallest change of interest; smaller ones count as equivalent [default: 2%]
    #[arg(long, value_name = "PCT", value_parser = effect)]
    minimum_effect: Option<f64>,
    /// The time for all trials, such as 30min, 90s or 2h [default: until it is decided; with --certify 30min]
    #[arg(long, alias = "within", value_name = "TIME", value_parser = super::output::time)]
    budget: Option<f64>,
    /// Number of sessions, each one run: this is the first, --resume runs the next. From 5 on, the verdict is over
    /// sessions [default: 1]
    #[arg(long, value_name = "N", value_parser = sessions, conflicts_with = "certify")]
    sessions: Option<usize>,
    /// Compare A with itself and with copies of itself instead of B. This shows how often comparisons are wrong on this
    /// machine, and which change they can decide in 10, 30 and 60 minutes. The result is stored and shown with every
    /// verdict
    #[arg(long)]
    certify: bool,
    /// With --certify: another link of A's sources, binary=PATH or 'command=PROGRAM ARGS'; differences between the two
    /// come from the layout of the program
    #[arg(long, value_name = "SIDE", value_parser = side, requires = "certify")]
    relinked: Option<Side>,
    #[command(flatten)]
    turns: TurnsArgs,
    /// Run both sides of a pair at the same time, each on one half of the machine, with the halves exchanged at random:
    /// noise of the machine affects both. The ratio is measured under contention
    #[arg(long, conflicts_with_all = ["certify", "resume", "interleave", "no_interleave"])]
    duet: bool,
    /// Show both sides, where their threads run and how long a pair takes, and start nothing
    #[arg(long, conflicts_with_all = ["certify", "resume"])]
    dry_run: bool,
    /// With --dry-run: plan for a described machine, for example "node:4 core:8 pu:2", or an hwloc XML file
    #[arg(long, value_name = "SPEC", requires = "dry_run")]
    topology: Option<String>,
    /// Where the results go [default: tare-results/ab-DATE]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Resume an interrupted comparison with its original rule, or run its next session; --budget gives more time to
    /// one that looks after every pair
    #[arg(long, value_name = "DIR", conflicts_with_all = ["a", "b", "study", "engine", "load", "metric", "seed",
        "set", "controls", "sessions", "certify", "minimum_effect", "interleave", "no_interleave"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    execution: ExecutionArgs,
}

const USAGE: &str = "tare ab --a <SIDE> --b <SIDE> [OPTIONS]
       tare ab --certify [OPTIONS]
       tare ab --resume <DIR> [OPTIONS]";

const EXAMPLES: &str = "\
Examples:
  tare ab --a binary=old/mariadbd --b binary=new/mariadbd --budget 30min
  tare ab --engine mariadb --a option.innodb_adaptive_hash_index=ON \\
      --b option.innodb_adaptive_hash_index=OFF
  tare ab --a 'command=./old -n 5' --b 'command=./new -n 5' --minimum-effect 5%
  tare ab --duet --load read_only \\
      --a binary=old/mariadbd --b binary=new/mariadbd --engine mariadb
  tare ab --certify --engine mariadb --budget 1h";

/// Adds pairs of both sides until it is decided whether they differ, and prints the verdict.
pub(crate) fn run(args: &AbArgs) -> Result<Exit, Problem> {
    interrupt::stop()?;
    match &args.resume {
        Some(path) => resume(path, args),
        None if args.certify => {
            let sides = (args.a.as_ref(), args.relinked.as_ref());
            let base = args.measured_on(args.a.iter().chain(&args.relinked))?;
            ab_certify::run(&base, &args.over(Decide::default()), sides, args.out.as_deref(), args.execution.options())
        }
        None => begin(args),
    }
}

impl AbArgs {
    /// The study that these sides are measured on.
    fn measured_on<'a>(&self, sides: impl Iterator<Item = &'a Side>) -> Result<Study, Problem> {
        let sides: Vec<&Side> = sides.collect();
        ab_sides::measured_on(self.study.as_deref(), &sides, &self.on.overrides(), self.execution.trust)
    }

    /// Options of the command line take precedence over the study's `[decide]`.
    fn over(&self, decide: Decide) -> Decide {
        let side = |own: &Option<Side>, other| own.as_ref().map(Side::to_string).or(other);
        Decide {
            a: side(&self.a, decide.a),
            b: side(&self.b, decide.b),
            metric: self.on.metric.clone().or(decide.metric),
            minimum_effect: self.minimum_effect.or(decide.minimum_effect),
            budget_s: self.budget.or(decide.budget_s),
            sessions: self.sessions.or(decide.sessions),
            duet: self.duet || decide.duet,
            interleave: self.turns.requested().or(decide.interleave),
            controls: if self.controls.is_empty() { decide.controls } else { self.controls.clone() },
            seed: self.on.seed.or(decide.seed),
        }
    }
}

fn resume(path: &Path, args: &AbArgs) -> Result<Exit, Problem> {
    let give_budget =
        |plan: &mut Plan| args.budget.into_iter().for_each(|budget_s| settle::give_budget(plan, budget_s));
    let begun = resume_run(path, &args.execution.options(), |plan| {
        can_be_resumed(path, plan, args.budget.is_some())?;
        give_budget(plan);
        Ok(())
    })?;
    let Some(mut run) = begun else { return Ok(Exit::Interrupted) };
    let before = run.plan.clone();
    let sessions = before.settle.as_ref().map_or(0, |rule| rule.begun.len());
    let boot_id = Fingerprint::of(&Machine::this()?).boot_id;
    give_budget(&mut run.plan);
    run.plan = settle::resumed(run.plan, &read_trials(run.directory.folder())?, boot_id);
    if let Some(rule) = run.plan.settle.as_ref().filter(|rule| rule.begun.len() > sessions) {
        note(&format!("session {}, on boot {}", rule.begun.len(), rule.boots()));
    }
    if run.plan != before {
        write_plan(run.directory.folder(), &run.plan)?;
    }
    compare(&run, &args.execution.options())
}

fn can_be_resumed(path: &Path, plan: &Plan, longer: bool) -> Result<(), Problem> {
    let no_comparison =
        |what: &str, advice: String| Err(Problem::new(Exit::Usage, what).at(path.display().to_string()).advice(advice));
    let fixed = |why: &str| {
        let advice = format!("{why}: resume it without --budget, or begin another comparison");
        no_comparison("the budget of this comparison cannot be changed", advice)
    };
    match &plan.settle {
        None => {
            let advice = format!("resume with: tare {} --resume {}", plan.resumed_by(), quoted_path(path));
            no_comparison("this is not a comparison of two sides", advice)
        }
        Some(rule) if rule.certify => {
            let advice = "the measurements are kept; measure more with: tare ab --certify".to_owned();
            no_comparison("a comparison of a side with itself cannot be resumed", advice)
        }
        Some(rule) if longer => match rule.rule {
            Rule::Anytime => Ok(()),
            Rule::Looks => fixed("its five looks were planned for its first budget, and further ones would add error"),
            Rule::Sessions => fixed("its sessions are shares of its first budget"),
        },
        Some(_) => Ok(()),
    }
}

fn begin(args: &AbArgs) -> Result<Exit, Problem> {
    let mut study = args.measured_on(args.a.iter().chain(&args.b))?;
    study.decide = Some(args.over(study.decide.take().unwrap_or_default()));
    ab_sides::record_probes(&mut study);
    if !args.dry_run {
        return decide(study, args.out.as_deref(), &args.execution.options());
    }
    let (machine, place) = read_topology::machine(args.topology.as_deref())?;
    let planned = unless_interrupted(planned(study, &machine, place, true))?;
    let Some((study, plan)) = planned else { return Ok(Exit::Interrupted) };
    plan_view::print(&study, &plan, View::of(args.execution.json, true)).map(|()| Exit::Done)
}

/// Compares the two sides of a study with `[decide]`.
pub(crate) fn decide(study: Study, out: Option<&Path>, options: &RunOptions) -> Result<Exit, Problem> {
    let machine = Machine::this()?;
    let planned = unless_interrupted(planned(study, &machine, Where::Here, true))?;
    let Some(planned) = planned else { return Ok(Exit::Interrupted) };
    let begun = begin_run(planned, &machine, out, options)?;
    begun.map_or(Ok(Exit::Interrupted), |run| compare(&run, options))
}

/// Adds pairs until it is decided; prints the result so far, however the comparison ends.
fn compare(run: &Locked, options: &RunOptions) -> Result<Exit, Problem> {
    let Locked { study, plan, directory, .. } = run;
    let both = RunOptions { password: options.password.clone(), needs_both_sides: true, ..*options };
    let end = execute(study, plan, directory, &both, &mut RoundListener::new(pair_line));
    let plan = read_plan(directory.folder())?;
    let records = read_trials(directory.folder())?;
    let (path, word) = (directory.path().display(), quoted_path(directory.path()));
    match Ab::of(&plan, &records).filter(|ab| ab.pairs + ab.lost > 0) {
        Some(ab) => {
            let certified = ab_result::certified(study, &plan, ab.metric.as_deref());
            ab_result::print(&ab, certified.as_ref(), options.json)?;
            let drawn = ab_result::draw_picture(&ab, &plan, &records, directory);
            note(&format!("results: {path}{drawn}"));
            if let Some(why) = ab_result::store_certificate(certified.as_ref(), directory) {
                note(&why);
            }
            match end? {
                RunEnd { left, .. } if left > 0 => {
                    note(&format!("interrupted; resume with: tare ab --resume {word}"));
                    Ok(Exit::Interrupted)
                }
                _ => {
                    if let Some(advice) = advice(&ab, directory.path()) {
                        note(&advice);
                    }
                    exit_of(&ab, &records, directory.path())
                }
            }
        }
        None => {
            end?;
            note(&format!("interrupted before the first pair; resume with: tare ab --resume {word}"));
            Ok(Exit::Interrupted)
        }
    }
}

/// What decides it if spread and ratio stay as they are: more time for this comparison or, if its rule has no further
/// look, a new one.
fn advice(ab: &Ab, path: &Path) -> Option<String> {
    let (what, needed) = match (ab.verdict, ab.stop, ab.to_go) {
        (AbVerdict::Undecided, Some(Stop::LastLook), ToGo::Sessions { about: Some(about), .. }) => {
            return Some(format!("to decide it: a new comparison with --sessions {about}"));
        }
        (AbVerdict::Undecided, Some(Stop::Budget | Stop::LastLook), ToGo::Pairs { about, .. }) => {
            ("to decide it", about)
        }
        (AbVerdict::Undecided, Some(Stop::Budget), ToGo::TooFew { first_look }) => {
            ("to reach the first look", Needed::More(first_look.saturating_sub(ab.pairs)))
        }
        _ => return None,
    };
    let budget_s = match needed {
        Needed::More(pairs) => ab.elapsed_s + pairs as f64 * ab.pair_s,
        Needed::Anew(pairs) => pairs as f64 * ab.pair_s,
    };
    let budget = format!("--budget {:.0}min", (budget_s / 60.0).ceil());
    Some(match ab.rule.rule {
        Rule::Anytime => format!("{what}, resume it: tare ab --resume {} {budget}", quoted_path(path)),
        Rule::Looks | Rule::Sessions => format!("{what}: a new comparison with {budget}"),
    })
}

fn exit_of(ab: &Ab, records: &[TrialRecord], path: &Path) -> Result<Exit, Problem> {
    match ab.verdict {
        AbVerdict::Faster | AbVerdict::Equivalent => Ok(Exit::Done),
        AbVerdict::Slower => Ok(Exit::GateFailed),
        AbVerdict::Undecided if ab.pairs == 0 && ab.lost > 0 => Err(no_result(ab, records, path)),
        AbVerdict::Undecided if ab.stop == Some(Stop::Session) => {
            note(&format!(
                "session {} of {} is over; run the next one, if possible after a restart of the machine, with: tare ab \
                 --resume {}",
                ab.rule.begun.len(),
                ab.rule.sessions,
                quoted_path(path)
            ));
            Ok(Exit::Inconclusive)
        }
        AbVerdict::Undecided => Ok(Exit::Inconclusive),
    }
}

fn no_result(ab: &Ab, records: &[TrialRecord], path: &Path) -> Problem {
    let word = quoted_path(path);
    let samples = records.iter().flat_map(|record| &record.samples);
    let measured: BTreeSet<&str> = samples.flat_map(|sample| sample.metrics.keys()).map(String::as_str).collect();
    match ab.rule.metric.as_deref().filter(|name| !measured.is_empty() && !measured.contains(name)) {
        Some(name) => Problem::new(Exit::TrialFailed, format!("no trial has the metric `{name}`"))
            .at(path.display().to_string())
            .expected(format!("one of: {}", measured.iter().copied().collect::<Vec<_>>().join(", ")))
            .advised(tare_text::nearest(name, measured.iter().copied()).map(|near| format!("did you mean `{near}`?"))),
        None if ab.metric.as_deref().is_some_and(|name| records.iter().any(|trial| has_no_ratio(trial, name))) => {
            let name = ab.metric.as_deref().unwrap_or_default();
            Problem::new(Exit::TrialFailed, format!("no pair has a result: `{name}` is 0 or below, so it has no ratio"))
                .at(path.join("trials.jsonl").display().to_string())
                .expected("a metric that is above 0 in trials of both sides")
        }
        None => {
            let are_all = records.iter().all(|record| record.outcome != Outcome::Ok);
            let without = without_result(ab.lost, ab.lost_alone, are_all);
            // Otherwise both trials of a pair have one, but one of them got no time while the other ran.
            let (failed, why) =
                (without.is_some(), without.unwrap_or("the trials of a pair did not run at the same time"));
            let turns = match ab.by_turns {
                true => "; if the two servers disturb each other, run one trial after the other: --no-interleave",
                false => "",
            };
            let advice = match failed {
                true => format!("read the reasons with: tare show {word}{turns}"),
                false => format!("use longer samples: --set sampling.sample_s=SECONDS{turns}"),
            };
            Problem::new(Exit::TrialFailed, format!("no pair has a result: {why}"))
                .at(path.join("trials.jsonl").display().to_string())
                .advice(advice)
        }
    }
}

/// Whether a trial measured the metric, but as 0 or below.
fn has_no_ratio(trial: &TrialRecord, metric: &str) -> bool {
    let values = trial.values(metric);
    trial.outcome == Outcome::Ok && !values.is_empty() && values.iter().sum::<f64>() <= 0.0
}

/// Which trials gave no result if no pair has one; `None` if both trials of each pair gave one.
fn without_result(lost: usize, lost_alone: [usize; 2], are_all: bool) -> Option<&'static str> {
    match lost_alone {
        [0, 0] => are_all.then_some("all trials failed"),
        [a, _] if a == lost => Some("every trial of A failed, and none of B"),
        [_, b] if b == lost => Some("every trial of B failed, and none of A"),
        _ => Some("in each pair a trial failed"),
    }
}

pub(crate) fn effect(text: &str) -> Result<f64, String> {
    tare_text::percentage(text).and_then(|effect| match effect > 0.0 && effect < 1.0 {
        true => Ok(effect),
        false => Err("expected a percentage above 0 and below 100".to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::output::time;
    use super::*;

    #[test]
    fn the_side_whose_trials_failed_is_named() {
        assert_eq!(without_result(5, [0, 5], false), Some("every trial of B failed, and none of A"));
        assert_eq!(without_result(5, [5, 0], false), Some("every trial of A failed, and none of B"));
        assert_eq!(without_result(5, [1, 3], false), Some("in each pair a trial failed"));
        assert_eq!(without_result(5, [0, 0], true), Some("all trials failed"));
        assert_eq!(without_result(5, [0, 0], false), None, "they did not run at the same time");
    }

    #[test]
    fn times_and_effects_are_parsed_with_their_units() {
        assert_eq!((time("30min"), time("90s"), time("2h"), time("45")), (Ok(1800.0), Ok(90.0), Ok(7200.0), Ok(45.0)));
        assert!(time("0").is_err() && time("soon").is_err() && time("-1s").is_err());
        assert_eq!(effect("2%"), Ok(0.02));
        assert!(effect("0").is_err() && effect("100%").is_err());
        assert_eq!((effect("5"), effect("0.02%")), (Ok(0.05), Ok(0.0002)));
        assert_eq!(effect("0.5"), Ok(0.005), "50% in a study only");
    }
}
