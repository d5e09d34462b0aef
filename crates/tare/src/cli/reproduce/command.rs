//! The options of `tare reproduce`, and the experiments that they select.

use super::predict::Shortest;
use super::{carry_out, predict, view};
use crate::cli::execution::{ExecutionArgs, default_out};
use crate::cli::interrupt::unless_interrupted;
use crate::cli::output::{self, quoted_path, time};
use crate::cli::{Exit, Problem, interrupt, read_topology, trust};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tare_files::Folder;
use tare_results::claim::{Experiment, PREDICTIONS, PREDICTIONS_SCHEMA, Predictions};
use tare_study::claims::{self, Published};

/// The largest file of predictions that is read, bytes.
const LARGEST: u64 = 16 << 20;

/// Test published claims on this machine: whether each holds here, by how much, and with which interval
///
/// A claim is a figure that someone published, with the study that tests it and the range of figures with which it
/// holds. These are written to the results before the first trial. Each verdict is one line: holds, does not hold, not
/// decided (and how long that would take), or why it cannot be tested here. Exit codes: 0 done, whether or not claims
/// hold; 2 no such claim, or too little time to decide any; 3 no claim can be tested here; 130 interrupted.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReproduceArgs {
    /// A claim, an experiment (claims that are tested together), or the letter of an article: A "Benchmarking? Mind
    /// your core", B "Improving the Stability of MySQL Single-Threaded Benchmarks", C "NUMA Smart Global Counter",
    /// D "1.6 million QPS with MDB-10.6" [default: everything]
    #[arg(value_name = "NAME|A|B|C|D")]
    name: Option<String>,
    /// List the claims and start nothing
    #[arg(long, conflicts_with_all = ["dry_run", "resume", "out", "within"])]
    list: bool,
    /// Show what would run here and for how long, and start nothing
    #[arg(long, conflicts_with_all = ["resume", "out"])]
    dry_run: bool,
    /// With --dry-run: plan for a described machine, for example "node:4 core:32 pu:1", or an hwloc XML file
    #[arg(long, value_name = "SPEC", requires = "dry_run")]
    topology: Option<String>,
    /// The time for all experiments, such as 30min or 2h; all of it is used [default: each experiment's own number of
    /// trials]
    #[arg(long, alias = "budget", value_name = "TIME", value_parser = time)]
    within: Option<f64>,
    /// The server for the claims of the articles A and B, which are about MySQL; other claims name theirs [default:
    /// mariadb]
    #[arg(long, value_name = "ENGINE", value_parser = ["mariadb", "mysql"])]
    engine: Option<String>,
    /// The folder of server builds, each in a folder of its name
    #[arg(long, value_name = "DIR", default_value = "target/servers")]
    servers: PathBuf,
    /// Where the results go, one folder per experiment [default: tare-results/reproduce-DATE]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Resume an interrupted run with its recorded predictions
    #[arg(long, value_name = "DIR", conflicts_with_all = ["name", "within", "servers", "engine"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    execution: ExecutionArgs,
}

const EXAMPLES: &str = "\
Examples:
  tare reproduce --list               every claim and its published figure
  tare reproduce --within 30min       what this machine can decide in that time
  tare reproduce C                    all claims of \"NUMA Smart Global Counter\"
  tare reproduce D --dry-run --topology \"node:4 core:32 pu:1\"";

pub(crate) fn run(args: &ReproduceArgs) -> Result<Exit, Problem> {
    if let Some(path) = &args.resume {
        return resume(path, args);
    }
    let Published { articles, experiments } = claims::all().map_err(|e| Problem::new(Exit::Usage, e))?;
    let mut experiments = chosen(experiments, args.name.as_deref())?;
    if let Some(engine) = &args.engine {
        experiments = on_engine(experiments, engine)?;
    }
    if args.list {
        return view::list(&experiments, &articles, args.execution.json).map(|()| Exit::Done);
    }
    let begun = Instant::now();
    let (machine, place) = read_topology::machine(args.topology.as_deref())?;
    interrupt::stop()?;
    // Trials run in directories of their own, so that a relative path would not be found.
    let servers = std::path::absolute(&args.servers)
        .map_err(|e| Problem::new(Exit::Usage, format!("--servers: {e}")).at(args.servers.display().to_string()))?;
    believed(&servers, args.execution.trust)?;
    let on = predict::On { machine: &machine, place, servers: &servers };
    let Some(predicted) = unless_interrupted(predict::all(experiments, on, args.within))? else {
        return Ok(Exit::Interrupted);
    };
    let (shortest, planning) = (predict::too_short(&predicted, args.within, on), begun.elapsed());
    let predictions = Predictions {
        schema: PREDICTIONS_SCHEMA,
        written: tare_results::now(),
        tare: env!("CARGO_PKG_VERSION").to_owned(),
        servers,
        within_s: args.within,
        experiments: predicted,
    };
    if args.dry_run {
        view::planned(&predictions, shortest.as_ref(), args.execution.json)?;
        return Ok(Exit::Done);
    }
    if let Some(shortest) = shortest {
        return Err(too_short(&shortest));
    }
    // If nothing can be run, there are no results to keep.
    if predictions.experiments.iter().all(|own| own.blocks == 0) {
        return carry_out::run(&predictions, Path::new(""), &args.execution.options(), Duration::ZERO);
    }
    let out = args.out.clone().unwrap_or_else(|| default_out("reproduce", &predictions.written));
    let whose = trust::whose(args.execution.trust);
    let present = Folder::open(&out, whose)?.map(|folder| folder.names()).transpose()?;
    if present.is_some_and(|names| !names.is_empty()) {
        return Err(Problem::new(Exit::Usage, "the folder is not empty").at(out.display().to_string()).advice(
            format!("choose another --out, or resume the run there: tare reproduce --resume {}", quoted_path(&out)),
        ));
    }
    if !carry_out::is_wanted(&predictions, &out, &args.execution.options())? {
        return Ok(Exit::Interrupted);
    }
    let folder = Folder::open_or_create(&out, whose)?;
    folder.write(PREDICTIONS, output::pretty(&predictions)?.as_bytes())?;
    carry_out::run(&predictions, &out, &args.execution.options(), planning)
}

fn too_short(Shortest { claim, within_s }: &Shortest) -> Problem {
    let least = output::duration(*within_s);
    Problem::new(Exit::Usage, "--within is too short to decide any of these claims")
        .expected(format!("at least {least}, in which {claim} may be decided"))
        .advice(format!("begin with: tare reproduce {claim} --within {within_s}s"))
}

fn resume(path: &Path, args: &ReproduceArgs) -> Result<Exit, Problem> {
    let none = || {
        Problem::new(Exit::Usage, "this folder has no run of tare reproduce")
            .at(path.display().to_string())
            .expected(format!("a folder with {PREDICTIONS}"))
    };
    let folder = Folder::open(path, trust::whose(args.execution.trust))?.ok_or_else(none)?;
    let bytes = folder.read(PREDICTIONS, LARGEST)?.ok_or_else(none)?;
    let predictions = predict::read(&bytes)?;
    believed(&predictions.servers, args.execution.trust)?;
    interrupt::stop()?;
    if !carry_out::is_wanted(&predictions, path, &args.execution.options())? {
        return Ok(Exit::Interrupted);
    }
    carry_out::run(&predictions, path, &args.execution.options(), Duration::ZERO)
}

/// Programs in this directory run as this user; by default it is below the working directory.
fn believed(servers: &Path, trusted: bool) -> Result<(), Problem> {
    Folder::open(servers, trust::whose(trusted))?;
    Ok(())
}

/// The experiments with this name; without a name, all.
fn chosen(all: Vec<Experiment>, name: Option<&str>) -> Result<Vec<Experiment>, Problem> {
    let Some(name) = name else { return Ok(all) };
    claims::chosen(&all, name).ok_or_else(|| {
        let problem = Problem::new(Exit::Usage, format!("there is no claim {name}")).expected(
            "a claim, an experiment, or the letter of an article, A to D, as tare reproduce --list shows them",
        );
        let names = all.iter().flat_map(|e| std::iter::once(&e.name).chain(e.claims.iter().map(|claim| &claim.name)));
        match tare_text::nearest(name, names.map(String::as_str)) {
            Some(near) => problem.advice(format!("did you mean `tare reproduce {near}`?")),
            None => problem.advice("list the claims with: tare reproduce --list"),
        }
    })
}

/// The experiments with their claims on MySQL tested on this engine; those whose claims name a server are unchanged.
fn on_engine(experiments: Vec<Experiment>, engine: &str) -> Result<Vec<Experiment>, Problem> {
    if experiments.iter().all(|own| own.engines.is_empty()) {
        return Err(Problem::new(
            Exit::Usage,
            "--engine: these claims are not about MySQL, or name the server of their study",
        )
        .expected("claims of the articles A and B")
        .advice("leave out --engine"));
    }
    Ok(experiments.into_iter().map(|own| claims::on_engine(own, engine)).collect())
}
