//! On which nodes the pages of a run lie.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::ptr;

/// Pages asked for at a time.
const AT_ONCE: usize = 4096;

/// Pages in use, collected from what lies in them.
pub(super) struct Pages {
    size: usize,
    starts: BTreeSet<usize>,
}

impl Pages {
    pub(super) fn new() -> Self {
        // SAFETY: no pointers.
        let size = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
        Self { size, starts: BTreeSet::new() }
    }

    /// Takes in the pages that hold `bytes` bytes from an address on.
    pub(super) fn add(&mut self, address: usize, bytes: usize) {
        let first = address - address % self.size;
        self.starts.extend((first..address.saturating_add(bytes)).step_by(self.size));
    }

    /// How many of them lie on each node; those that nobody has touched lie on none. Empty where the kernel does not
    /// tell.
    pub(super) fn by_node(&self) -> BTreeMap<u32, u64> {
        let mut nodes = BTreeMap::new();
        let starts: Vec<*const c_void> = self.starts.iter().map(|start| *start as *const c_void).collect();
        for part in starts.chunks(AT_ONCE) {
            let mut status: Vec<c_int> = vec![-1; part.len()];
            // SAFETY: without target nodes move_pages moves nothing: it reads as many addresses, and writes as many
            // ints, as it is told; 0 is this process.
            let answer = unsafe {
                libc::syscall(
                    libc::SYS_move_pages,
                    0,
                    part.len(),
                    part.as_ptr(),
                    ptr::null::<c_int>(),
                    status.as_mut_ptr(),
                    0,
                )
            };
            if answer != 0 {
                return BTreeMap::new();
            }
            for node in status.into_iter().filter_map(|node| u32::try_from(node).ok()) {
                *nodes.entry(node).or_default() += 1;
            }
        }
        nodes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touched_pages_lie_on_a_node_and_untouched_ones_on_none() {
        let mut pages = Pages::new();
        let bytes = 8 * pages.size;
        // SAFETY: a new mapping, removed below; the second and third page of it are written.
        let start = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            ptr::write_bytes(start.cast::<u8>().add(pages.size), 1, pages.size + 1);
            start
        };
        pages.add(start as usize + 1, bytes - 1);
        assert_eq!(pages.starts.len(), 8);
        let found = pages.by_node();
        // SAFETY: what was mapped above.
        unsafe { libc::munmap(start, bytes) };
        // A container may forbid to ask; then nothing is claimed.
        assert!(found.is_empty() || found.values().sum::<u64>() == 2, "{found:?}");
    }

    #[test]
    fn what_crosses_a_page_takes_both() {
        let mut pages = Pages::new();
        pages.add(pages.size - 4, 8);
        pages.add(pages.size, 8);
        assert_eq!(pages.starts.iter().copied().collect::<Vec<_>>(), [0, pages.size]);
    }
}
