//! Binds the calling thread temporarily, so that processes it spawns inherit CPUs and memory policy.

use super::error::BindError;
use super::memory::{set_memory_policy, this_thread_memory_policy};
use crate::MemoryPolicy;
use std::marker::PhantomData;
use tare_cpuset::{CpuSet, ThreadRef, affinity_of, bind_thread};

/// A temporary binding of the calling thread: processes that it spawns meanwhile inherit its CPUs and memory policy.
///
/// ```no_run
/// use tare_cpuset::CpuSet;
/// use tare_topology::{MemoryPolicy, bind::Placed};
/// let placed = Placed::apply(Some(&CpuSet::from([0, 1])), &MemoryPolicy::Local)?;
/// let server = std::process::Command::new("server").spawn();
/// placed.restore()?;
/// # Ok::<(), tare_topology::bind::BindError>(())
/// ```
///
/// The thread that calls `apply` must spawn the process. A parent-death signal of the child is tied to that thread.
#[derive(Debug)]
#[must_use = "dropping it puts the thread's own binding back at once"]
pub struct Placed {
    own_cpus: CpuSet,
    own_memory: MemoryPolicy,
    done: bool,
    /// Not `Send`: it belongs to the thread that created it.
    not_send: PhantomData<*const ()>,
}

impl Placed {
    /// Binds the calling thread. With `cpus` None, its CPUs stay unchanged. An error restores the previous binding.
    ///
    /// # Errors
    /// When the CPUs or the memory policy of the thread cannot be read or set.
    pub fn apply(cpus: Option<&CpuSet>, memory: &MemoryPolicy) -> Result<Self, BindError> {
        // If an error returns early, dropping this restores the binding.
        let placed = Self {
            own_cpus: affinity_of(ThreadRef::of_this_thread())?,
            own_memory: this_thread_memory_policy()?,
            done: false,
            not_send: PhantomData,
        };
        if let Some(cpus) = cpus {
            bind_thread(ThreadRef::of_this_thread(), cpus)?;
        }
        set_memory_policy(memory)?;
        Ok(placed)
    }

    /// Restores the CPUs and the memory policy that the thread had.
    ///
    /// # Errors
    /// When either cannot be restored.
    pub fn restore(mut self) -> Result<(), BindError> {
        self.done = true;
        self.put_back()
    }

    fn put_back(&self) -> Result<(), BindError> {
        let cpus = bind_thread(ThreadRef::of_this_thread(), &self.own_cpus);
        set_memory_policy(&self.own_memory).and(cpus.map_err(BindError::from))
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        if !self.done {
            // A drop cannot return an error; call `restore` to get it.
            let _ = self.put_back();
        }
    }
}
