//! What is set before a run.

use super::error::Error;
use crate::strategies::Strategy;
use strum::{Display, EnumString, IntoStaticStr, VariantNames};
use tare_text::UnknownWord;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = Error, parse_err_fn = unknown)]
pub enum Mode {
    /// libc's `rand()`, as the article: in glibc one lock for the whole process, taken 448 times a round. (musl's takes
    /// none.) Shards are as many as the article's: 24, and 2 for nodes.
    Faithful,
    /// A generator a thread, no lock. Shards fit the machine.
    Corrected,
}

impl Mode {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

fn unknown(found: &str) -> Error {
    Error::UnknownMode(UnknownWord::among(found, <Mode as VariantNames>::VARIANTS))
}

/// What the memory policy of a run holds for. The article's authors ran both, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case", parse_err_ty = Error, parse_err_fn = unknown_scope)]
pub enum MemoryScope {
    /// Counters and data: set while they are allocated and taken back before threads start, as the argument `numa` of
    /// the article's program does.
    Payload,
    /// Everything, threads' stacks and what they allocate too: as under `numactl --interleave=all`.
    Process,
}

fn unknown_scope(found: &str) -> Error {
    Error::UnknownScope(UnknownWord::among(found, <MemoryScope as VariantNames>::VARIANTS))
}

/// Bytes from a shard or slot to the next, which keep those of several CPUs out of one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Padding {
    /// 8 bytes, none between values: shards share lines.
    Packed,
    /// 64 bytes, as the article has it everywhere: a line of x86-64 and of most Arm processors.
    Line,
    /// 128 bytes: a line of Kunpeng's level 3 and of Apple's processors, and the pair of lines that x86-64 prefetches.
    Pair,
}

impl Padding {
    pub const ALL: [Self; 3] = [Self::Packed, Self::Line, Self::Pair];

    /// From a shard to the next, bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Packed => 8,
            Self::Line => 64,
            Self::Pair => 128,
        }
    }

    /// The one of so many bytes, where there is one.
    pub fn of(bytes: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|padding| padding.bytes() == bytes)
    }
}

/// A run. One strategy; give each run a process of its own, as counters and heap stay as the run before left them.
#[derive(Clone, Copy)]
pub struct Config<'a> {
    pub strategy: Strategy,
    pub threads: usize,
    pub rounds: u64,
    /// Into how many blocks global counters are divided.
    pub counter_blocks: usize,
    pub counters_per_block: usize,
    /// Blocks of 16 KiB of data, each with a counter of its own. May be 0 when `data_work` is off.
    pub data_blocks: usize,
    pub mode: Mode,
    /// Whether rounds do their data steps. Off, a round is its global increments and two calls of the generator each.
    pub data_work: bool,
    /// Data steps a round, and ten times as many increments of global counters; the article's program has 16, enough
    /// to go through a level 2 cache.
    pub steps: u64,
    /// How far apart the shards of a counter lie, for strategies that have shards or slots.
    pub padding: Padding,
    pub memory_scope: MemoryScope,
    pub seed: u64,
    /// What the caller does meanwhile.
    pub hooks: Hooks<'a>,
}

/// Increments of global counters for each data step of a round.
const INCREMENTS_A_STEP: u64 = 10;

impl Config<'static> {
    /// The article's sizes: 100 blocks of 10 counters, 1,000,000 data blocks, 10,000 rounds; one thread, faithful, with
    /// data work of 16 steps a round, shards 64 bytes apart, counters and data interleaved, threads left to the system.
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
            hooks: Hooks::NONE,
        }
    }
}

impl Config<'_> {
    /// Refuses what cannot be run, before anything is allocated.
    ///
    /// # Errors
    /// [`Error::Zero`] or the memory that would be needed against what there is.
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

    /// Increments of global counters that a thread makes in a round.
    pub fn increments_a_round(&self) -> u64 {
        self.steps.saturating_mul(INCREMENTS_A_STEP)
    }

    /// Global counters of all blocks; none when the number overflows.
    pub(super) fn global_counters(&self) -> Option<usize> {
        self.counter_blocks.checked_mul(self.counters_per_block)
    }
}

/// Sets the memory policy of the thread that calls it.
type SetPolicy<'a> = dyn Fn() -> Result<(), String> + Sync + 'a;

/// What a caller does while a run goes on: places threads and memory, watches.
#[derive(Clone, Copy)]
pub struct Hooks<'a> {
    /// Called in each thread, with its number from 0, before it does anything else: binds it where the study wants it.
    pub bind: &'a (dyn Fn(usize) + Sync),
    /// Called in a thread of the run's own, before counters and data are allocated there: gives it another memory
    /// policy than the article's, which interleaves over all nodes. An error ends the run.
    pub memory: Option<&'a SetPolicy<'a>>,
    /// Called when memory is allocated and all threads wait for the start. An error ends the run.
    pub ready: &'a (dyn Fn() -> Result<(), String> + Sync),
    /// Called when all threads have done their rounds, and are still there.
    pub done: &'a (dyn Fn() + Sync),
}

impl Hooks<'static> {
    /// Nothing: threads are left to the system, memory is interleaved as in the article.
    pub const NONE: Self = Self { bind: &|_| {}, memory: None, ready: &|| Ok(()), done: &|| {} };
}
