//! `tare shard`: divides one study among several machines; `tare run --shard` runs the part of this one.

use super::interrupt::{self, unless_interrupted};
use super::output::{duration, note, quoted_path};
use super::study_file::{self, StudyChanges, StudyText};
use super::{Exit, Problem, plan_view, read_topology, trust};
use clap::Args;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tare_drive::capture::environment::environment;
use tare_noise::host_name;
use tare_results::schema::Plan;
use tare_results::shards::{Sharded, TakenShard, finished_blocks};
use tare_results::store::{Directory, read_plan, read_study_text};
use tare_study::language::spec::Study;
use tare_study::language::write::{self, parse_written};
use tare_study::plan::resolve::{Where, resolve};
use tare_study::plan::shard::{each_s, part};
use tare_study::plan::task::same_machine;
use tare_topology::{Fingerprint, Machine};

#[derive(Debug, Args)]
pub(crate) struct Cut {
    /// A study file, or the name of a built-in study
    #[arg(value_name = "STUDY")]
    study: String,
    /// The folder that all machines see [default: tare-shards/STUDY]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    changes: StudyChanges,
    /// The machines that will run the study, if they differ from this one: a description, or an hwloc XML file
    #[arg(long, value_name = "SPEC")]
    topology: Option<String>,
    /// Use a study or a folder that other users own or may write to: programs named in them run as you
    #[arg(long)]
    trust: bool,
}

/// Cut a study into shards for several machines: whole blocks, so that no comparison crosses machines
#[derive(Debug, Args)]
pub(crate) struct ShardArgs {
    /// How many shards
    #[arg(long, value_name = "N")]
    into: usize,
    #[command(flatten)]
    cut: Cut,
}

/// The command that makes results of these shards, next to them.
pub(super) fn merge(shards: &Path) -> String {
    let mut out = shards.as_os_str().to_owned();
    out.push("-merged");
    format!("tare merge {} --out {}", quoted_path(shards), quoted_path(Path::new(&out)))
}

/// Creates the directory that the machines share, and prints how to go on.
pub(crate) fn run(args: &ShardArgs) -> Result<Exit, Problem> {
    let (sharded, each_s) = cut(&args.cut, args.into)?;
    let (path, count) = (quoted_path(sharded.path()), sharded.count());
    note(&format!(
        "{} in {path}: {} in all, about {} for each shard. On each machine, with the same program:\n  tare run --shard {path} 0    \
         (to {})\nprogress, and the results so far:\n  tare show {path}\nto merge all shards into one results \
         directory:\n  {}",
        tare_text::count(count, "shard"),
        tare_text::count(sharded.plan().trials.len(), "trial"),
        duration(each_s),
        count - 1,
        merge(sharded.path())
    ));
    Ok(Exit::Done)
}

/// The shards, and the expected time of each, seconds.
pub(crate) fn cut(args: &Cut, count: usize) -> Result<(Sharded, f64), Problem> {
    // The copy in the directory will belong to this user.
    let trust = trust::whose(args.trust);
    let study = StudyText::read(&args.study, trust, false)?;
    let (machine, place) = read_topology::machine(args.topology.as_deref())?;
    let study = study.parse(&args.changes.overrides())?;
    if place == Where::Here {
        args.changes.are_servers(&study)?;
    }
    let planned = unless_interrupted(study_file::planned(study, &machine, place, true))?;
    let (study, plan) = planned.ok_or_else(|| interrupt::problem("planning"))?;
    let usage = |e: String| Problem::new(Exit::Usage, e);
    let grows = plan.race.is_some() || plan.trials_in_all() > plan.trials.len();
    if study.sampling.target_half_width.is_some() || grows {
        return Err(usage("a study that chooses its number of trials while it runs cannot be cut into shards".into())
            .at("[sampling] target_half_width, or within_s")
            .advice("set the number instead: --set sampling.trials=20"));
    }
    if !plan.client_machines.is_empty() {
        return Err(usage("a study whose clients are on another host cannot be cut into shards".into())
            .at("[client] host")
            .advice("run it on one pair of hosts: tare run"));
    }
    plan_view::print_notes(&plan);
    plan_view::print_unrealizable(&plan);
    plan_view::something_left(&study, &plan)?;
    let blocks = plan.trials.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
    if count == 0 || count > blocks {
        return Err(usage(format!(
            "the {} of this study cannot be divided into {}",
            tare_text::count(blocks, "block"),
            tare_text::count(count, "shard")
        ))
        .expected(format!("1 to {blocks} shards: a block (one trial of each condition) stays on one machine"))
        .advised((count > 0).then(|| format!("more blocks: --set sampling.trials={count}"))));
    }
    let out = args.out.clone().unwrap_or_else(|| Path::new("tare-shards").join(&study.name));
    let each_s = each_s(&study, &plan, count);
    Ok((Sharded::create(&out, &write::to_toml(&study), &plan, count, trust)?, each_s))
}

pub(crate) struct Piece {
    pub study: Study,
    pub plan: Plan,
    pub directory: Directory,
    _shard: TakenShard,
}

/// Takes a shard, whether it is new or was started on this or another machine. Blocks that another machine finished
/// stay in its results; blocks that it only started are run here as a whole.
pub(crate) fn take_piece(sharded: &Sharded, index: usize) -> Result<Piece, Problem> {
    let path = sharded.path();
    if index >= sharded.count() {
        return Err(Problem::new(Exit::Usage, format!("there is no shard {index}"))
            .at(path.display().to_string())
            .expected(format!("a number from 0 to {}", sharded.count() - 1)));
    }
    let shard = sharded.take(index)?;
    let study = parse_written(&read_study_text(sharded.folder())?, path)?;
    let machine = Machine::this()?;
    if let Some(directory) = shard.resume(&host_name())? {
        let plan = read_plan(directory.folder())?;
        same_machine(&plan, &Fingerprint::of(&machine))
            .map_err(|changed| Problem::from(changed).at(directory.path().display().to_string()))?;
        return Ok(Piece { study, plan, directory, _shard: shard });
    }
    let done = finished_blocks(sharded, index)?;
    let trials = &sharded.plan().trials;
    let blocks: BTreeSet<usize> =
        trials.iter().map(|t| t.block).filter(|b| sharded.shard_of(*b) == index && !done.contains(b)).collect();
    let here = resolve(&study, &machine, Where::Here).map_err(|e| Problem::new(Exit::Usage, e))?;
    let plan = part(sharded.plan(), &here, &blocks).map_err(|e| {
        Problem::new(Exit::Machine, e.to_string())
            .at(path.display().to_string())
            .advice("run it on identical machines, or cut the study without that condition")
    })?;
    let directory = shard.begin(&host_name())?;
    directory.begin(&write::to_toml(&study), &plan, &environment(&machine))?;
    Ok(Piece { study, plan, directory, _shard: shard })
}
