//! Rows in pages of their own: no two CPUs share a cache line, and each row can be bound to the NUMA node of its CPU.
//! Untouched pages take no memory, so the row of a CPU that never comes online is free.

use super::AtomicU64;
use std::ffi::c_ulong;
use std::io;
use std::ptr::{self, NonNull};

/// Rows of counters, each in pages of its own, which can be bound to a node before they are first touched.
#[derive(Debug)]
pub struct Rows {
    base: NonNull<u8>,
    /// Bytes from one row to the next: whole pages.
    stride: usize,
    rows: usize,
    counters: usize,
}

// SAFETY: the mapping is owned, and accessed only through atomics and the restartable add, which commits with one store
// that is equivalent to a relaxed atomic one.
unsafe impl Send for Rows {}
// SAFETY: as above.
unsafe impl Sync for Rows {}

impl Rows {
    /// Maps `rows` rows of `counters` zeros.
    ///
    /// # Errors
    /// The kernel's error, or `None` when the size overflows.
    pub fn new(rows: usize, counters: usize) -> Result<Self, Option<io::Error>> {
        let size = counters.max(1).checked_mul(size_of::<u64>()).ok_or(None)?;
        let stride = size.checked_next_multiple_of(page_size()).ok_or(None)?;
        let length = stride.checked_mul(rows).filter(|&length| isize::try_from(length).is_ok()).ok_or(None)?;
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping at an address that the kernel chooses; no existing mapping is changed.
        let base = unsafe { libc::mmap(ptr::null_mut(), length, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(Some(io::Error::last_os_error()));
        }
        let base = NonNull::new(base.cast()).ok_or(None)?;
        Ok(Self { base, stride, rows, counters })
    }

    /// The cell of a counter in a row.
    ///
    /// # Panics
    /// If the row or the counter is out of range.
    #[inline]
    pub fn cell(&self, row: usize, counter: usize) -> &AtomicU64 {
        assert!(row < self.rows && counter < self.counters, "row {row} or counter {counter} out of range");
        // SAFETY: in range, so within the mapping; 8-aligned; zeroed pages are valid values; lives as long as self.
        unsafe { self.base.add(row * self.stride).cast::<AtomicU64>().add(counter).as_ref() }
    }

    /// The cell of a counter in row 0; the caller has checked that the counter exists.
    #[inline]
    pub(crate) fn first_row(&self, counter: usize) -> *mut u64 {
        self.base.as_ptr().cast::<u64>().wrapping_add(counter)
    }

    #[inline]
    pub(crate) fn stride_bytes(&self) -> usize {
        self.stride
    }

    /// Makes the kernel allocate the pages of this row on `node`. They are untouched as yet, so no page has to be
    /// migrated.
    ///
    /// # Errors
    /// The kernel's error.
    ///
    /// # Panics
    /// If the row is out of range.
    pub fn bind(&self, row: usize, node: u32) -> io::Result<()> {
        let bits = c_ulong::BITS;
        let mut mask = vec![0 as c_ulong; (node / bits) as usize + 1];
        mask[(node / bits) as usize] = 1 << (node % bits);
        assert!(row < self.rows, "row {row} out of range");
        // SAFETY: the row lies within the mapping; the kernel reads as many bits of the mask as given (it ignores the
        // last one, hence the number plus one).
        let answer = unsafe {
            let start = self.base.add(row * self.stride).as_ptr();
            libc::syscall(
                libc::SYS_mbind,
                start,
                self.stride,
                libc::MPOL_BIND,
                mask.as_ptr(),
                mask.len() * bits as usize + 1,
                0,
            )
        };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        // SAFETY: unmaps exactly what was mapped; no reference can outlive self.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.stride * self.rows) };
    }
}

fn page_size() -> usize {
    // SAFETY: no pointers.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::c_int;
    use std::sync::atomic::Ordering;

    #[test]
    fn rows_are_page_aligned_zeroed_and_do_not_overlap() {
        let rows = Rows::new(3, 5).unwrap();
        assert_eq!(rows.first_row(0) as usize % page_size(), 0);
        assert_eq!(rows.stride_bytes() % page_size(), 0);
        rows.cell(1, 4).store(7, Ordering::Relaxed);
        let all: Vec<u64> = (0..3)
            .flat_map(|r| (0..5).map(move |c| (r, c)))
            .map(|(r, c)| rows.cell(r, c).load(Ordering::Relaxed))
            .collect();
        assert_eq!((all.iter().sum::<u64>(), all[9]), (7, 7));
    }

    #[test]
    fn rows_larger_than_addresses_or_the_kernel_allow_are_refused() {
        assert!(Rows::new(2, usize::MAX).unwrap_err().is_none());
        assert!(Rows::new(2, 1 << 60).unwrap_err().is_none());
        assert_eq!(Rows::new(2, 1 << 50).unwrap_err().unwrap().raw_os_error(), Some(libc::ENOMEM));
    }

    #[test]
    fn a_bound_row_reads_back_as_bound() {
        let rows = Rows::new(2, 1).unwrap();
        match rows.bind(0, 0) {
            Err(refused) => {
                // A container may forbid it, and a kernel may be built without NUMA: the error is returned, not hidden.
                assert!(matches!(refused.raw_os_error(), Some(libc::EPERM | libc::ENOSYS | libc::EINVAL)), "{refused}");
            }
            Ok(()) => {
                assert_eq!(policy_of(rows.cell(0, 0)), libc::MPOL_BIND);
                assert_eq!(policy_of(rows.cell(1, 0)), libc::MPOL_DEFAULT);
            }
        }
        assert!(rows.bind(0, 1023).is_err(), "a node that does not exist");
    }

    fn policy_of(cell: &AtomicU64) -> c_int {
        let mut policy: c_int = -1;
        // SAFETY: queries an address; writes one int.
        let answer = unsafe {
            libc::syscall(
                libc::SYS_get_mempolicy,
                &raw mut policy,
                ptr::null_mut::<c_ulong>(),
                0,
                cell,
                2, /* MPOL_F_ADDR */
            )
        };
        assert_eq!(answer, 0, "{}", io::Error::last_os_error());
        policy
    }
}
