use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{self, CpuSet as Mask};

use super::error::BindError;
use crate::CpuSet;

/// Binds a thread to CPUs, and makes sure that the kernel did. `tid` 0 is the calling thread.
pub fn bind_thread(tid: i32, cpus: &CpuSet) -> Result<(), BindError> {
    if cpus.is_empty() {
        return Err(BindError::NoCpus { tid });
    }
    let mut mask = Mask::new();
    for cpu in cpus.iter() {
        let max = Mask::MAX_CPU as u32 - 1;
        if cpu > max {
            return Err(BindError::CpuTooHigh { cpu, max });
        }
        mask.set(cpu as usize);
    }
    thread::sched_setaffinity(thread_id(tid)?, &mask).map_err(|errno| match errno {
        Errno::SRCH => BindError::NoThread { tid },
        errno => BindError::Bind { tid, cpus: cpus.clone(), source: errno.into() },
    })?;
    let found = affinity_of(tid)?;
    if found == *cpus { Ok(()) } else { Err(BindError::AffinityDiffers { tid, requested: cpus.clone(), found }) }
}

/// The CPUs a thread may run on. `tid` 0 is the calling thread.
pub fn affinity_of(tid: i32) -> Result<CpuSet, BindError> {
    let mask = thread::sched_getaffinity(thread_id(tid)?).map_err(|errno| match errno {
        Errno::SRCH => BindError::NoThread { tid },
        errno => BindError::ReadAffinity { tid, source: errno.into() },
    })?;
    Ok((0..Mask::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).map(|cpu| cpu as u32).collect())
}

/// The kernel takes "none" as the calling thread.
fn thread_id(tid: i32) -> Result<Option<Pid>, BindError> {
    if tid < 0 {
        return Err(BindError::NoThread { tid });
    }
    Ok(Pid::from_raw(tid))
}
