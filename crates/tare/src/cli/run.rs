//! `tare run`: runs a study from start to report, or with `--command` measures programs without a study file.

use super::beforehand::{Outlook, resume_run};
use super::execution::{ExecutionArgs, RunOptions, begun_in, default_out, execute, has_place, host};
use super::interrupt::{self, unless_interrupted};
use super::output::{duration, note, quoted_path};
use super::plan_view::{self, View};
use super::run_listener::TerminalListener;
use super::study_file::{self, StudyChanges, StudyText};
use super::{Exit, Problem, read_topology, secret, shard, trust};
use crate::run::RunEnd;
use clap::Args;
use std::path::{Path, PathBuf};
use tare_report::write_report_in;
use tare_results::probe::ProbeUse;
use tare_results::question::Question;
use tare_results::schema::Plan;
use tare_results::shards::Sharded;
use tare_results::store::Directory;
use tare_study::language::made::MadeStudy;
use tare_study::language::parse::Overrides;
use tare_study::language::spec::{Factor, Study};
use tare_study::plan::resolve::Where;
use tare_text::{Value, count};
use tare_topology::Machine;

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A study file, or the name of a built-in study (see `tare studies`) [default: first-look]
    #[arg(value_name = "STUDY")]
    study: Option<String>,
    #[command(flatten)]
    changes: StudyChanges,
    /// Show conditions, CPUs and trials, and start nothing
    #[arg(long)]
    dry_run: bool,
    /// With --dry-run: show all conditions, however many there are
    #[arg(long, requires = "dry_run")]
    all: bool,
    /// With --dry-run: plan for a described machine, for example "package:2 node:1 core:6 pu:2", or an hwloc XML file
    #[arg(long, value_name = "SPEC", requires = "dry_run")]
    topology: Option<String>,
    /// Where the results go [default: tare-results/STUDY-DATE]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Resume an interrupted run with the same study, order and seed, without the finished trials
    #[arg(long, value_name = "DIR", conflicts_with_all = ["study", "StudyChanges", "dry_run"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    execution: ExecutionArgs,
    /// Ask for the password of a running server
    #[arg(long)]
    ask_password: bool,
    /// Run one shard of a study that `tare shard` cut, by its number, or resume it
    #[arg(long, num_args = 2, value_names = ["DIR", "INDEX"],
        conflicts_with_all = ["study", "command", "StudyChanges", "dry_run", "out", "resume"])]
    shard: Option<Vec<String>>,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Compares the two sides of a study with `[decide]`, with an output directory.
type Decides = fn(Study, Option<&Path>, &RunOptions) -> Result<Exit, Problem>;

/// Resolves `sampling.probe = "auto"` on a locked machine and gives the reason; `None` when interrupted.
type Chooses = fn(&Study, &Machine, &RunOptions) -> Result<Option<(ProbeUse, String)>, Problem>;

/// Runs a study, or with `--dry-run` prints what it would do. `decide` runs studies with `[decide]`; `choose` chooses a
/// probe.
pub(crate) fn run(args: &RunArgs, decide: Decides, choose: Chooses) -> Result<Exit, Problem> {
    if let Some(path) = &args.resume {
        interrupt::stop()?;
        let Some(run) = resume_run(path, &args.execution.options(), |_| Ok(()))? else { return Ok(Exit::Interrupted) };
        // The stored order of the trials is used, even if this version would draw another one.
        return finish(&run.study, &run.plan, &run.directory, &args.options_and_password()?);
    }
    if let Some([directory, index]) = args.shard.as_deref() {
        return run_shard(Path::new(directory), index, args);
    }
    // With `--command` there is no study file: the command line describes the study.
    let name = args.study.as_deref().unwrap_or_else(|| args.changes.default_study());
    let file = match args.program.is_none() {
        true => Some(StudyText::read(name, trust::whose(args.execution.trust), args.dry_run)?),
        false => None,
    };
    // With `--dry-run`, nothing that an untrusted study names is run.
    let trusted = file.as_ref().is_none_or(|file| file.trusted);
    let (machine, place) = match &args.topology {
        Some(spec) => (read_topology::describe(spec)?, Where::Described),
        None if trusted => (Machine::this()?, Where::Here),
        None => (Machine::this()?, Where::HereUntrusted),
    };
    interrupt::stop()?;
    let mut study = requested_study(args, file.as_ref())?;
    if place == Where::Here {
        args.changes.are_servers(&study)?;
    }
    if study.decide.is_some() {
        super::ab_sides::record_probes(&mut study);
        if !args.dry_run {
            return decide(study, args.out.as_deref(), &args.options_and_password()?);
        }
    }
    let planned = match study.decide {
        Some(_) => super::ab_sides::planned(study, &machine, place, trusted),
        None => study_file::planned(study, &machine, place, trusted),
    };
    let Some((study, plan)) = unless_interrupted(planned)? else { return Ok(Exit::Interrupted) };
    if args.dry_run {
        let left = plan_view::something_left(&study, &plan);
        // If nothing is left to run, the error says everything that people need.
        if args.execution.json || left.is_ok() {
            plan_view::print(&study, &plan, View::of(args.execution.json, args.all))?;
        }
        return left.map(|()| Exit::Done);
    }
    plan_view::something_left(&study, &plan)?;
    let outlook = Outlook::whole(&study, &plan);
    outlook.announce(args.execution.json);
    has_place(&plan, args.out.as_deref(), args.execution.trust)?;
    if !outlook.is_wanted(args.execution.yes, || rehearsal(args, file.as_ref(), &machine, &plan, trusted))? {
        return Ok(Exit::Interrupted);
    }
    begin((study, plan), &machine, args.out.as_deref(), &args.options_and_password()?, Some(choose))
}

/// The rehearsal of a study with its duration, if it has one.
fn rehearsal(
    args: &RunArgs,
    file: Option<&StudyText>,
    machine: &Machine,
    long: &Plan,
    trusted: bool,
) -> Option<String> {
    let overrides = Overrides { quick: true, article: false, ..args.changes.overrides() };
    let study = file?.parse(&overrides).ok().filter(|study| study.rehearsal)?;
    let (_, plan) = study_file::planned(study, machine, Where::Here, trusted).ok()?;
    let is_shorter = plan.estimated_s < long.estimated_s / 2.0;
    is_shorter.then(|| format!("a rehearsal of about {} with --quick", duration(plan.estimated_s)))
}

impl RunArgs {
    /// Asks for the password if that is requested.
    fn options_and_password(&self) -> Result<RunOptions, Problem> {
        Ok(RunOptions { password: secret::password(self.ask_password)?, ..self.execution.options() })
    }
}

/// Runs a study that was made from a command line, which is trusted.
pub(crate) fn carry_out(study: Study, out: &Path, password: Option<String>, json: bool) -> Result<Exit, Problem> {
    let machine = Machine::this()?;
    interrupt::stop()?;
    let planned = unless_interrupted(study_file::planned(study, &machine, Where::Here, true))?;
    let Some((study, plan)) = planned else { return Ok(Exit::Interrupted) };
    has_place(&plan, Some(out), false)?;
    begin((study, plan), &machine, Some(out), &RunOptions { password, ..RunOptions::of(json, false) }, None)
}

/// Creates the results directory of a planned study and runs the study.
fn begin(
    (mut study, mut plan): (Study, Plan),
    machine: &Machine,
    out: Option<&Path>,
    options: &RunOptions,
    choose: Option<Chooses>,
) -> Result<Exit, Problem> {
    plan_view::something_left(&study, &plan)?;
    if !options.json {
        plan_view::print_notes(&plan);
    }
    let Some(_host) = unless_interrupted(host(options.wait))? else { return Ok(Exit::Interrupted) };
    if let Some(choose) = choose.filter(|_| study.sampling.probe == Some(ProbeUse::Auto)) {
        let Some((used, why)) = choose(&study, machine, options)? else { return Ok(Exit::Interrupted) };
        note(&why);
        study.sampling.probe = Some(used);
        plan.notes.push(why);
    }
    // An automatic name is chosen under the lock, because other runs choose theirs under it.
    let out = out.map_or_else(|| default_out(&study.name, &tare_results::now()), Path::to_path_buf);
    let directory = begun_in(&out, &study, &plan, machine, options.trusted)?;
    finish(&study, &plan, &directory, options)
}

/// The requested study: from a file, or else from the command line.
fn requested_study(args: &RunArgs, file: Option<&StudyText>) -> Result<Study, Problem> {
    let overrides = args.changes.overrides();
    match (args.program.study(&overrides), file) {
        (None, Some(file)) => file.parse(&overrides),
        (Some(study), _) => study,
        (None, None) => Err(Problem::new(Exit::Usage, "no study, program or server is given")),
    }
}

fn run_shard(path: &Path, index: &str, args: &RunArgs) -> Result<Exit, Problem> {
    let sharded = Sharded::open(path, trust::whose(args.execution.trust))?.ok_or_else(|| {
        Problem::new(Exit::Usage, "this folder has no shards of a study")
            .at(path.display().to_string())
            .advice("tare shard makes one of a study")
    })?;
    let index = index.parse().map_err(|_| {
        Problem::new(Exit::Usage, format!("{index:?} is not the number of a shard"))
            .expected(format!("its number, for example: tare run --shard {} 0", quoted_path(path)))
    })?;
    let requested = interrupt::stop()?.requested;
    let Some(_host) = unless_interrupted(super::execution::take_host_in_turn(requested))? else {
        return Ok(Exit::Interrupted);
    };
    let Some(piece) = unless_interrupted(shard::take_piece(&sharded, index))? else { return Ok(Exit::Interrupted) };
    finish(&piece.study, &piece.plan, &piece.directory, &args.options_and_password()?)
}

/// Runs what is left, writes the report and prints the tables.
fn finish(study: &Study, plan: &Plan, directory: &Directory, options: &RunOptions) -> Result<Exit, Problem> {
    let mut listener = TerminalListener::new(plan, study.sampling.attempts);
    let end = execute(study, plan, directory, options, &mut listener);
    listener.finish();
    let end = end?;
    if end.done > 0 {
        let results = super::results_problem::open_folder(directory.folder())?;
        super::show::print(&results, options.json, false, None)?;
        let report = write_report_in(directory.folder(), &results)?;
        note(&format!("\nresults: {}\nreport:  {}", directory.path().display(), report.display()));
    }
    ended(end, directory.path())
}

fn ended(end: RunEnd, path: &Path) -> Result<Exit, Problem> {
    if end.left > 0 {
        note(&format!(
            "interrupted with {} left; resume with: tare run --resume {}",
            count(end.left, "trial"),
            quoted_path(path)
        ));
        return Ok(Exit::Interrupted);
    }
    if end.given_up > 0 {
        return Err(Problem::new(Exit::TrialFailed, format!("{} failed permanently", count(end.given_up, "trial")))
            .at(path.join("trials.jsonl").display().to_string())
            .advice(format!("read the reasons with: tare show {}", quoted_path(path))));
    }
    Ok(Exit::Done)
}

/// Programs that are measured without a study file.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measuring programs instead of a study")]
struct ProgramArgs {
    /// A program with its arguments: split into words as in a shell, but run without one (may be repeated, to compare
    /// several)
    #[arg(long, value_name = "'PROG ARGS'", conflicts_with_all = ["study", "resume", "engine", "quick", "load", "binary", "option",
        "samples"])]
    command: Vec<String>,
    /// Measured runs of each --command, in random order; --trials is the same
    #[arg(long, value_name = "N", requires = "command", conflicts_with = "trials", default_value_t = 10)]
    runs: usize,
    /// Unmeasured runs before each measured one
    #[arg(long, value_name = "N", requires = "command", default_value_t = 0)]
    warmup_runs: usize,
    /// A command to run before each run, unmeasured
    #[arg(long, value_name = "'PROG ARGS'", requires = "command")]
    prepare: Option<String>,
    /// A command to run after each run, unmeasured
    #[arg(long, value_name = "'PROG ARGS'", requires = "command")]
    cleanup: Option<String>,
    /// Give the commands to sh -c
    #[arg(long, requires = "command")]
    shell: bool,
}

impl ProgramArgs {
    pub(crate) fn is_none(&self) -> bool {
        self.command.is_empty()
    }

    /// The study of the given commands; `None` without commands.
    pub(crate) fn study(&self, overrides: &Overrides) -> Option<Result<Study, Problem>> {
        let first = self.command.first()?;
        let text = |text: &String| Value::Text(text.clone());
        let mut values = vec![
            ("workload", "name", "command".into()),
            ("workload", "command", text(first)),
            ("workload", "shell", self.shell.into()),
            ("workload", "warmup_runs", self.warmup_runs.into()),
            ("sampling", "trials", self.runs.into()),
            ("sampling", "samples", 1_usize.into()),
            ("sampling", "warmup_s", 0_usize.into()),
        ];
        for (key, line) in [("prepare", &self.prepare), ("cleanup", &self.cleanup)] {
            values.extend(line.as_ref().map(|line| ("workload", key, text(line))));
        }
        let mut made = MadeStudy { name: "command", origin: "--command", question: None, values, factors: Vec::new() };
        if self.command.len() > 1 {
            made.question = Question::from_words("best command");
            made.factors.push(Factor { name: "command".to_owned(), levels: self.command.iter().map(text).collect() });
        }
        Some(made.study(overrides).map_err(Problem::from))
    }
}
