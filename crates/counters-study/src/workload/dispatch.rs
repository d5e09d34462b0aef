//! From a configuration to the code compiled for it.

use tare_counters::cpus;

use super::config::{Config, MemoryScope, Mode, Padding};
use super::error::Error;
use super::generator::{Locked, Own};
use super::outcome::Outcome;
use super::{memory, policy, worker};
use crate::strategies::{
    Adaptive, Atomic, ByCachedNode, ByCpu, ByIndex, ByLibnuma, ByThread, Counting, Fuzzy, NodeAlloc, Own as OwnSet,
    Plan, PthreadMutex, Random, Sharded, StdMutex, Strategy, ThreadRow, node_count,
};

/// Runs the workload once.
///
/// # Errors
/// Anything that cannot be run is refused before memory is allocated: a zero, more memory than there is (with the
/// memory needed), a strategy that cannot work here. Later only a thread can fail.
pub fn run(config: &Config<'_>) -> Result<Outcome, Error> {
    config.check()?;
    config.strategy.available()?;
    let (outcome, refused) = policy::under(config, MemoryScope::Process, || dispatch(config, &Run))?;
    Ok(Outcome { not_interleaved: outcome.not_interleaved.clone().or(refused), ..outcome })
}

/// Bytes the counters and data of a run take, without the allocator's own.
pub fn memory_bytes(config: &Config<'_>) -> u128 {
    dispatch(config, &Size)
}

/// What is done once the types are known.
trait Act {
    type Answer;
    fn act<S: Counting>(&self, config: &Config<'_>) -> Self::Answer;
}

/// The article's 24 shards, or the least of these that gives each CPU (each node) one. A few sizes, as each is code of
/// its own; the machines above are served with shards shared by CPUs.
fn dispatch<A: Act>(config: &Config<'_>, act: &A) -> A::Answer {
    let (cpus, nodes) = match config.mode {
        Mode::Faithful => (24, 2),
        Mode::Corrected => (cpus::possible(), node_count()),
    };
    match (cpus, nodes) {
        (..=24, ..=2) => by_padding::<A, 24, 2>(config, act),
        (..=128, ..=8) => by_padding::<A, 128, 8>(config, act),
        _ => by_padding::<A, 512, 32>(config, act),
    }
}

/// The values from a shard to the next, of which one counts.
fn by_padding<A: Act, const C: usize, const N: usize>(config: &Config<'_>, act: &A) -> A::Answer {
    match config.padding {
        Padding::Packed => by_strategy::<A, C, N, 1>(config, act),
        Padding::Line => by_strategy::<A, C, N, 8>(config, act),
        Padding::Pair => by_strategy::<A, C, N, 16>(config, act),
    }
}

fn by_strategy<A: Act, const C: usize, const N: usize, const W: usize>(config: &Config<'_>, act: &A) -> A::Answer {
    match config.strategy {
        Strategy::PthreadMutex => act.act::<PthreadMutex>(config),
        Strategy::StdMutex => act.act::<StdMutex>(config),
        Strategy::Atomic => act.act::<Atomic>(config),
        Strategy::Fuzzy => act.act::<Fuzzy<C, W>>(config),
        Strategy::ShardIndex => act.act::<Sharded<ByIndex, C, W>>(config),
        Strategy::ShardRandom => act.act::<Sharded<Random, C, W>>(config),
        Strategy::ShardThread => act.act::<Sharded<ByThread, C, W>>(config),
        Strategy::ShardCpu => act.act::<Sharded<ByCpu, C, W>>(config),
        Strategy::ShardNodeLibnuma => act.act::<Sharded<ByLibnuma, N, W>>(config),
        Strategy::ShardNodeCached => act.act::<Sharded<ByCachedNode, N, W>>(config),
        Strategy::NodeAlloc => act.act::<NodeAlloc>(config),
        Strategy::CounterSet => act.act::<OwnSet>(config),
        Strategy::ThreadRow => act.act::<ThreadRow>(config),
        Strategy::Adaptive => act.act::<Adaptive>(config),
    }
}

fn plan(config: &Config<'_>) -> Plan {
    let counters = config.global_counters().and_then(|globals| globals.checked_add(config.data_blocks));
    Plan { counters: counters.unwrap_or(usize::MAX), threads: config.threads, seed: config.seed }
}

struct Size;

impl Act for Size {
    type Answer = u128;

    fn act<S: Counting>(&self, config: &Config<'_>) -> u128 {
        memory::needed(config, S::planned_bytes_per_counter(&plan(config)))
    }
}

struct Run;

impl Act for Run {
    type Answer = Result<Outcome, Error>;

    fn act<S: Counting>(&self, config: &Config<'_>) -> Self::Answer {
        let plan = plan(config);
        memory::check(config, S::planned_bytes_per_counter(&plan))?;
        match config.mode {
            Mode::Faithful => worker::run::<S, Locked>(config, &plan),
            Mode::Corrected => worker::run::<S, Own>(config, &plan),
        }
    }
}
