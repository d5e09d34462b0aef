//! What can go wrong when threads and memory are bound.

use crate::MemoryPolicy;
use std::io;
use tare_cpuset::AffinityError;

/// Why a thread or its memory is not bound as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum BindError {
    /// The CPUs of a thread.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// hwloc or the kernel refused.
    #[error("setting memory policy {policy} failed: {reason}")]
    SetPolicy { policy: MemoryPolicy, reason: String },
    /// The policy could not be read back.
    #[error("reading the memory policy from {path} failed: {source}")]
    ReadPolicy { path: String, source: io::Error },
    /// Where the pages of shared memory are is not known.
    #[error("the location of the shared memory of process {pid} is unknown: {reason}")]
    ReadShared { pid: i32, reason: String },
    /// A policy that [`MemoryPolicy`] has no word for.
    #[error("{path} shows a memory policy that is not supported: {found:?}")]
    UnknownPolicy { path: String, found: String },
    /// The kernel took another policy than asked.
    #[error("the memory policy should be {requested}, but the kernel shows {found}")]
    PolicyDiffers { requested: MemoryPolicy, found: MemoryPolicy },
}
