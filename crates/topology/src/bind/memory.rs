//! Sets memory policies of threads, and reads them back from the kernel.

use super::error::BindError;
use super::shared::{Mask, words};
use crate::MemoryPolicy;
use crate::observe::pages::{mappings, policy_of};
use std::{fs, io};

/// Sets the memory policy of the calling thread and reads it back to verify it. Threads and processes that it starts
/// inherit the policy. Nodes must be given by number: see [`MemoryPolicy::resolve`].
///
/// A policy that is already in force is not set again, so `default` needs neither NUMA support nor privileges.
///
/// # Errors
/// When the kernel refuses the policy, or another policy is read back.
pub fn set_memory_policy(policy: &MemoryPolicy) -> Result<(), BindError> {
    if this_thread_memory_policy()? == *policy {
        return Ok(());
    }
    apply(policy).map_err(|reason| BindError::SetPolicy { policy: policy.clone(), reason })?;
    let found = this_thread_memory_policy()?;
    if found == *policy { Ok(()) } else { Err(BindError::PolicyDiffers { requested: policy.clone(), found }) }
}

/// Whether this process may set memory policies: a container's filter of system calls may deny it. Changes only a
/// thread that ends at once.
pub fn may_set_memory_policy() -> bool {
    let tried = std::thread::Builder::new().spawn(|| apply(&MemoryPolicy::Default).is_ok());
    tried.map_or(true, |tried| tried.join().unwrap_or(true))
}

fn apply(policy: &MemoryPolicy) -> Result<(), String> {
    let (mode, nodes) = words(policy).ok_or("its nodes are not resolved for this machine")?;
    let mask = Mask::of(&nodes);
    let (mode, first, max_node) = (libc::c_long::from(mode), mask.address(), mask.max_node());
    // SAFETY: set_mempolicy reads max_node - 1 bits, which are those of `mask`, and writes nothing of this process; it
    // concerns the calling thread's later allocations only.
    let outcome = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, first, max_node) };
    let error = io::Error::last_os_error();
    match policy {
        _ if outcome == 0 => Ok(()),
        MemoryPolicy::WeightedInterleave(_) => Err(format!("{error}; weighted interleave came with Linux 6.9")),
        _ => Err(error.to_string()),
    }
}

/// The memory policy of the calling thread, from the kernel.
///
/// # Errors
/// When the kernel does not show it, or shows one that [`MemoryPolicy`] does not support.
pub fn this_thread_memory_policy() -> Result<MemoryPolicy, BindError> {
    read("/proc/thread-self/numa_maps")
}

/// The memory policy of a process's main thread, from the kernel: the inherited one, unless the process changed it. The
/// kernel walks all page tables of the process; call this before a process has filled tens of gigabytes.
///
/// # Errors
/// When the process has ended, the kernel does not show its policy, or [`MemoryPolicy`] does not support it.
pub fn read_memory_policy(pid: i32) -> Result<MemoryPolicy, BindError> {
    read(&format!("/proc/{pid}/numa_maps"))
}

/// The kernel shows a thread's policy on each mapping without a policy of its own; the main stack is such a mapping.
/// hwloc's get_membind cannot be used: it does not distinguish preferred from bind, nor local from default.
fn read(path: &str) -> Result<MemoryPolicy, BindError> {
    let failed = |source| BindError::ReadPolicy { path: path.to_owned(), source };
    let maps = match mappings(path) {
        Ok(maps) => maps,
        // A kernel without NUMA support has no such file, and only the default policy.
        Err(e) if e.kind() == io::ErrorKind::NotFound && fs::exists("/proc/self/maps").unwrap_or(false) => {
            return no_numa(path, e);
        }
        Err(e) => return Err(failed(e)),
    };
    for mapping in maps {
        let mapping = mapping.map_err(failed)?;
        if mapping.stack {
            let unknown = || BindError::UnknownPolicy { path: path.to_owned(), found: mapping.policy.clone() };
            return policy_of(&mapping.policy).ok_or_else(unknown);
        }
    }
    Err(failed(io::Error::other("it lists no stack")))
}

fn no_numa(path: &str, error: io::Error) -> Result<MemoryPolicy, BindError> {
    if fs::exists("/proc/self/numa_maps").unwrap_or(true) {
        return Err(BindError::ReadPolicy { path: path.to_owned(), source: error });
    }
    Ok(MemoryPolicy::Default)
}
