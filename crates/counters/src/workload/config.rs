//! What is set before a run.

use strum::{Display, EnumString, IntoStaticStr, VariantNames};
use tare_text::UnknownWord;

use super::error::Error;
use crate::strategies::Strategy;

/// Where random numbers come from.
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
    /// The name in studies and results.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

fn unknown(found: &str) -> Error {
    Error::UnknownMode(UnknownWord::among(found, <Mode as VariantNames>::VARIANTS))
}

/// A run. One strategy; give each run a process of its own, as counters and heap stay as the run before left them.
#[derive(Clone, Copy)]
pub struct Config<'a> {
    /// How counters are kept.
    pub strategy: Strategy,
    /// How many threads count at once.
    pub threads: usize,
    /// How many rounds each thread does.
    pub rounds: u64,
    /// Into how many blocks global counters are divided.
    pub counter_blocks: usize,
    /// How many global counters a block has.
    pub counters_per_block: usize,
    /// Blocks of 16 KiB of data, each with a counter of its own. May be 0 when `data_work` is off.
    pub data_blocks: usize,
    /// Where random numbers come from.
    pub mode: Mode,
    /// Whether rounds do their data steps. Off, a round is its 160 global increments and 320 calls of the generator.
    pub data_work: bool,
    /// Seed of all that is random.
    pub seed: u64,
    /// Called in each thread, with its number from 0, before it does anything else: binds it where the study wants it.
    pub bind: &'a (dyn Fn(usize) + Sync),
}

impl Config<'static> {
    /// The article's sizes: 100 blocks of 10 counters, 1,000,000 data blocks, 10,000 rounds; one thread, faithful, with
    /// data work, threads left to the system.
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
            seed: 1,
            bind: &|_| {},
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
        if self.data_work {
            zero("data_blocks", self.data_blocks)?;
        }
        Ok(())
    }

    /// Global counters of all blocks; none when the number overflows.
    pub(super) fn global_counters(&self) -> Option<usize> {
        self.counter_blocks.checked_mul(self.counters_per_block)
    }
}
