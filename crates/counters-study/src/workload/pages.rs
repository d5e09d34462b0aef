//! The NUMA nodes of the pages of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::ptr;

const AT_ONCE: usize = 4096;
/// How often the nodes of pages are queried: more pages may become hidden between two queries.
const ATTEMPTS: usize = 3;

/// Pages in use, collected from the addresses in them.
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

    /// Adds the pages that hold `bytes` bytes from an address on.
    pub(super) fn add(&mut self, address: usize, bytes: usize) {
        let first = address - address % self.size;
        self.starts.extend((first..address.saturating_add(bytes)).step_by(self.size));
    }

    /// The number of pages on each node; untouched pages are on none. Empty where the kernel does not report nodes.
    pub(super) fn by_node(&self) -> BTreeMap<u32, u64> {
        // In a separate thread, because it sets a memory policy.
        std::thread::scope(|scope| {
            let asking = std::thread::Builder::new().spawn_scoped(scope, || self.ask()).ok();
            asking.and_then(|thread| thread.join().ok()).unwrap_or_default()
        })
    }

    fn ask(&self) -> BTreeMap<u32, u64> {
        let mut nodes = BTreeMap::new();
        let mut starts: Vec<usize> = self.starts.iter().copied().collect();
        for attempt in 0..ATTEMPTS {
            let mut hidden = Vec::new();
            for part in starts.chunks(AT_ONCE) {
                let Some(status) = status(part) else { return BTreeMap::new() };
                for (start, node) in part.iter().zip(status) {
                    match u32::try_from(node) {
                        Ok(node) => *nodes.entry(node).or_default() += 1,
                        Err(_) => hidden.push(*start),
                    }
                }
            }
            if hidden.is_empty() || attempt + 1 == ATTEMPTS || !self.bring_out(&hidden) {
                break;
            }
            starts = hidden;
        }
        nodes
    }

    /// Makes hidden pages visible. Automatic NUMA balancing marks pages to see which thread uses them, and Linux 6.1 to
    /// 6.4 reports marked pages as absent. A read removes the mark, without moving the page if the reader has a memory
    /// policy. Returns false when the policy cannot be set.
    fn bring_out(&self, hidden: &[usize]) -> bool {
        // SAFETY: a mode without nodes: nothing is read.
        if unsafe { libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_LOCAL, ptr::null::<u8>(), 0) } != 0 {
            return false;
        }
        for start in hidden {
            // SAFETY: the kernel reads from a page of this process and changes nothing in it; an untouched page still
            // gets no memory of its own. An older kernel refuses the call, and hides no pages.
            unsafe { libc::madvise(*start as *mut c_void, self.size, libc::MADV_POPULATE_READ) };
        }
        true
    }
}

/// The node of each page, or the error why it has none; `None` where the kernel does not report nodes.
fn status(starts: &[usize]) -> Option<Vec<c_int>> {
    let mut status: Vec<c_int> = vec![-1; starts.len()];
    // SAFETY: without target nodes move_pages moves nothing: it reads as many addresses, and writes as many ints, as
    // given; 0 is this process. A usize is as wide as the addresses that it expects.
    let answer = unsafe {
        let (pages, nowhere) = (starts.as_ptr().cast::<*const c_void>(), ptr::null::<c_int>());
        libc::syscall(libc::SYS_move_pages, 0, starts.len(), pages, nowhere, status.as_mut_ptr(), 0)
    };
    (answer == 0).then_some(status)
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
        // SAFETY: unmaps what was mapped above.
        unsafe { libc::munmap(start, bytes) };
        // A container may forbid the query; then nothing is reported.
        assert!(found.is_empty() || found.values().sum::<u64>() == 2, "{found:?}");
    }

    #[test]
    fn an_object_that_crosses_a_page_boundary_counts_both_pages() {
        let mut pages = Pages::new();
        pages.add(pages.size - 4, 8);
        pages.add(pages.size, 8);
        assert_eq!(pages.starts.iter().copied().collect::<Vec<_>>(), [0, pages.size]);
    }
}
