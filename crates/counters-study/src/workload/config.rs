//! The settings of a run, and whether it fits in memory with its memory policy.

use super::blocks::DATA_BYTES;
use super::error::Error;
use crate::strategies::{Strategy, interleave_own_allocations};
use std::thread::{Builder, scope};
use strum::{Display, EnumString, VariantNames};
use tare_text::UnknownWord;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = Error, parse_err_fn = unknown)]
pub enum Mode {
    /// libc's `rand()`, as in the original program: in glibc one lock for the whole process, taken 448 times per round
    /// (musl's takes none). As many shards as in the original program: 24, and 2 for nodes.
    Faithful,
    /// One generator per thread, without a lock. The number of shards suits the machine.
    Corrected,
}

fn unknown(found: &str) -> Error {
    Error::Unknown { what: "mode", found: UnknownWord::among(found, Mode::VARIANTS) }
}

/// What the memory policy of a run applies to. The authors of "NUMA Smart Global Counter" used both, one after the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = Error, parse_err_fn = unknown_scope)]
pub enum MemoryScope {
    /// Counters and data: the policy is set while they are allocated and reset before threads start, as with the
    /// argument `numa` of the original program.
    Payload,
    /// Everything, including the stacks and allocations of threads: as under `numactl --interleave=all`.
    Process,
}

fn unknown_scope(found: &str) -> Error {
    Error::Unknown { what: "scope of the memory policy", found: UnknownWord::among(found, MemoryScope::VARIANTS) }
}

/// Bytes from one shard or slot to the next, which keep those of different CPUs in different cache lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Padding {
    /// 8 bytes, no padding: shards share cache lines.
    Packed,
    /// 64 bytes, as everywhere in the original program: a cache line of x86-64 and of most Arm processors.
    Line,
    /// 128 bytes: a cache line of Kunpeng's level 3 and of Apple's processors, and the pair of lines that x86-64
    /// prefetches.
    Pair,
}

impl Padding {
    pub const ALL: [Self; 3] = [Self::Packed, Self::Line, Self::Pair];

    /// Bytes from one shard to the next.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Packed => 8,
            Self::Line => 64,
            Self::Pair => 128,
        }
    }

    /// The padding of that many bytes, if there is one.
    pub fn of(bytes: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|padding| padding.bytes() == bytes)
    }
}

/// A run of one strategy. Run each in a process of its own, because counters and heap keep their state from the run
/// before.
#[derive(Clone, Copy)]
pub struct Config<'a> {
    pub strategy: Strategy,
    pub threads: usize,
    pub rounds: u64,
    pub counter_blocks: usize,
    pub counters_per_block: usize,
    /// Blocks of 16 KiB of data, each with its own counter. May be 0 when `data_work` is off.
    pub data_blocks: usize,
    pub mode: Mode,
    /// Whether rounds make their data steps. If off, a round is its global increments and two calls of the generator
    /// for each.
    pub data_work: bool,
    /// Data steps per round; a round increments global counters ten times as often. The original program has 16, enough
    /// to use a whole level-2 cache.
    pub steps: u64,
    /// Padding between the shards of a counter, for strategies that have shards or slots.
    pub padding: Padding,
    pub memory_scope: MemoryScope,
    pub seed: u64,
    /// The memory that a run may use; a larger one is refused. `u64::MAX`: not known.
    pub available_bytes: u64,
    pub hooks: Hooks<'a>,
}

/// Increments of global counters per data step.
const INCREMENTS_A_STEP: u64 = 10;

impl Config<'static> {
    /// The sizes of the original program: 100 blocks of 10 counters, 1,000,000 data blocks, 10,000 rounds; one thread,
    /// faithful, with data work of 16 steps per round, shards 64 bytes apart, counters and data interleaved, threads
    /// not bound.
    pub fn article(strategy: Strategy) -> Self {
        Self {
            strategy,
            threads: 1,
            rounds: 10_000,
            counter_blocks: 100,
            counters_per_block: 10,
            data_blocks: 1_000_000,
            mode: Mode::Faithful,
            data_work: true,
            steps: 16,
            padding: Padding::Line,
            memory_scope: MemoryScope::Payload,
            seed: 1,
            available_bytes: u64::MAX,
            hooks: Hooks::NONE,
        }
    }
}

impl Config<'_> {
    /// Checks that the run is possible, before anything is allocated.
    ///
    /// # Errors
    /// [`Error::Zero`] for a setting that must not be 0, or the memory that is needed and the memory that is available.
    pub fn check(&self) -> Result<(), Error> {
        let zero = |what, value| if value == 0 { Err(Error::Zero { what }) } else { Ok(()) };
        zero("threads", self.threads)?;
        zero("rounds", usize::try_from(self.rounds).unwrap_or(usize::MAX))?;
        zero("counter_blocks", self.counter_blocks)?;
        zero("counters_per_block", self.counters_per_block)?;
        zero("steps", usize::try_from(self.steps).unwrap_or(usize::MAX))?;
        if self.data_work {
            zero("data_blocks", self.data_blocks)?;
        }
        Ok(())
    }

    /// Increments of global counters by one thread in one round.
    pub(crate) fn increments_a_round(&self) -> u64 {
        self.steps.saturating_mul(INCREMENTS_A_STEP)
    }

    /// The number of global counters of all blocks; `None` when it overflows.
    pub(super) fn global_counters(&self) -> Option<usize> {
        self.counter_blocks.checked_mul(self.counters_per_block)
    }
}

/// Sets the memory policy of the calling thread.
type SetPolicy<'a> = dyn Fn() -> Result<(), String> + Sync + 'a;

/// Callbacks during a run, which place threads and memory and observe the run.
#[derive(Clone, Copy)]
pub struct Hooks<'a> {
    /// Called first in each thread, with its number from 0: binds the thread.
    pub bind: &'a (dyn Fn(usize) + Sync),
    /// Called in a separate thread, before counters and data are allocated there: sets a memory policy in place of that
    /// of the original program, which interleaves over all nodes. An error ends the run.
    pub memory: Option<&'a SetPolicy<'a>>,
    /// Called when memory is allocated and all threads wait for the start. An error ends the run.
    pub ready: &'a (dyn Fn() -> Result<(), String> + Sync),
    /// Called when all threads have finished their rounds and still exist.
    pub done: &'a (dyn Fn() + Sync),
    /// Called by each thread every few rounds: if true, the thread makes no further ones. The outcome of the run then
    /// means nothing.
    pub stopped: &'a (dyn Fn() -> bool + Sync),
}

impl Hooks<'static> {
    /// No callbacks: threads are not bound, and memory is interleaved as in the original program.
    pub const NONE: Self = Self { bind: &|_| {}, memory: None, ready: &|| Ok(()), done: &|| {}, stopped: &|| false };
}

/// Refuses a run for which the memory is too small. Called before anything is allocated.
pub(super) fn check_memory(config: &Config<'_>, bytes_per_counter: u64) -> Result<(), Error> {
    let available_bytes = config.available_bytes;
    let needed = memory_needed(config, bytes_per_counter);
    if needed <= u128::from(available_bytes) {
        return Ok(());
    }
    Err(Error::Memory {
        needed_bytes: u64::try_from(needed).unwrap_or(u64::MAX),
        available_bytes,
        data_blocks: config.data_blocks,
        counters: u64::try_from(counters_in_all(config)).unwrap_or(u64::MAX),
        bytes_per_counter,
    })
}

pub(super) fn memory_needed(config: &Config<'_>, bytes_per_counter: u64) -> u128 {
    let data = config.data_blocks as u128 * DATA_BYTES as u128;
    counters_in_all(config).saturating_mul(u128::from(bytes_per_counter)).saturating_add(data)
}

fn counters_in_all(config: &Config<'_>) -> u128 {
    config.counter_blocks as u128 * config.counters_per_block as u128 + config.data_blocks as u128
}

/// Why memory could not be interleaved, when the default policy was refused.
type Refused = Option<String>;

/// Calls `act` in a separate thread under the run's memory policy, if the policy has the scope `scope_of_policy`;
/// otherwise in this thread. Threads started by the separate thread inherit the policy.
pub(super) fn under_policy<T: Send>(
    config: &Config<'_>,
    scope_of_policy: MemoryScope,
    act: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<(T, Refused), Error> {
    if config.memory_scope != scope_of_policy {
        return Ok((act()?, None));
    }
    scope(|scope| {
        let thread = Builder::new().spawn_scoped(scope, || {
            let refused = set_policy(config)?;
            Ok((act()?, refused))
        });
        thread.map_err(|source| Error::Spawn { thread: 0, source })?.join().map_err(|_| Error::Thread)?
    })
}

fn set_policy(config: &Config<'_>) -> Result<Refused, Error> {
    match config.hooks.memory {
        Some(apply) => apply().map(|()| None).map_err(Error::MemoryPolicy),
        None => Ok(interleave_own_allocations().err().map(|error| error.to_string())),
    }
}
