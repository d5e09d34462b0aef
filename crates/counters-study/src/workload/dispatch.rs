//! Selects the code that was compiled for a configuration.

use super::config::{Config, MemoryScope, Mode, Padding};
use super::counted::{Counted, Kept};
use super::error::Error;
use super::generator::{Generator, Locked, Own};
use super::outcome::Outcome;
use super::{memory, worker};
use crate::strategies::{
    Adaptive, Atomic, ByCachedNode, ByCpu, ByIndex, ByLibnuma, ByThread, Counting, Fuzzy, NodeAlloc, Own as OwnSet,
    Plan, PthreadMutex, Random, Sharded, StdMutex, Strategy, ThreadRow, node_count,
};
use tare_counters::cpus;

/// Runs the workload once.
///
/// # Errors
/// A run that is not possible is refused before memory is allocated: a setting of 0, more memory than available (with
/// the memory needed), a strategy that cannot work here. After that only threads, the memory policy and the hooks can
/// fail.
pub fn run(config: &Config<'_>) -> Result<Outcome, Error> {
    config.check()?;
    config.strategy.available()?;
    let (outcome, refused) = memory::under(config, MemoryScope::Process, || {
        let (plan, compiled) = (plan(config), Compiled::of(config));
        memory::check(config, (compiled.planned_bytes_per_counter)(&plan))?;
        worker::run(config, &plan, (compiled.prepare)(config, &plan)?)
    })?;
    Ok(Outcome { not_interleaved: outcome.not_interleaved.clone().or(refused), ..outcome })
}

/// Bytes that the counters and data of a run take, without the overhead of the allocator.
pub fn memory_bytes(config: &Config<'_>) -> u128 {
    memory::needed(config, (Compiled::of(config).planned_bytes_per_counter)(&plan(config)))
}

fn plan(config: &Config<'_>) -> Plan {
    let counters = config.global_counters().and_then(|globals| globals.checked_add(config.data_blocks));
    Plan { counters: counters.unwrap_or(usize::MAX), threads: config.threads, seed: config.seed }
}

/// The functions compiled for a strategy, its shards and a generator.
struct Compiled {
    planned_bytes_per_counter: fn(&Plan) -> u64,
    prepare: Prepare,
}

/// Creates the strategy, without counters and data yet.
type Prepare = fn(&Config<'_>, &Plan) -> Result<Box<dyn Counted>, Error>;

impl Compiled {
    fn of(config: &Config<'_>) -> Self {
        match config.mode {
            // 24 shards, as in the original program.
            Mode::Faithful => by_padding::<Locked, 24, 2>(config),
            // The smallest of these that has a shard for each CPU (each node). Only a few sizes, because each is
            // separate code; on larger machines several CPUs share a shard.
            Mode::Corrected => match (cpus::possible(), node_count()) {
                (..=24, ..=2) => by_padding::<Own, 24, 2>(config),
                (..=128, ..=8) => by_padding::<Own, 128, 8>(config),
                _ => by_padding::<Own, 512, 32>(config),
            },
        }
    }

    fn with<S: Counting + 'static, G: Generator>() -> Self {
        Self { planned_bytes_per_counter: S::planned_bytes_per_counter, prepare: Kept::<S, G>::prepare }
    }
}

/// Turns the padding into the number of values per shard, of which one counts.
fn by_padding<G: Generator, const C: usize, const N: usize>(config: &Config<'_>) -> Compiled {
    match config.padding {
        Padding::Packed => by_strategy::<G, C, N, 1>(config.strategy),
        Padding::Line => by_strategy::<G, C, N, 8>(config.strategy),
        Padding::Pair => by_strategy::<G, C, N, 16>(config.strategy),
    }
}

fn by_strategy<G: Generator, const C: usize, const N: usize, const W: usize>(strategy: Strategy) -> Compiled {
    match strategy {
        Strategy::PthreadMutex => Compiled::with::<PthreadMutex, G>(),
        Strategy::StdMutex => Compiled::with::<StdMutex, G>(),
        Strategy::Atomic => Compiled::with::<Atomic, G>(),
        Strategy::Fuzzy => Compiled::with::<Fuzzy<C, W>, G>(),
        Strategy::ShardIndex => Compiled::with::<Sharded<ByIndex, C, W>, G>(),
        Strategy::ShardRandom => Compiled::with::<Sharded<Random, C, W>, G>(),
        Strategy::ShardThread => Compiled::with::<Sharded<ByThread, C, W>, G>(),
        Strategy::ShardCpu => Compiled::with::<Sharded<ByCpu, C, W>, G>(),
        Strategy::ShardNodeLibnuma => Compiled::with::<Sharded<ByLibnuma, N, W>, G>(),
        Strategy::ShardNodeCached => Compiled::with::<Sharded<ByCachedNode, N, W>, G>(),
        Strategy::NodeAlloc => Compiled::with::<NodeAlloc, G>(),
        Strategy::CounterSet => Compiled::with::<OwnSet, G>(),
        Strategy::ThreadRow => Compiled::with::<ThreadRow, G>(),
        Strategy::Adaptive => Compiled::with::<Adaptive, G>(),
    }
}
