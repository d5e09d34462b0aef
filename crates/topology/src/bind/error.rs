//! What can go wrong when threads and memory are bound.

use std::io;

use crate::{CpuSet, MemoryPolicy, ThreadRef};

/// Why a thread or its memory is not bound as asked.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// A thread must run somewhere.
    #[error("cannot bind {thread} to an empty set of CPUs")]
    NoCpus {
        /// Which thread was meant.
        thread: ThreadRef,
    },
    /// The binding uses the kernel's fixed-size CPU mask.
    #[error("cannot bind to CPU {cpu}: numbers up to {max} are supported")]
    CpuTooHigh {
        /// The OS number of the CPU.
        cpu: u32,
        /// The highest number that is supported.
        max: u32,
    },
    /// There is no such thread, or its number is none.
    #[error("there is no {thread}: it has ended")]
    NoThread {
        /// Which thread was meant.
        thread: ThreadRef,
    },
    /// The kernel refused to bind it.
    #[error("binding {thread} to CPUs {cpus} failed: {source}")]
    Bind {
        /// Which thread was meant.
        thread: ThreadRef,
        /// What was asked for.
        cpus: CpuSet,
        /// What the kernel or hwloc said.
        source: io::Error,
    },
    /// The kernel did not tell.
    #[error("reading the CPU affinity of {thread} failed: {source}")]
    ReadAffinity {
        /// Which thread was meant.
        thread: ThreadRef,
        /// What the kernel or hwloc said.
        source: io::Error,
    },
    /// The kernel bound the thread elsewhere, as when the cgroup's cpuset withholds some of the CPUs.
    #[error("{thread} was to run on CPUs {requested}, but the kernel lets it run on {found}")]
    AffinityDiffers {
        /// Which thread was meant.
        thread: ThreadRef,
        /// What was asked for.
        requested: CpuSet,
        /// What was read back.
        found: CpuSet,
    },
    /// hwloc or the kernel refused.
    #[error("setting memory policy {policy} failed: {reason}")]
    SetPolicy {
        /// What was asked for.
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
        /// What was asked for.
        requested: MemoryPolicy,
        /// What was read back.
        found: MemoryPolicy,
    },
}
