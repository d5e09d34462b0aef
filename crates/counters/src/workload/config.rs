//! What is set before a run.

use std::fmt;
use std::str::FromStr;

use super::error::Error;
use crate::strategies::Strategy;

/// Where random numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// libc's `rand()`, as the article: in glibc one lock for the whole process, taken 448 times a round. (musl's takes
    /// none.) Shards are as many as the article's: 24, and 2 for nodes.
    Faithful,
    /// A generator a thread, no lock. Shards fit the machine.
    Corrected,
}

impl Mode {
    /// The name in studies and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Faithful => "faithful",
            Self::Corrected => "corrected",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        [Self::Faithful, Self::Corrected]
            .into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| Error::UnknownMode { given: text.to_owned() })
    }
}

/// A run. One strategy; give each run a process of its own, as counters and heap stay as the run before left them.
#[derive(Clone, Copy)]
pub struct Config<'a> {
    /// How counters are kept.
    pub strategy: Strategy,
    /// Threads that count.
    pub threads: usize,
    /// Rounds each thread does.
    pub rounds: u64,
    /// Blocks of global counters.
    pub counter_blocks: usize,
    /// Global counters a block.
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

    /// Global counters.
    pub(super) fn global_counters(&self) -> Option<usize> {
        self.counter_blocks.checked_mul(self.counters_per_block)
    }
}
