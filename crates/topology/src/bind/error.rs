//! Errors of binding threads and memory.

use crate::MemoryPolicy;
use std::io;
use tare_cpuset::AffinityError;

/// Why threads or memory could not be bound, or a memory policy could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum BindError {
    /// Setting or reading the CPU affinity failed.
    #[error(transparent)]
    Affinity(#[from] AffinityError),
    /// The kernel refused the policy.
    #[error("setting memory policy {policy} failed: {reason}")]
    SetPolicy { policy: MemoryPolicy, reason: String },
    /// The policy could not be read back.
    #[error("reading the memory policy from {path} failed: {source}")]
    ReadPolicy { path: String, source: io::Error },
    /// The location of the pages of shared memory could not be read.
    #[error("the location of the shared memory of process {pid} is unknown: {reason}")]
    ReadShared { pid: i32, reason: String },
    /// The kernel shows a policy that [`MemoryPolicy`] does not support.
    #[error("{path} shows a memory policy that is not supported: {found:?}")]
    UnknownPolicy { path: String, found: String },
    /// The kernel set another policy than requested.
    #[error("the memory policy should be {requested}, but the kernel shows {found}")]
    PolicyDiffers { requested: MemoryPolicy, found: MemoryPolicy },
}
