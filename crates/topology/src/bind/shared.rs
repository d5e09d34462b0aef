//! Sets the memory policy of memory that another process shares with its children. Only a process itself can set the
//! policy of its private mappings, but a policy of shared memory belongs to the memory (the kernel's "shared policy"):
//! every process that maps it may set it, and it applies to all.

use super::error::BindError;
use crate::observe::NodePages;
use crate::{MemoryPolicy, Nodes};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::{io, ptr};
use tare_cpuset::NodeSet;
use tare_cpuset::observe::proc_text;

/// From the kernel's include/uapi/linux/mempolicy.h: also move pages that other processes map.
const MPOL_MF_MOVE_ALL: libc::c_int = 1 << 2;

/// A mapping that is unmapped when it is dropped.
struct Mapped {
    at: *mut libc::c_void,
    bytes: usize,
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: `at` is the address that mmap returned for `bytes` bytes, and no reference to this memory exists.
        unsafe { libc::munmap(self.at, self.bytes) };
    }
}

/// Sets the policy of the largest shared memory of a process. Existing pages are moved as far as the kernel permits;
/// the policy applies to all later ones. Nodes must be given by number. Returns the size of the memory, bytes.
///
/// # Errors
/// When the process has no shared memory, this user may not map it (root may), or the kernel refuses the policy.
pub fn set_shared_memory_policy(pid: i32, policy: &MemoryPolicy) -> Result<u64, BindError> {
    let refused = |reason: String| BindError::SetPolicy { policy: policy.clone(), reason };
    let (mode, nodes) = words(policy).ok_or_else(|| refused("its nodes are not resolved".to_owned()))?;
    let mapped = largest(pid).map_err(refused)?;
    let there = take_in(&mapped);
    bind(&mapped, mode, &nodes).map_err(|e| refused(e.to_string()))?;
    if matches!(policy, MemoryPolicy::Interleave(_)) {
        spread(&mapped, &there, &nodes).map_err(|e| refused(e.to_string()))?;
    }
    Ok(mapped.bytes as u64)
}

/// All pages of the largest shared memory of a process by OS node number, no matter which process touched them
/// (`/proc/PID/numa_maps` only lists pages that the process itself touched). Huge pages of the kernel's pool are not
/// counted.
///
/// # Errors
/// When the process has no shared memory, this user may not map it (root may), or the kernel does not report the nodes.
pub fn shared_memory_pages(pid: i32) -> Result<BTreeMap<u32, NodePages>, BindError> {
    let mapped = largest(pid).map_err(|reason| BindError::ReadShared { pid, reason })?;
    let there = take_in(&mapped);
    let found = place(&mapped, &there, None).map_err(|e| BindError::ReadShared { pid, reason: e.to_string() })?;
    let mut nodes: BTreeMap<u32, NodePages> = BTreeMap::new();
    // A negative number is an error, for example for a page that was freed meanwhile.
    for node in found.into_iter().filter_map(|node| u32::try_from(node).ok()) {
        let pages = nodes.entry(node).or_default();
        pages.pages += 1;
        pages.bytes += rustix::param::page_size() as u64;
    }
    Ok(nodes)
}

/// Maps the largest shared memory of a process; an error is the reason as text.
fn largest(pid: i32) -> Result<Mapped, String> {
    let maps = proc_text(&format!("/proc/{pid}/maps")).map_err(|e| e.to_string())?;
    let largest = maps.lines().filter_map(shared).max_by_key(|(start, end)| end - start);
    let (start, end) = largest.ok_or_else(|| format!("process {pid} has no shared memory"))?;
    let path = format!("/proc/{pid}/map_files/{start:x}-{end:x}");
    let file = OpenOptions::new().read(true).write(true).open(&path).map_err(|e| format!("{path}: {e}"))?;
    map(&file, (end - start) as usize).map_err(|e| format!("{path}: {e}"))
}

/// The addresses of a line of /proc/PID/maps, if it is shared memory that is not a file of a file system.
fn shared(line: &str) -> Option<(u64, u64)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let is_shared = fields.next()?.starts_with("rw-s");
    let file = fields.nth(3).unwrap_or_default();
    let addresses = u64::from_str_radix(start, 16).ok().zip(u64::from_str_radix(end, 16).ok());
    addresses.filter(|(start, end)| is_shared && end > start && crate::observe::is_shared_memory(file))
}

fn map(file: &File, bytes: usize) -> io::Result<Mapped> {
    // SAFETY: creates a new mapping at an address that the kernel chooses; this program reads no byte of it.
    let at = unsafe { libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Mapped { at, bytes }) }
}

/// Populates this process's page tables with the existing pages and no others, because the kernel only moves pages that
/// are in them. Returns the numbers of these pages. Best effort: mincore does not report huge pages, and before Linux
/// 5.14 a page cannot be populated without reading it.
fn take_in(mapped: &Mapped) -> Vec<usize> {
    let page = rustix::param::page_size();
    let mut is_there = vec![0_u8; mapped.bytes.div_ceil(page)];
    // SAFETY: mincore writes one byte for each page of `mapped`, and `is_there` has room for them.
    if unsafe { libc::mincore(mapped.at, mapped.bytes, is_there.as_mut_ptr()) } != 0 {
        return Vec::new();
    }
    let mut from = 0;
    for run in is_there.chunk_by(|a, b| a & 1 == b & 1) {
        if run[0] & 1 == 1 {
            // SAFETY: the range is a part of `mapped`; only this process's page tables change.
            unsafe { libc::madvise(mapped.at.byte_add(from * page), run.len() * page, libc::MADV_POPULATE_READ) };
        }
        from += run.len();
    }
    (0..is_there.len()).filter(|page| is_there[*page] & 1 == 1).collect()
}

/// Distributes the existing pages over the nodes in turn. The kernel does not do so: to it, a page on any of the nodes
/// already conforms to an interleave policy.
fn spread(mapped: &Mapped, there: &[usize], nodes: &NodeSet) -> io::Result<()> {
    let nodes: Vec<i32> = nodes.iter().map(|node| node.cast_signed()).collect();
    let to: Vec<i32> = nodes.iter().copied().cycle().take(there.len()).collect();
    if nodes.len() < 2 { Ok(()) } else { place(mapped, there, Some(&to)).map(drop) }
}

/// The node of each of these pages, or a negative errno. With `to`, the pages are moved first.
fn place(mapped: &Mapped, pages: &[usize], to: Option<&[i32]>) -> io::Result<Vec<i32>> {
    /// Pages per call, so that the lists stay small.
    const AT_ONCE: usize = 1 << 16;
    let size = rustix::param::page_size();
    let mut found = Vec::with_capacity(pages.len());
    for (number, part) in pages.chunks(AT_ONCE).enumerate() {
        let addresses: Vec<_> = part.iter().map(|page| mapped.at.wrapping_byte_add(page * size)).collect();
        let nodes = to.map_or(ptr::null(), |to| to[number * AT_ONCE..][..part.len()].as_ptr());
        let (mut status, flags) = (vec![0_i32; part.len()], if to.is_some() { MPOL_MF_MOVE_ALL } else { 0 });
        // SAFETY: move_pages reads as many addresses and nodes as there are pages and writes as many status values; the
        // pages belong to `mapped`, to which this process has no reference.
        let outcome = unsafe {
            libc::syscall(libc::SYS_move_pages, 0, part.len(), addresses.as_ptr(), nodes, status.as_mut_ptr(), flags)
        };
        // A positive result is the number of pages that were not moved.
        if outcome < 0 {
            return Err(io::Error::last_os_error());
        }
        found.append(&mut status);
    }
    Ok(found)
}

fn bind(mapped: &Mapped, mode: i32, nodes: &NodeSet) -> io::Result<()> {
    let flags = libc::c_ulong::from(MPOL_MF_MOVE_ALL.unsigned_abs());
    let mask = Mask::of(nodes);
    let (first, max_node) = (mask.address(), mask.max_node());
    // SAFETY: mbind reads max_node - 1 bits, which are those of `mask`; the pages belong to `mapped`, to which this
    // process has no reference.
    let outcome = unsafe { libc::syscall(libc::SYS_mbind, mapped.at, mapped.bytes, mode, first, max_node, flags) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's number of a policy, and its nodes; `None` if the nodes are not given by number.
pub(super) fn words(policy: &MemoryPolicy) -> Option<(i32, NodeSet)> {
    /// From the kernel's include/uapi/linux/mempolicy.h; since Linux 6.9.
    const MPOL_WEIGHTED_INTERLEAVE: i32 = 6;
    Some(match policy {
        MemoryPolicy::Default => (libc::MPOL_DEFAULT, NodeSet::default()),
        MemoryPolicy::Local => (libc::MPOL_LOCAL, NodeSet::default()),
        MemoryPolicy::Preferred(node) => (libc::MPOL_PREFERRED, (*node).into()),
        MemoryPolicy::Bind(Nodes::These(nodes)) => (libc::MPOL_BIND, nodes.clone()),
        MemoryPolicy::Interleave(Nodes::These(nodes)) => (libc::MPOL_INTERLEAVE, nodes.clone()),
        MemoryPolicy::WeightedInterleave(Nodes::These(nodes)) => (MPOL_WEIGHTED_INTERLEAVE, nodes.clone()),
        _ => return None,
    })
}

/// The bit mask of nodes, as the kernel reads it.
pub(super) struct Mask(Vec<libc::c_ulong>);

impl Mask {
    pub(super) fn of(nodes: &NodeSet) -> Self {
        let bits = libc::c_ulong::BITS;
        let mut mask = vec![0 as libc::c_ulong; nodes.last().map_or(0, |highest| (highest / bits) as usize + 1)];
        for node in nodes.iter() {
            mask[(node / bits) as usize] |= 1 << (node % bits);
        }
        Self(mask)
    }

    /// The address of its first word; null without nodes.
    pub(super) fn address(&self) -> *const libc::c_ulong {
        if self.0.is_empty() { ptr::null() } else { self.0.as_ptr() }
    }

    /// One more than the number of its bits, because the kernel reads one bit fewer; 0 without nodes.
    pub(super) fn max_node(&self) -> libc::c_ulong {
        let bits = self.0.len() as libc::c_ulong * libc::c_ulong::from(libc::c_ulong::BITS);
        if bits == 0 { 0 } else { bits + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_differs_from_files_and_private_mappings() {
        let line = "7f5a80000000-7f5a88c00000 rw-s 00000000 00:01 1042  /dev/zero (deleted)";
        assert_eq!(shared(line), Some((0x7f5a_8000_0000, 0x7f5a_88c0_0000)));
        for other in [
            line.replace("rw-s", "rw-p"),
            line.replace("/dev/zero (deleted)", "/var/lib/data"),
            line.replace(" /dev/zero (deleted)", ""),
            "nonsense".to_owned(),
        ] {
            assert_eq!(shared(&other), None, "{other}");
        }
    }

    #[test]
    fn nodes_above_63_are_in_the_next_word_of_the_mask() {
        assert_eq!(Mask::of(&"0,2".parse().unwrap()).0, [0b101]);
        assert_eq!(Mask::of(&"64".parse().unwrap()).0, [0, 1]);
        let none = Mask::of(&NodeSet::default());
        assert!(none.0.is_empty() && none.address().is_null() && none.max_node() == 0);
    }
}
