//! `tare bisect`: its options, and how it begins, resumes and ends.

use super::super::ab::effect;
use super::super::ab_sides::fresh_seed;
use super::super::ab_together::TurnsArgs;
use super::super::execution::{ExecutionArgs, default_out, host};
use super::super::interrupt::{self, unless_interrupted};
use super::super::output::{note, quoted_path, time};
use super::super::study_file::MeasuredArgs;
use super::super::{Exit, Problem, trust};
use super::request::{BEGIN, BisectRequest, BuildBy, MOST, PLACE, SCHEMA, no_bisection};
use super::search::{End, Search, Spent};
use super::{git, view};
use crate::state::whole_path;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use std::path::{Path, PathBuf};
use tare_files::Folder;
use tare_findings::bisect::{Commit, Outcome};
use tare_topology::Machine;

/// Largest list of builds that is read, bytes.
const LARGEST_LIST: u64 = 16 << 20;

/// Find the commit that made something slower, although measurements are noisy
///
/// GOOD and BAD are compared first, as with `tare ab`: if they do not differ, there is nothing to bisect. Then pairs of
/// trials of the good build and another one update the probability of every commit, until one reaches --confidence;
/// finally it must be shown to be slower than the commit before it. A commit whose build ends with 125 is skipped. Exit
/// codes: 0 found, or nothing to bisect; 4 a build or the trials of GOOD and BAD failed; 5 undecided.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, override_usage = USAGE)]
pub struct BisectArgs {
    /// A commit that is fast, an ancestor of BAD
    #[arg(value_name = "GOOD", required_unless_present_any = ["builds", "resume"], requires = "bad")]
    good: Option<String>,
    /// A commit that is slow
    #[arg(value_name = "BAD")]
    bad: Option<String>,
    /// The command that builds a commit: run by sh in a separate source tree, with the hash in TARE_COMMIT and the tree
    /// in TARE_SOURCE; without --binary, its last line of output names the built program. Exit 125 skips the commit
    #[arg(long, value_name = "CMD", required_unless_present_any = ["builds", "resume"], conflicts_with = "builds")]
    build: Option<String>,
    /// The built program, a path in the source tree
    #[arg(long, value_name = "PATH", requires = "build")]
    binary: Option<PathBuf>,
    /// Existing builds, oldest first, instead of commits: their paths separated by commas, or a file with one path per
    /// line
    #[arg(long, value_name = "FILE|PATH,PATH,...", conflicts_with = "good")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    builds: Option<String>,
    /// Measure this program instead of a server; {binary} in it stands for the build
    #[arg(long, value_name = "'PROG ARGS'", conflicts_with_all = ["study", "engine", "load", "interleave"])]
    command: Option<String>,
    /// The study to measure the builds with, a file or a built-in name; its factors are left out [default:
    /// side-by-side]
    #[arg(long, value_name = "STUDY")]
    study: Option<String>,
    #[command(flatten)]
    on: MeasuredArgs,
    /// The smallest change of interest between GOOD and BAD; if the change is smaller, there is nothing to bisect
    #[arg(long, value_name = "PCT", default_value = "2%", value_parser = effect)]
    minimum_effect: f64,
    /// The probability of a commit at which the bisection ends
    #[arg(long, value_name = "PCT", default_value = "95%", value_parser = confidence)]
    confidence: f64,
    /// The time for all builds and trials, such as 8h or 30min [default: until the commit is found]
    #[arg(long, alias = "within", value_name = "TIME", value_parser = time)]
    budget: Option<f64>,
    #[command(flatten)]
    turns: TurnsArgs,
    /// Where builds and results go [default: tare-results/bisect-DATE]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Resume an interrupted or undecided bisection with its original options; --budget gives it more time
    #[arg(long, value_name = "DIR", conflicts_with_all = ["good", "build", "binary", "builds", "command", "study",
        "engine", "load", "metric", "minimum_effect", "confidence", "seed", "set", "interleave", "no_interleave",
        "dry_run"])]
    resume: Option<PathBuf>,
    /// Show how long it would take, and build and measure nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    execution: ExecutionArgs,
}

const USAGE: &str = "tare bisect <GOOD> <BAD> --build <CMD> [OPTIONS]
       tare bisect --builds <FILE|PATH,PATH,...> [OPTIONS]
       tare bisect --resume <DIR> [--budget <TIME>]";

const EXAMPLES: &str = "\
Examples:
  tare bisect v17.0 HEAD --engine postgresql --load read_only \\
      --build './build.sh' --binary inst/bin/postgres
  tare bisect good bad --build make --binary bench --command '{binary} --quick'
  tare bisect --builds builds.txt --engine mariadb --load read_only --budget 8h";

/// Builds and measures until one commit is found, and prints it.
pub fn run(args: &BisectArgs) -> Result<Exit, Problem> {
    interrupt::stop()?;
    if let Some(path) = &args.resume {
        let missing = || no_bisection("there is no such folder", path, BEGIN);
        let folder = Folder::open(path, trust::whose(args.execution.trust))?.ok_or_else(missing)?;
        let mut request = BisectRequest::read(&folder)?;
        request.budget_s = args.budget.or(request.budget_s);
        if let Some(by) = &request.build {
            git::believed(&by.repository, trust::whose(args.execution.trust))?;
        }
        let spent = Search::of(&request, &folder, &Machine::this()?, &args.execution.options())?.state()?.spent;
        if !is_wanted(&request, spent, args)? {
            return Ok(Exit::Interrupted);
        }
        return search(&request, &folder, args);
    }
    let request = request(args)?;
    if args.dry_run {
        view::print_outlook(&request, args.execution.json, args.execution.trust)?;
        return Ok(Exit::Done);
    }
    let out = args.out.clone().unwrap_or_else(|| default_out("bisect", &tare_results::now()));
    let whose = trust::whose(args.execution.trust);
    let present = Folder::open(&out, whose)?.map(|folder| folder.names()).transpose()?;
    if present.is_some_and(|names| !names.is_empty()) {
        return Err(Problem::new(Exit::Usage, "the folder is not empty").at(out.display().to_string()).advice(
            format!(
                "name another folder with --out, or resume the bisection in it: tare bisect --resume {}",
                quoted_path(&out)
            ),
        ));
    }
    if !is_wanted(&request, Spent::default(), args)? {
        return Ok(Exit::Interrupted);
    }
    let folder = Folder::open_or_create(&out, whose)?;
    request.write(&folder)?;
    search(&request, &folder, args)
}

/// Announces what is left, and asks whether to begin if that is long.
fn is_wanted(request: &BisectRequest, spent: Spent, args: &BisectArgs) -> Result<bool, Problem> {
    let outlook = view::outlook_of_rest(request, spent, args.execution.trust)?;
    outlook.announce(args.execution.json);
    outlook.is_wanted(args.execution.yes, || None)
}

fn request(args: &BisectArgs) -> Result<BisectRequest, Problem> {
    if args.command.as_ref().is_some_and(|command| !command.contains(PLACE)) {
        return Err(Problem::new(Exit::Usage, format!("--command does not contain {PLACE}"))
            .expected(format!("for example --command '{PLACE} --quick'")));
    }
    let (line, build) = match (&args.builds, &args.good, &args.bad, &args.build) {
        (Some(list), ..) => (listed(list, args.execution.trust)?, None),
        (None, Some(good), Some(bad), Some(command)) => {
            let repository = git::repository(trust::whose(args.execution.trust))?;
            let by = BuildBy { repository, command: command.clone(), binary: args.binary.clone() };
            (git::line(good, bad)?, Some(by))
        }
        _ => return Err(Problem::new(Exit::Usage, "nothing to bisect").expected("GOOD BAD --build CMD, or --builds")),
    };
    if line.len() > MOST {
        return Err(Problem::new(Exit::Usage, format!("there are more than {MOST} builds between the ends"))
            .expected(format!("at most {MOST}"))
            .advice("bisect between two releases first"));
    }
    // A resumed bisection may run in another working directory, so the path is made absolute.
    let study = args.study.as_ref().map(|study| match Path::new(study).exists() {
        true => std::path::absolute(study).map_or_else(|_| study.clone(), |path| path.display().to_string()),
        false => study.clone(),
    });
    let mut request = BisectRequest {
        schema: SCHEMA,
        line,
        build,
        study,
        resolved: None,
        engine: args.on.engine.clone(),
        sets: args.on.sets(),
        command: args.command.clone(),
        metric: args.on.metric.clone(),
        minimum_effect: args.minimum_effect,
        confidence: args.confidence,
        budget_s: args.budget,
        seed: args.on.seed.unwrap_or_else(fresh_seed),
        interleave: args.turns.requested(),
    };
    // With `--dry-run` nothing of the study is run, so trust is not needed.
    request.resolve(args.execution.trust || args.dry_run)?;
    Ok(request)
}

const BUILDS: &str = "paths of builds separated by commas, or a file with one path per line; the oldest first";

/// Named builds: paths separated by commas, or those in a file.
fn listed(list: &str, trusted: bool) -> Result<Vec<Commit>, Problem> {
    let lines = match list.contains(',') {
        true => list.split(',').map(|path| path.trim().to_owned()).collect(),
        false => {
            let bytes = tare_files::read_named(Path::new(list), LARGEST_LIST, trust::whose(trusted))
                .map_err(|error| Problem::from(error).expected(BUILDS))?;
            let text = String::from_utf8(bytes)
                .map_err(|_| Problem::new(Exit::Usage, "this is not a list of builds").at(list).expected(BUILDS))?;
            text.lines()
                .map(str::trim)
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        }
    };
    let build = |line: &String| {
        let path = whole_path(Path::new(line));
        match path.is_file() {
            true => Ok(Commit { id: path.display().to_string(), subject: None, author_date: None, merged: Vec::new() }),
            false => {
                Err(Problem::new(Exit::Usage, "a build is not a file").at(path.display().to_string()).expected(BUILDS))
            }
        }
    };
    let line = lines.iter().map(build).collect::<Result<Vec<_>, _>>()?;
    match line.len() {
        0 | 1 => Err(Problem::new(Exit::Usage, "a bisection needs two builds or more").expected(BUILDS)),
        _ => Ok(line),
    }
}

fn search(request: &BisectRequest, folder: &Folder, args: &BisectArgs) -> Result<Exit, Problem> {
    let Some(_host) = unless_interrupted(host(args.execution.wait))? else { return Ok(Exit::Interrupted) };
    if args.resume.is_some() && args.budget.is_some() {
        request.write(folder)?;
    }
    let machine = Machine::this()?;
    let options = args.execution.options();
    let path = folder.path();
    let search = Search::of(request, folder, &machine, &options)?;
    let end = search.run();
    let found = search.state()?.found;
    if let (true, Err(_)) = (found.pairs > 0, &end) {
        note(&tare_report::words::bisect::sentence(&found));
    }
    let end = end?;
    if found.pairs > 0 || end == End::OutOfTime {
        let certified = search.bench.all()?.into_iter().find_map(|measured| measured.certified);
        view::print(&found, certified.as_ref(), path, args.execution.json)?;
        note(&format!("results: {}", path.display()));
    }
    let before = if found.pairs > 0 { "" } else { " before the first pair" };
    let resume = format!("resume with: tare bisect --resume {}", quoted_path(path));
    match end {
        End::Interrupted => {
            note(&format!("interrupted{before}; {resume}"));
            Ok(Exit::Interrupted)
        }
        End::OutOfTime if found.outcome() == Outcome::Undecided => {
            let twice = request.budget_s.map_or(0.0, |budget_s| 2.0 * budget_s).max(found.elapsed_s);
            note(&format!("the time is over{before}; {resume} --budget {:.0}min", (twice / 60.0).ceil()));
            Ok(Exit::Inconclusive)
        }
        End::OutOfTime | End::Done => Ok(view::exit_of(&found)),
    }
}

fn confidence(text: &str) -> Result<f64, String> {
    effect(text)
        .ok()
        .filter(|share| *share > 0.5)
        .ok_or_else(|| "expected a percentage above 50 and below 100".to_owned())
}
