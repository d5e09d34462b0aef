//! Memory policies of threads: set, and read back from what the kernel shows.

use super::error::BindError;
use super::shared::mask;
use crate::observe::numa_maps::{mappings, policy_of};
use crate::{MemoryPolicy, Nodes};
use hwlocality::Topology;
use hwlocality::bitmap::BitmapIndex;
use hwlocality::memory::binding::{MemoryBindingFlags as Flags, MemoryBindingPolicy as Policy};
use hwlocality::memory::nodeset::NodeSet as HwlocNodeSet;
use std::fs;
use std::io;
use tare_cpuset::{NodeSet, keep_affinity};

/// Sets the memory policy of the calling thread, which threads and processes started from it inherit, and makes sure
/// that the kernel has it. Nodes must be spelt out: see [`MemoryPolicy::resolve`].
///
/// Takes the time of an hwloc discovery (milliseconds). A policy that is in force already is not set again, so
/// `default` needs neither NUMA support nor privileges.
///
/// # Errors
/// When the kernel or hwloc refuses the policy, or another one is read back.
pub fn set_memory_policy(policy: &MemoryPolicy) -> Result<(), BindError> {
    if this_thread_memory_policy()? == *policy {
        return Ok(());
    }
    apply(policy).map_err(|reason| BindError::SetPolicy { policy: policy.clone(), reason })?;
    let found = this_thread_memory_policy()?;
    if found == *policy { Ok(()) } else { Err(BindError::PolicyDiffers { requested: policy.clone(), found }) }
}

fn apply(policy: &MemoryPolicy) -> Result<(), String> {
    // hwloc visits every CPU to look at it.
    let topology = keep_affinity(Topology::new).map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
    let bind = |nodes: &HwlocNodeSet, kind: Policy, flags: Flags| {
        topology.bind_memory(nodes, kind, Flags::THREAD | flags).map_err(|e| e.to_string())
    };
    match policy {
        MemoryPolicy::Default => topology.unbind_memory(Flags::THREAD).map_err(|e| e.to_string()),
        // hwloc calls MPOL_LOCAL "first touch", and takes it only for the whole machine.
        MemoryPolicy::Local => bind(&topology.complete_nodeset().clone_target(), Policy::FirstTouch, Flags::empty()),
        MemoryPolicy::Preferred(node) => bind(&nodeset(&(*node).into())?, Policy::Bind, Flags::empty()),
        // Strict is what makes it MPOL_BIND in place of MPOL_PREFERRED.
        MemoryPolicy::Bind(Nodes::These(nodes)) => bind(&nodeset(nodes)?, Policy::Bind, Flags::STRICT),
        MemoryPolicy::Interleave(Nodes::These(nodes)) => bind(&nodeset(nodes)?, Policy::Interleave, Flags::STRICT),
        MemoryPolicy::WeightedInterleave(Nodes::These(nodes)) => weighted_interleave(nodes),
        MemoryPolicy::Bind(Nodes::All | Nodes::Each)
        | MemoryPolicy::Interleave(Nodes::All | Nodes::Each)
        | MemoryPolicy::WeightedInterleave(Nodes::All | Nodes::Each) => {
            Err("its nodes are not resolved for this machine".to_owned())
        }
    }
}

/// hwloc has no word for it (nor has libnuma before 2.0.19), so the kernel is asked itself.
fn weighted_interleave(nodes: &NodeSet) -> Result<(), String> {
    /// From the kernel's include/uapi/linux/mempolicy.h; since Linux 6.9.
    const MPOL_WEIGHTED_INTERLEAVE: libc::c_long = 6;
    let mask = mask(nodes);
    // The kernel takes one bit fewer than it is told.
    let max_node = mask.len() as libc::c_ulong * libc::c_ulong::from(libc::c_ulong::BITS) + 1;
    // SAFETY: set_mempolicy reads max_node - 1 bits, which are those of `mask`, and writes nothing of this process; it
    // concerns the calling thread's later allocations only.
    let outcome = unsafe { libc::syscall(libc::SYS_set_mempolicy, MPOL_WEIGHTED_INTERLEAVE, mask.as_ptr(), max_node) };
    match outcome {
        0 => Ok(()),
        _ => Err(format!("{}; weighted interleave came with Linux 6.9", io::Error::last_os_error())),
    }
}

fn nodeset(nodes: &NodeSet) -> Result<HwlocNodeSet, String> {
    let mut set = HwlocNodeSet::new();
    for node in nodes.iter() {
        set.set(BitmapIndex::try_from(node as usize).map_err(|e| e.to_string())?);
    }
    Ok(set)
}

/// The memory policy of the calling thread, from the kernel.
///
/// # Errors
/// When the kernel does not show it, or shows one that [`MemoryPolicy`] has no word for.
pub fn this_thread_memory_policy() -> Result<MemoryPolicy, BindError> {
    read("/proc/thread-self/numa_maps")
}

/// The memory policy of a process's main thread, from the kernel: what it was started with, unless it changed it.
/// Walks all of its page tables: for a process with tens of gigabytes do this before they are filled.
///
/// # Errors
/// When the process has ended, or its policy is one that [`MemoryPolicy`] has no word for.
pub fn read_memory_policy(pid: i32) -> Result<MemoryPolicy, BindError> {
    read(&format!("/proc/{pid}/numa_maps"))
}

/// A thread's policy shows on each mapping that has none of its own; the main stack is one no one binds. hwloc's
/// get_membind is no help: it does not tell preferred from bind, nor local from default.
fn read(path: &str) -> Result<MemoryPolicy, BindError> {
    let failed = |source| BindError::ReadPolicy { path: path.to_owned(), source };
    let maps = match mappings(path) {
        Ok(maps) => maps,
        // A kernel without NUMA has no such file, and no other policy either.
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
