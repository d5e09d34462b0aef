//! The CPUs a thread may run on: set, and read back.

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{self, CpuSet as Mask};

use super::error::BindError;
use crate::{CpuSet, ThreadRef};

/// Binds a thread to CPUs, and makes sure that the kernel did.
pub fn bind_thread(thread: ThreadRef, cpus: &CpuSet) -> Result<(), BindError> {
    if cpus.is_empty() {
        return Err(BindError::NoCpus { thread });
    }
    let mut mask = Mask::new();
    for cpu in cpus.iter() {
        let max = Mask::MAX_CPU as u32 - 1;
        if cpu > max {
            return Err(BindError::CpuTooHigh { cpu, max });
        }
        mask.set(cpu as usize);
    }
    thread::sched_setaffinity(Some(kernel_id(thread)?), &mask).map_err(|errno| match errno {
        Errno::SRCH => BindError::NoThread { thread },
        errno => BindError::Bind { thread, cpus: cpus.clone(), source: errno.into() },
    })?;
    let found = affinity_of(thread)?;
    if found == *cpus { Ok(()) } else { Err(BindError::AffinityDiffers { thread, requested: cpus.clone(), found }) }
}

/// The CPUs a thread may run on.
pub fn affinity_of(thread: ThreadRef) -> Result<CpuSet, BindError> {
    let mask = thread::sched_getaffinity(Some(kernel_id(thread)?)).map_err(|errno| match errno {
        Errno::SRCH => BindError::NoThread { thread },
        errno => BindError::ReadAffinity { thread, source: errno.into() },
    })?;
    Ok((0..Mask::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// Zero would be the calling thread to the kernel, which a [`ThreadRef`] never means by it.
fn kernel_id(thread: ThreadRef) -> Result<Pid, BindError> {
    let positive = Some(thread.tid).filter(|tid| *tid > 0);
    positive.and_then(Pid::from_raw).ok_or(BindError::NoThread { thread })
}
