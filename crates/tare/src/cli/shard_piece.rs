//! The part of a study that `tare run --shard` runs on this machine.

use super::{Exit, Problem};
use std::collections::BTreeSet;
use tare_drive::capture::environment::environment;
use tare_noise::host_name;
use tare_results::schema::Plan;
use tare_results::shards::{Sharded, TakenShard, finished_blocks};
use tare_results::store::{Directory, read_plan, read_study_text};
use tare_study::language::spec::Study;
use tare_study::language::write;
use tare_study::language::write::parse_written;
use tare_study::plan::resolve::{Where, resolve};
use tare_study::plan::shard::part;
use tare_study::plan::task::same_machine;
use tare_topology::{Fingerprint, Machine};

pub(crate) struct Piece {
    pub study: Study,
    pub plan: Plan,
    pub directory: Directory,
    _shard: TakenShard,
}

/// Takes a shard, whether it is new or was started on this or another machine. Blocks that another machine finished
/// stay in its results; blocks that it only started are run here as a whole.
pub(crate) fn take(sharded: &Sharded, index: usize) -> Result<Piece, Problem> {
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
