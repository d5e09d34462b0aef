//! The piece of a study that `tare run --shard` runs on this machine.

use super::{Exit, Problem};
use std::collections::BTreeSet;
use std::path::Path;
use tare_drive::capture::environment::environment;
use tare_results::schema::Plan;
use tare_results::shards::{Sharded, finished_blocks};
use tare_results::store::{Directory, read_plan};
use tare_study::language::spec::Study;
use tare_study::language::write;
use tare_study::language::written::read_study;
use tare_study::plan::resolve::{Where, resolve};
use tare_study::plan::shard::part;
use tare_study::plan::task::same_machine;
use tare_topology::{Fingerprint, Machine};

/// What a shard has left for this machine.
pub struct Piece {
    /// The study, as it was cut.
    pub study: Study,
    /// The blocks that are this machine's.
    pub plan: Plan,
    /// Where its records go.
    pub directory: Directory,
    _shard: Directory,
}

/// Takes a shard, begun before on this machine, on another, or by no one. Blocks that another machine finished stay
/// where they are; those that it had only begun are run whole here.
///
/// # Errors
/// When there is no such shard, another run has it, or this machine cannot do it or has changed.
pub fn take(path: &Path, index: usize) -> Result<Piece, Problem> {
    let sharded = Sharded::open(path)?.ok_or_else(|| {
        Problem::new(Exit::Usage, "this is not a study that was cut into shards")
            .at(path.display().to_string())
            .advice("make one with: tare shard STUDY --into N --out DIR")
    })?;
    if index >= sharded.count() {
        return Err(Problem::new(Exit::Usage, format!("there is no shard {index}"))
            .at(path.display().to_string())
            .expected(format!("a number from 0 to {}", sharded.count() - 1)));
    }
    let shard = sharded.take(index)?;
    let study = read_study(path)?;
    let machine = Machine::this()?;
    let own = sharded.part(index, &host_name())?;
    if own.join("plan.json").is_file() {
        let plan = read_plan(&own)?;
        same_machine(&plan, &Fingerprint::of(&machine))
            .map_err(|changed| Problem::from(changed).at(own.display().to_string()))?;
        let directory = Directory::resume(&own)?;
        return Ok(Piece { study, plan, directory, _shard: shard });
    }
    let done = finished_blocks(&sharded, index)?;
    let trials = &sharded.plan().trials;
    let blocks: BTreeSet<usize> =
        trials.iter().map(|t| t.block).filter(|b| sharded.owns(index, *b) && !done.contains(b)).collect();
    let here = resolve(&study, &machine, Where::Here).map_err(|e| Problem::new(Exit::Usage, e))?;
    let plan = part(sharded.plan(), &here, &blocks).map_err(|e| {
        Problem::new(Exit::Machine, e.to_string())
            .at(path.display().to_string())
            .advice("run it on machines alike, or cut the study without that condition")
    })?;
    let directory = Directory::create(&own)?;
    directory.begin(&write::to_toml(&study), &plan, &environment(&machine))?;
    Ok(Piece { study, plan, directory, _shard: shard })
}

/// The name that this machine's part goes by.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
