//! What can go wrong when threads and memory are bound.

use crate::MemoryPolicy;
use std::io;
use tare_cpuset::AffinityError;

/// Why a thread or its memory is not bound as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The CPUs of a thread.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// hwloc or the kernel refused.
    #[error("setting memory policy {policy} failed: {reason}")]
    SetPolicy {
        /// What was requested.
        policy: MemoryPolicy,
        /// What the kernel or hwloc said.
        reason: String,
    },
    /// The policy could not be read back.
    #[error("reading the memory policy from {path} failed: {source}")]
    ReadPolicy {
        /// The file of the process under /proc.
        path: String,
        /// What the kernel or hwloc said.
        source: io::Error,
    },
    /// Where the pages of shared memory are is not known.
    #[error("where the shared memory of process {pid} lies is not known: {reason}")]
    ReadShared {
        /// The process that has it mapped.
        pid: i32,
        /// What it lacks, or what the kernel said.
        reason: String,
    },
    /// A policy that [`MemoryPolicy`] has no word for.
    #[error("{path} shows a memory policy that is not supported: {found:?}")]
    UnknownPolicy {
        /// The file of the process under /proc.
        path: String,
        /// The policy as the kernel words it.
        found: String,
    },
    /// The kernel took another policy than asked.
    #[error("the memory policy was to be {requested}, but the kernel shows {found}")]
    PolicyDiffers {
        /// What was requested.
        requested: MemoryPolicy,
        /// What was read back.
        found: MemoryPolicy,
    },
}
