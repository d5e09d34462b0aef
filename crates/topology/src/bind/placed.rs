//! The calling thread bound for a while, so that what it spawns inherits CPUs and memory policy.

use super::error::BindError;
use super::memory::{set_memory_policy, this_thread_memory_policy};
use crate::MemoryPolicy;
use std::marker::PhantomData;
use tare_cpuset::{CpuSet, ThreadRef, affinity_of, bind_thread};

/// The calling thread, bound for a while: what is spawned meanwhile inherits its CPUs and memory policy.
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
/// The thread that applies is the thread that spawns, so a parent-death signal of the child follows that thread.
#[derive(Debug)]
#[must_use = "dropping it puts the thread's own binding back at once"]
pub struct Placed {
    own_cpus: CpuSet,
    own_memory: MemoryPolicy,
    done: bool,
    /// Belongs to the thread it was made on.
    not_send: PhantomData<*const ()>,
}

impl Placed {
    /// Binds the calling thread. `cpus` None leaves its CPUs as they are. On an error everything is as before.
    ///
    /// # Errors
    /// When the thread cannot be bound, or its memory policy not be set.
    pub fn apply(cpus: Option<&CpuSet>, memory: &MemoryPolicy) -> Result<Self, BindError> {
        // Dropped on the way out of an error, it restores.
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

    /// Puts back the CPUs and the memory policy that the thread had.
    ///
    /// # Errors
    /// When either cannot be put back.
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
            // No one is left to tell; `restore` is for those who ask.
            let _ = self.put_back();
        }
    }
}
