//! Errors of a run.

use std::io;
use tare_text::UnknownWord;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("unknown {what}: {found}")]
    Unknown { what: &'static str, found: UnknownWord },
    /// The requested memory policy could not be set; holds the reason.
    #[error("the memory policy could not be set: {0}")]
    MemoryPolicy(String),
    /// The caller could not begin to observe the run; holds the reason.
    #[error("{0}")]
    NotReady(String),
    #[error("{what} is 0; expected at least 1")]
    Zero { what: &'static str },
    /// The memory available is less than the blocks and counters need.
    #[error(
        "{needed_bytes} bytes are needed ({data_blocks} data blocks of 16 KiB, {counters} counters of \
         {bytes_per_counter} bytes), {available_bytes} are available here; fewer data blocks, or a strategy with smaller \
         counters, need less"
    )]
    Memory {
        /// Bytes that the run would take; `u64::MAX` when the number does not fit.
        needed_bytes: u64,
        /// Bytes available on this machine, or to the control group of this process.
        available_bytes: u64,
        data_blocks: usize,
        counters: u64,
        bytes_per_counter: u64,
    },
    #[error("counter strategy {strategy} cannot work here: {reason}")]
    Unavailable { strategy: &'static str, reason: String },
    #[error(transparent)]
    Counters(#[from] tare_counters::Error),
    #[error("thread {thread} could not be started")]
    Spawn { thread: usize, source: io::Error },
    /// A thread failed (usually in the `bind` hook); its message went to standard error.
    #[error("a counting thread failed")]
    Thread,
}
