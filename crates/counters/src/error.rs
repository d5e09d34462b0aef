//! Errors of making a set and of comparing snapshots. Adds and reads cannot fail.

use crate::backend::{Backend, UnknownBackend};
use std::fmt;
use std::io;

/// Why a [`CounterSet`](crate::CounterSet) could not be made, or two snapshots could not be compared. The traits are
/// implemented by hand, because the crate depends on libc only.
#[derive(Debug)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum Error {
    /// The name of a backend, given by the program or in the environment, is not that of any in [`Backend::ALL`].
    UnknownBackend(UnknownBackend),
    /// The requested backend cannot work in this process.
    Unavailable { backend: Backend, reason: String },
    /// The rows cannot be allocated: they exceed the address space, or the kernel refused the mapping.
    Memory { counters: usize, rows: usize, source: Option<io::Error> },
    /// The snapshot is of a set with another number of counters.
    OtherSet { expected: usize, found: usize },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownBackend(unknown) => unknown.fmt(f),
            Self::Unavailable { backend, reason } => write!(f, "counter backend {backend} cannot work here: {reason}"),
            Self::Memory { counters, rows, .. } => {
                write!(f, "no memory for {rows} rows of {counters} counters of 8 bytes")
            }
            Self::OtherSet { expected, found } => {
                write!(f, "the snapshot has {found} counters, this set has {expected}: it was taken from another set")
            }
        }
    }
}

impl From<UnknownBackend> for Error {
    fn from(unknown: UnknownBackend) -> Self {
        Self::UnknownBackend(unknown)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Memory { source: Some(source), .. } => Some(source),
            _ => None,
        }
    }
}
