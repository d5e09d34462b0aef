//! Rows on the heap: Miri, loom, other systems. No page alignment, no nodes.

use super::AtomicU64;
use std::io;

/// Rows start this many counters apart at least: 128 bytes, two cache lines, as adjacent lines are fetched in pairs.
const ALIGN: usize = 16;

/// Rows of counters, one after the other.
#[derive(Debug)]
pub struct Rows {
    cells: Vec<AtomicU64>,
    stride: usize,
}

impl Rows {
    pub fn new(rows: usize, counters: usize) -> Result<Self, Option<io::Error>> {
        // Padding would only multiply what loom has to look at.
        let stride = if cfg!(loom) { counters } else { counters.max(1).next_multiple_of(ALIGN) };
        let cells = stride.checked_mul(rows).ok_or(None)?;
        Ok(Self { cells: (0..cells).map(|_| AtomicU64::new(0)).collect(), stride })
    }

    /// A row's cell of a counter; out of range is a panic.
    #[inline]
    pub fn cell(&self, row: usize, counter: usize) -> &AtomicU64 {
        &self.cells[row * self.stride + counter]
    }

    /// Row 0's cell as the restartable add wants it; there is none where this is compiled.
    pub(crate) fn first_row(&self, _counter: usize) -> *mut u64 {
        std::ptr::null_mut()
    }

    pub(crate) fn stride_bytes(&self) -> usize {
        self.stride * size_of::<u64>()
    }

    /// There are no nodes where this is compiled.
    pub fn bind(&self, _row: usize, _node: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
