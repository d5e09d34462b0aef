//! The CPUs a thread may run on: set, and read back.

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{self, CpuSet as Mask};

use crate::{AffinityError, CpuSet, ThreadRef};

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

/// Zero would be the calling thread to the kernel, which a [`ThreadRef`] never means by it.
fn kernel_id(thread: ThreadRef) -> Result<Pid, AffinityError> {
    let positive = Some(thread.tid).filter(|tid| *tid > 0);
    positive.and_then(Pid::from_raw).ok_or(AffinityError::NoThread { thread })
}
