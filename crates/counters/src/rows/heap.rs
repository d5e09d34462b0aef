//! Rows on the heap, for Miri, loom and other systems. No page alignment, no NUMA nodes.

use super::AtomicU64;
use std::io;

/// Rows start at multiples of this many counters: 128 bytes, two cache lines, because adjacent lines are fetched in
/// pairs.
const ALIGN: usize = 16;

/// Rows of counters, one after the other.
#[derive(Debug)]
pub struct Rows {
    cells: Vec<AtomicU64>,
    stride: usize,
}

impl Rows {
    pub fn new(rows: usize, counters: usize) -> Result<Self, Option<io::Error>> {
        // Padding would only enlarge the state that loom explores.
        let stride = if cfg!(loom) { counters } else { counters.max(1).next_multiple_of(ALIGN) };
        let cells = stride.checked_mul(rows).ok_or(None)?;
        Ok(Self { cells: (0..cells).map(|_| AtomicU64::new(0)).collect(), stride })
    }

    /// The cell of a counter in a row.
    ///
    /// # Panics
    /// If the row or the counter is out of range.
    #[inline]
    pub fn cell(&self, row: usize, counter: usize) -> &AtomicU64 {
        &self.cells[row * self.stride + counter]
    }

    /// The pointer for the restartable add, which does not exist where this file is compiled.
    pub(crate) fn first_row(&self, _counter: usize) -> *mut u64 {
        std::ptr::null_mut()
    }

    pub(crate) fn stride_bytes(&self) -> usize {
        self.stride * size_of::<u64>()
    }

    /// Fails: binding to a node is not supported where this file is compiled.
    pub fn bind(&self, _row: usize, _node: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
