//! From a configuration to the code compiled for it.

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
/// Anything that cannot be run is refused before memory is allocated: a zero, more memory than there is (with the
/// memory needed), a strategy that cannot work here. Later only a thread can fail.
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

/// Bytes the counters and data of a run take, without the allocator's own.
pub fn memory_bytes(config: &Config<'_>) -> u128 {
    memory::needed(config, (Compiled::of(config).planned_bytes_per_counter)(&plan(config)))
}

fn plan(config: &Config<'_>) -> Plan {
    let counters = config.global_counters().and_then(|globals| globals.checked_add(config.data_blocks));
    Plan { counters: counters.unwrap_or(usize::MAX), threads: config.threads, seed: config.seed }
}

/// What is compiled for a strategy, its shards and a generator.
struct Compiled {
    planned_bytes_per_counter: fn(&Plan) -> u64,
    prepare: Prepare,
}

/// Makes the strategy, without counters and data yet.
type Prepare = fn(&Config<'_>, &Plan) -> Result<Box<dyn Counted>, Error>;

impl Compiled {
    fn of(config: &Config<'_>) -> Self {
        match config.mode {
            // The article's 24 shards.
            Mode::Faithful => by_padding::<Locked, 24, 2>(config),
            // The least of these that gives each CPU (each node) one. A few sizes, as each is code of its own; the
            // machines above are served with shards shared by CPUs.
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

/// The values from a shard to the next, of which one counts.
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
