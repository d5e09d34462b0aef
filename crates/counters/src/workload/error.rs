//! Why a run did not begin, or did not end.

use std::io;

/// Why a run did not begin, or did not end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Not a strategy's name.
    #[error("no counter strategy is called {given:?}; expected one of {known}")]
    UnknownStrategy {
        /// The name as given.
        given: String,
        /// The names there are.
        known: String,
    },
    /// Not a mode's name.
    #[error("no mode is called {given:?}; expected faithful or corrected")]
    UnknownMode {
        /// The name as given.
        given: String,
    },
    /// A number that must be at least 1 is 0.
    #[error("{what} is 0; expected at least 1")]
    Zero {
        /// Which one.
        what: &'static str,
    },
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
        /// Data blocks asked for.
        data_blocks: usize,
        /// Counters, global and of data blocks.
        counters: u64,
        /// Bytes one counter takes.
        bytes_per_counter: u64,
    },
    /// The strategy cannot work on this machine.
    #[error("counter strategy {strategy} cannot work here: {reason}")]
    Unavailable {
        /// The strategy's name.
        strategy: &'static str,
        /// What is missing.
        reason: String,
    },
    /// This crate's own counters could not be made.
    #[error(transparent)]
    Counters(#[from] crate::Error),
    /// A thread could not be started.
    #[error("thread {thread} could not be started")]
    Spawn {
        /// Its number from 0.
        thread: usize,
        /// What the system said.
        source: io::Error,
    },
    /// A thread failed (the `bind` hook, as a rule); its message went to standard error.
    #[error("a counting thread failed")]
    Thread,
}
