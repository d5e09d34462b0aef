//! A limit on the memory for the answers of all connections together: a server could send to each of many clients the
//! most that one answer may take.

use crate::contract::session::RESULT_LIMIT;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The limit, bytes: four answers of the largest size.
const ALL_ANSWERS: usize = 4 * RESULT_LIMIT;

static ALL: AtomicUsize = AtomicUsize::new(0);

/// The part of one connection, released when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Reservation(usize);

impl Reservation {
    pub(crate) fn bytes(&self) -> usize {
        self.0
    }

    /// Records that it takes this many bytes from now on.
    ///
    /// # Errors
    /// When all connections together would take too many; then nothing is recorded.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), String> {
        if let Some(more) = bytes.checked_sub(self.0)
            && ALL.fetch_add(more, Relaxed).saturating_add(more) > ALL_ANSWERS
        {
            ALL.fetch_sub(more, Relaxed);
            return Err(format!("answers of more than {} MiB to all connections together", ALL_ANSWERS >> 20));
        }
        ALL.fetch_sub(self.0.saturating_sub(bytes), Relaxed);
        self.0 = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        ALL.fetch_sub(self.0, Relaxed);
    }
}
