//! `tare why`: shows where the time of a transaction goes, and what makes up the difference between two conditions;
//! with `--prove` runs the experiments that separate the suspects best one by one, each as a comparison of pairs.

use super::ab_sides::{self, fresh_seed, pair_line};
use super::beforehand::Outlook;
use super::compare::Opened;
use super::execution::{RunOptions, begun_in, default_out, execute, host, room_for_data};
use super::interrupt::{self, unless_interrupted};
use super::run_listener::RoundListener;
use super::{Exit, Problem, output, study_file, trust};
use crate::config;
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};
use tare_files::Audience;
use tare_findings::ab::Ab;
use tare_findings::why::{self, ChainTime, Change, Proof, Times, Trial, Why, WhyError, experiments};
use tare_report::json;
use tare_report::terminal::{self, Style};
use tare_report::words::suspects as words;
use tare_results::metric::LATENCY_MS_MEAN;
use tare_results::pairs::Rule;
use tare_results::schema::{Plan, Settle};
use tare_results::store::{Directory, read_plan, read_study_text};
use tare_stats::sequential::FEWEST_PAIRS;
use tare_study::language::spec::{Factor, SIDE, Study};
use tare_study::language::write::parse_written;
use tare_study::plan::resolve::Where;
use tare_study::plan::settle;
use tare_text::Value;
use tare_topology::Machine;

/// Show where the time of a transaction goes, and what makes up the difference between two conditions
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// A: a results directory, or one condition of it as `DIR:condition`
    a: String,
    /// B, written the same way; without B, shows the time and the captures of every condition of A
    b: Option<String>,
    /// Test the suspects by experiment: for the two or three largest, pairs of trials of the slower condition with and
    /// without the change of each one's experiment
    #[arg(long, requires = "b")]
    prove: bool,
    /// With --prove: the time for all experiments together, such as 30min, 90s or 2h
    #[arg(long, alias = "budget", value_name = "TIME", default_value = "10min", value_parser = super::output::time, requires = "prove")]
    within: f64,
    /// With --prove: show the experiments and their time, and run none
    #[arg(long, requires = "prove")]
    dry_run: bool,
    /// With --prove: where the experiments and why.json go [default: tare-results/why-DATE]
    #[arg(long, value_name = "DIR", requires = "prove")]
    out: Option<PathBuf>,
    /// With --prove: use results that other users own or may write to: programs named in them run as you
    #[arg(long, requires = "prove")]
    trust: bool,
    /// With --prove: start experiments of more than an hour together without asking
    #[arg(long, requires = "prove")]
    yes: bool,
    /// With --prove: wait while another run uses this machine, instead of ending
    #[arg(long, requires = "prove")]
    wait: bool,
    /// Write the wall-clock time of both by call chain: one line `chain A B` each, nanoseconds per transaction, as
    /// difffolded.pl writes it for flame graphs (needs capture.waits)
    #[arg(long, value_name = "FILE", requires = "b", conflicts_with = "prove")]
    folded: Option<PathBuf>,
    /// Also show parts without a visible difference, with the smallest difference that would have been seen
    #[arg(long, requires = "b")]
    all: bool,
    /// Print one JSON document instead of tables
    #[arg(long)]
    json: bool,
}

/// Prints a waterfall from A's time per transaction to B's with the suspects, or the time of each condition.
pub(crate) fn run(args: WhyArgs) -> Result<Exit, Problem> {
    let names: Vec<String> = std::iter::once(args.a.clone()).chain(args.b.clone()).collect();
    let opened = Opened::of(&names)?;
    opened.warnings().for_each(|warning| output::note(&format!("note: {warning}")));
    let style = Style { all: args.all, ..Style::of_stdout(config::get().colour) };
    match opened.sides().as_slice() {
        [(_, a), (_, b)] => {
            let found = why::why(*a, *b)?;
            if args.prove {
                let of = if found.own().us < 0.0 { a.results } else { b.results };
                let requested = ProofRequest {
                    found: &found,
                    results: &of.path,
                    within_s: args.within,
                    out: args.out.as_deref(),
                    options: RunOptions { wait: args.wait, yes: args.yes, ..RunOptions::of(args.json, args.trust) },
                };
                return if args.dry_run { requested.print_plan() } else { requested.prove() };
            }
            if let Some(path) = &args.folded {
                write_folded(&why::chains(*a, *b)?, path, a.results.audience.max(b.results.audience))?;
            }
            match args.json {
                true => output::document("tare-why", &json::why(&found, &[(); 0]))?,
                false => output::as_is(&terminal::why(&found, style))?,
            }
        }
        sides => {
            let mut times = Times::default();
            for (_, side) in sides {
                let Times { conditions, lost, captures } = why::times(*side)?;
                times.conditions.extend(conditions);
                times.lost.extend(lost);
                times.captures.extend(captures);
            }
            match args.json {
                true => output::document("tare-why", &json::times(&times))?,
                false => output::as_is(&terminal::times(&times, &args.a, style))?,
            }
        }
    }
    Ok(Exit::Done)
}

/// Writes call chains of both sides for tools that draw differential flame graphs.
fn write_folded(chains: &[ChainTime], path: &Path, audience: Audience) -> Result<(), Problem> {
    if chains.is_empty() {
        return Err(Problem::new(Exit::Usage, "a side has no record of its wall-clock time")
            .expected("trials with the capture `waits`")
            .advice("run both with --set capture.waits=on --set capture.profile=on"));
    }
    let ns = |us: f64| (1e3 * us).round();
    let lines = chains.iter().map(|one| format!("{} {} {}\n", one.chain, ns(one.a_us), ns(one.b_us)));
    Ok(tare_files::write_named(audience, path, |file| file.write_all(lines.collect::<String>().as_bytes()))?)
}

impl From<WhyError> for Problem {
    fn from(error: WhyError) -> Self {
        let problem = Self::new(Exit::Usage, error.to_string());
        match error {
            WhyError::Compare(error) => error.into(),
            WhyError::Several { names } => problem
                .expected("one condition per side")
                .advice(format!("name one condition per side, as DIR:condition, of: {}", names.join(", "))),
            WhyError::NoResult { .. } => problem.advice("read the reasons with tare show"),
            WhyError::NoTime { .. } => problem
                .expected("results of a load that reports tps, with its client threads watched")
                .advice("without one, tare compare shows the differences"),
        }
    }
}

const RECORD: &str = "why.json";

struct ProofRequest<'a> {
    pub found: &'a Why,
    pub results: &'a Path,
    pub within_s: f64,
    pub out: Option<&'a Path>,
    pub options: RunOptions,
}

/// A planned experiment: a study of two conditions.
struct Ready {
    trial: Trial,
    study: Study,
    plan: Plan,
}

/// The planned experiments, and those that could not be planned, with the reason.
#[derive(Default)]
struct Planned {
    ready: Vec<Ready>,
    failed: Vec<(Trial, Problem)>,
}

impl ProofRequest<'_> {
    fn print_plan(&self) -> Result<Exit, Problem> {
        let Planned { ready, failed } = self.ready(&Machine::this()?)?;
        failed.iter().for_each(|(_, problem)| output::note(&problem.to_string()));
        let each_s = self.each_s(ready.len());
        let trials: Vec<Trial> = ready.into_iter().map(|one| one.trial).collect();
        let planned: Vec<_> = trials.iter().map(|trial| json::experiment(trial, None, each_s)).collect();
        match self.options.json {
            true => output::document("tare-why", &json::why(self.found, &planned))?,
            false => output::as_is(&terminal::experiments(&trials, self.within_s, style()))?,
        }
        Ok(Exit::Done)
    }

    /// Runs the experiments, prints the results and keeps them.
    pub(crate) fn prove(&self) -> Result<Exit, Problem> {
        interrupt::stop()?;
        let machine = Machine::this()?;
        let Some(planned) = unless_interrupted(self.ready(&machine))? else { return Ok(Exit::Interrupted) };
        let Planned { ready, mut failed } = planned;
        let each_s = self.each_s(ready.len());
        let trials: Vec<Trial> = ready.iter().map(|one| one.trial.clone()).collect();
        let text = terminal::experiments(&trials, self.within_s, style());
        let (line, each) = text.split_once('\n').unwrap_or((text.as_str(), ""));
        let outlook = Outlook { line: line.to_owned(), seconds: self.within_s };
        outlook.announce(self.options.json);
        if !self.options.json {
            each.lines().for_each(output::note);
        }
        if !outlook.is_wanted(self.options.yes, || Some("--within 30min".to_owned()))? {
            return Ok(Exit::Interrupted);
        }
        let Some(_host) = unless_interrupted(host(self.options.wait))? else { return Ok(Exit::Interrupted) };
        let out = self.out.map_or_else(|| default_out("why", &tare_results::now()), Path::to_path_buf);
        let mut proofs = Vec::new();
        for (number, one) in ready.into_iter().enumerate() {
            let folder = out.join(format!("{}-{}", number + 1, one.trial.suspect.kind()));
            let trial = one.trial.clone();
            match self.made(one, folder, each_s, &machine) {
                Ok(made) => proofs.extend(made),
                Err(problem) => failed.push((trial, problem)),
            }
            // A verdict is kept whatever happens to the next experiment.
            self.keep(&out, &proofs, each_s)?;
            if tare_engine::interrupted() {
                break;
            }
        }
        let done = !proofs.is_empty();
        failed.iter().for_each(|(_, problem)| output::note(&problem.to_string()));
        proofs.extend(failed.iter().map(|(trial, problem)| Proof::failed(trial.clone(), problem.what.clone())));
        let record = self.keep(&out, &proofs, each_s)?;
        match self.options.json {
            true => output::document("tare-why", &json::why(self.found, &documents(&proofs, each_s)))?,
            false => output::as_is(&terminal::proofs(self.found, &proofs, style()))?,
        }
        output::note(&format!("recorded: {}", record.display()));
        match failed.first() {
            _ if tare_engine::interrupted() => Ok(Exit::Interrupted),
            Some((_, problem)) if !done => Ok(problem.exit),
            _ => Ok(Exit::Done),
        }
    }

    /// Writes the verdicts so far; returns the path of the file.
    fn keep(&self, out: &Path, proofs: &[Proof], each_s: f64) -> Result<PathBuf, Problem> {
        let record = out.join(RECORD);
        // An experiment that fails at its beginning leaves no folder.
        std::fs::create_dir_all(out).map_err(|e| {
            Problem::new(Exit::Machine, format!("cannot create the folder for {RECORD}: {e}"))
                .at(out.display().to_string())
        })?;
        let text = output::document_text("tare-why", &json::why(self.found, &documents(proofs, each_s)))?;
        tare_files::write_whole(&record, text.as_bytes())?;
        Ok(record)
    }

    fn each_s(&self, experiments: usize) -> f64 {
        self.within_s / experiments.max(1) as f64
    }

    /// The experiments that fit into the time, the most telling first.
    fn ready(&self, machine: &Machine) -> Result<Planned, Problem> {
        if !self.found.own().shown {
            return Err(Problem::new(Exit::Inconclusive, "no difference is shown, so there is nothing to prove")
                .advice(words::what_decides(self.found)));
        }
        let trials = experiments(self.found);
        if trials.is_empty() {
            return Err(Problem::new(Exit::Inconclusive, "no suspect has an experiment that tare can run by itself")
                .advice(words::what_decides(self.found)));
        }
        let folder = Directory::begun(self.results, trust::whose(self.options.trusted))?;
        let study = parse_written(&read_study_text(&folder)?, self.results)?;
        let planned = read_plan(&folder)?;
        let Planned { mut ready, mut failed } = Planned::default();
        let mut least_s = 0.0;
        for trial in trials {
            let made = of_two_conditions(study.clone(), &planned, &trial);
            let (study, plan) = match made.and_then(|study| study_file::planned(study, machine, Where::Here, true)) {
                Ok(made) => made,
                Err(problem) => {
                    failed.push((trial, problem));
                    continue;
                }
            };
            // An experiment that this machine cannot run decides nothing.
            if plan.conditions.len() < 2 || plan.conditions.iter().any(|condition| !condition.realizable) {
                continue;
            }
            least_s = f64::max(least_s, plan.rounds_s(FEWEST_PAIRS));
            if least_s * (ready.len() + 1) as f64 > self.within_s && !ready.is_empty() {
                break;
            }
            ready.push(Ready { trial, study, plan });
        }
        if ready.is_empty() {
            if let Some((_, problem)) = failed.into_iter().next() {
                return Err(problem);
            }
            return Err(Problem::new(Exit::Machine, "this machine can run none of the experiments")
                .advice("run tare why with --prove on the machine of the results"));
        }
        if least_s > self.within_s && ready.len() == 1 {
            let needs = output::duration(least_s);
            return Err(Problem::new(Exit::Usage, "the time is too short for any experiment")
                .at(format!("--within {}", output::duration(self.within_s)))
                .expected(format!("{needs} or more")));
        }
        Ok(Planned { ready, failed })
    }

    /// Runs one experiment, or the part before an interruption; `None` without a complete pair.
    fn made(&self, ready: Ready, out: PathBuf, each_s: f64, machine: &Machine) -> Result<Option<Proof>, Problem> {
        let Ready { trial, study, plan } = ready;
        let plan = settle::begun(plan.clone(), rule(&plan, trial.effect, each_s)?);
        room_for_data(&plan)?;
        let directory = begun_in(&out, &study, &plan, machine, self.options.trusted)?;
        execute(&study, &plan, &directory, &self.options, &mut RoundListener::new(pair_line))?;
        let results = tare_results::open_folder(directory.folder())?;
        let ab = results.plan.as_ref().and_then(|plan| Ab::of(plan, &results.trials));
        Ok(ab.map(|ab| Proof::of(trial, &ab, &results)))
    }
}

fn documents(proofs: &[Proof], each_s: f64) -> Vec<impl Serialize> {
    proofs.iter().map(|proof| json::experiment(&proof.trial, Some(proof), each_s)).collect()
}

fn style() -> Style {
    Style::of_stdout(config::get().colour)
}

/// The stopping rule of an experiment's pairs, fixed before anything is measured.
fn rule(plan: &Plan, effect: f64, budget_s: f64) -> Result<Settle, Problem> {
    Ok(Settle {
        metric: Some(LATENCY_MS_MEAN.name().to_owned()),
        minimum_effect: effect,
        budget_s: Some(budget_s),
        ..Settle::between(ab_sides::conditions(plan)?, Rule::Looks, fresh_seed())
    })
}

/// A study with two conditions: the slower condition as it is, and with the change of the experiment.
fn of_two_conditions(mut study: Study, planned: &Plan, trial: &Trial) -> Result<Study, Problem> {
    let unknown = |expected: String| {
        Problem::new(Exit::Usage, format!("{} cannot be reproduced", trial.condition)).expected(expected)
    };
    let condition = planned.conditions.iter().find(|condition| condition.name == trial.condition);
    let condition = condition.ok_or_else(|| unknown("a condition of the results' plan".to_owned()))?;
    let mut base = study.base.clone();
    for (factor, level) in &condition.levels {
        study.apply(&mut base, factor, &Value::of_word(level)).map_err(unknown)?;
    }
    study.base = base;
    let factor = |name: String, level: Value| Factor { name, levels: vec![level] };
    let side = |letter: &str| factor(SIDE.to_owned(), Value::Text(letter.to_owned()));
    let changed = trial.changes.iter().map(|change| factor(change.factor(), value_of(change)));
    let conditions = vec![vec![side("a")], std::iter::once(side("b")).chain(changed).collect()];
    study.compare("why", words::plan_of_trial(trial), conditions);
    Ok(study)
}

fn value_of(change: &Change) -> Value {
    Value::of_word(change.value.as_deref().unwrap_or_default())
}
