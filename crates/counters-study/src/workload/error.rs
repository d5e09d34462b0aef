//! Why a run did not begin, or did not end.

use std::io;
use tare_text::UnknownWord;

/// Why a run did not begin, or did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("no counter strategy is called so: {0}")]
    UnknownStrategy(UnknownWord),
    #[error("no mode is called so: {0}")]
    UnknownMode(UnknownWord),
    /// A name that no scope of the memory policy has.
    #[error("no scope of the memory policy is called so: {0}")]
    UnknownScope(UnknownWord),
    /// The memory policy that was requested could not be set; the reason.
    #[error("the memory policy could not be set: {0}")]
    MemoryPolicy(String),
    /// The one who asked for the run could not begin to watch it; the reason.
    #[error("{0}")]
    NotReady(String),
    /// A number that must be at least 1 is 0.
    #[error("{what} is 0; expected at least 1")]
    Zero { what: &'static str },
    /// The blocks and counters do not fit this machine's memory.
    #[error(
        "{needed_bytes} bytes are needed ({data_blocks} data blocks of 16 KiB, {counters} counters of \
         {bytes_per_counter} bytes), {available_bytes} are available here; fewer data blocks, or a strategy with smaller \
         counters, need less"
    )]
    Memory {
        /// Bytes the run would take; `u64::MAX` when even that is too small.
        needed_bytes: u64,
        /// Bytes this machine, or the control group of this process, still has.
        available_bytes: u64,
        data_blocks: usize,
        counters: u64,
        bytes_per_counter: u64,
    },
    #[error("counter strategy {strategy} cannot work here: {reason}")]
    Unavailable { strategy: &'static str, reason: String },
    /// The counters of `tare-counters` could not be made.
    #[error(transparent)]
    Counters(#[from] tare_counters::Error),
    #[error("thread {thread} could not be started")]
    Spawn { thread: usize, source: io::Error },
    /// A thread failed (the `bind` hook, as a rule); its message went to standard error.
    #[error("a counting thread failed")]
    Thread,
}
