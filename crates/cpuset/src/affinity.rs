//! The CPUs a thread may run on: set, and read back.

use crate::{AffinityError, CpuSet, ThreadRef};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{self, CpuSet as Mask};
use std::io;

/// Binds a thread to CPUs, and makes sure that the kernel did.
///
/// # Errors
/// When there is no such thread, it may not be bound, or the kernel lets it run elsewhere than was asked.
pub fn bind_thread(thread: ThreadRef, cpus: &CpuSet) -> Result<(), AffinityError> {
    if cpus.is_empty() {
        return Err(AffinityError::NoCpus { thread });
    }
    let mut mask = Mask::new();
    for cpu in cpus.iter() {
        let max = Mask::MAX_CPU as u32 - 1;
        if cpu > max {
            return Err(AffinityError::CpuTooHigh { cpu, max });
        }
        mask.set(cpu as usize);
    }
    thread::sched_setaffinity(Some(kernel_id(thread)?), &mask).map_err(|errno| match errno {
        Errno::SRCH => AffinityError::NoThread { thread },
        errno => AffinityError::Bind { thread, cpus: cpus.clone(), source: errno.into() },
    })?;
    let found = affinity_of(thread)?;
    if found == *cpus { Ok(()) } else { Err(AffinityError::Differs { thread, requested: cpus.clone(), found }) }
}

/// The CPUs a thread may run on.
///
/// # Errors
/// When there is no such thread, or it may not be looked at.
pub fn affinity_of(thread: ThreadRef) -> Result<CpuSet, AffinityError> {
    let mask = thread::sched_getaffinity(Some(kernel_id(thread)?)).map_err(|errno| match errno {
        Errno::SRCH => AffinityError::NoThread { thread },
        errno => AffinityError::Read { thread, source: errno.into() },
    })?;
    Ok((0..Mask::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// Does what may move the calling thread to other CPUs (hwloc visits each of them while it looks at a machine), and
/// makes sure that the thread may run where it might before.
///
/// # Errors
/// When the thread's CPUs cannot be read, and then nothing was done, or cannot be put back.
pub fn keep_affinity<T>(work: impl FnOnce() -> T) -> Result<T, AffinityError> {
    let this = ThreadRef::of_this_thread();
    let before = affinity_of(this)?;
    let done = work();
    if affinity_of(this)? != before {
        bind_thread(this, &before)?;
    }
    Ok(done)
}

/// CPUs that a process takes up again between fork and exec, where nothing may be allocated: entering a control group
/// with a cpuset gives it all of the group's.
#[derive(Debug, Clone)]
pub struct HeldAffinity(Mask);

impl HeldAffinity {
    /// Those of the calling thread.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn of_this_thread() -> io::Result<Self> {
        Ok(Self(thread::sched_getaffinity(None)?))
    }

    /// Gives them to the calling thread, in one system call.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn take_up(&self) -> io::Result<()> {
        Ok(thread::sched_setaffinity(None, &self.0)?)
    }
}

/// Zero would be the calling thread to the kernel, which a [`ThreadRef`] never means by it.
fn kernel_id(thread: ThreadRef) -> Result<Pid, AffinityError> {
    let positive = Some(thread.tid).filter(|tid| *tid > 0);
    positive.and_then(Pid::from_raw).ok_or(AffinityError::NoThread { thread })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_left_on_one_cpu_is_put_back() {
        // A thread of its own: tests of one process share theirs.
        let moved = std::thread::spawn(|| {
            let this = ThreadRef::of_this_thread();
            let before = affinity_of(this).unwrap();
            let last = CpuSet::from(before.last().unwrap());
            let seen = keep_affinity(|| {
                bind_thread(this, &last).unwrap();
                affinity_of(this).unwrap()
            });
            assert_eq!((seen.unwrap(), affinity_of(this).unwrap()), (last, before));
        });
        moved.join().unwrap();
    }
}
