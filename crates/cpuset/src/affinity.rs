//! Sets and reads the CPUs a thread may run on.

use crate::{AffinityError, CpuSet, ThreadRef};
use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{self, CpuSet as Mask};
use std::io;

/// Binds a thread to CPUs, then reads its affinity back to verify it.
///
/// # Errors
/// When the set is empty or has a CPU number that is too high, when the thread does not exist or may not be bound, or
/// when the kernel lets it run on other CPUs than requested.
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
/// When the thread does not exist, or its affinity may not be read.
pub fn affinity_of(thread: ThreadRef) -> Result<CpuSet, AffinityError> {
    let mask = thread::sched_getaffinity(Some(kernel_id(thread)?)).map_err(|errno| match errno {
        Errno::SRCH => AffinityError::NoThread { thread },
        errno => AffinityError::Read { thread, source: errno.into() },
    })?;
    Ok((0..Mask::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// Runs `work`, which may change the CPU affinity of the calling thread (hwloc binds it to each CPU in turn while it
/// discovers a machine), and restores the affinity afterwards.
///
/// # Errors
/// When the affinity cannot be read (if this fails before `work`, `work` is not run), or cannot be restored.
pub fn keep_affinity<T>(work: impl FnOnce() -> T) -> Result<T, AffinityError> {
    let before = affinity_of(ThreadRef::of_this_thread())?;
    and_return_to(&before, work)
}

fn and_return_to<T>(before: &CpuSet, work: impl FnOnce() -> T) -> Result<T, AffinityError> {
    let this = ThreadRef::of_this_thread();
    let done = work();
    if affinity_of(this)? != *before {
        bind_thread(this, before)?;
    }
    Ok(done)
}

/// A saved CPU affinity that a process restores between fork and exec, where it must not allocate memory. Entering a
/// control group with a cpuset resets the affinity to all CPUs of the group.
#[derive(Debug, Clone)]
pub struct SavedAffinity(Mask);

impl SavedAffinity {
    /// The affinity of the calling thread.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn of_this_thread() -> io::Result<Self> {
        Ok(Self(thread::sched_getaffinity(None)?))
    }

    /// Applies this affinity to the calling thread, in one system call.
    ///
    /// # Errors
    /// The kernel's reason.
    pub fn restore(&self) -> io::Result<()> {
        Ok(thread::sched_setaffinity(None, &self.0)?)
    }
}

/// Rejects 0: to the kernel it means the calling thread, in a [`ThreadRef`] it never does.
fn kernel_id(thread: ThreadRef) -> Result<Pid, AffinityError> {
    let positive = Some(thread.tid).filter(|tid| *tid > 0);
    positive.and_then(Pid::from_raw).ok_or(AffinityError::NoThread { thread })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keep_affinity_restores_the_original_cpus_of_a_thread() {
        // In a thread of its own: the test runner reuses its threads for other tests.
        let moved = std::thread::spawn(|| {
            let this = ThreadRef::of_this_thread();
            let before = affinity_of(this).unwrap();
            let last = CpuSet::from(before.last().unwrap());
            let seen = keep_affinity(|| {
                bind_thread(this, &last).unwrap();
                affinity_of(this).unwrap()
            });
            assert_eq!((seen.unwrap(), affinity_of(this).unwrap()), (last.clone(), before.clone()));
            let held = SavedAffinity::of_this_thread().unwrap();
            bind_thread(this, &last).unwrap();
            held.restore().unwrap();
            assert_eq!(affinity_of(this).unwrap(), before);
        });
        moved.join().unwrap();
    }

    #[test]
    fn an_affinity_that_cannot_be_restored_is_an_error() {
        // As if its last CPU had been taken offline meanwhile.
        let gone = CpuSet::from(Mask::MAX_CPU as u32 - 1);
        let refused = and_return_to(&gone, || 1);
        assert!(matches!(refused, Err(AffinityError::Bind { .. })), "{refused:?}");
    }
}
