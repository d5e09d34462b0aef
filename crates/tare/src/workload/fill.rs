//! Several sessions that fill tables at the same time, each a table of its own.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What the sessions share: the tables that nobody has taken yet, and whether one of them has failed.
pub struct Shared<'a, E> {
    next: AtomicUsize,
    tables: usize,
    stop: AtomicBool,
    progress: &'a (dyn Fn(u64) -> ControlFlow<()> + Sync),
    interrupted: fn() -> E,
}

impl<E> Shared<'_, E> {
    /// The next table to fill, from 0; none when all are taken.
    pub fn take(&self) -> Option<usize> {
        Some(self.next.fetch_add(1, Ordering::AcqRel)).filter(|table| *table < self.tables)
    }

    /// Says that so many rows were added.
    ///
    /// # Errors
    /// When the caller, or the failure of another session, wants the work to end.
    pub fn added(&self, rows: u64) -> Result<(), E> {
        match (self.progress)(rows) {
            ControlFlow::Continue(()) if !self.stop.load(Ordering::Acquire) => Ok(()),
            _ => Err((self.interrupted)()),
        }
    }
}

/// Runs `work` in so many threads, this one among them, each until [`Shared::take`] has no more tables.
///
/// # Errors
/// The first failure; the others are told to stop.
pub fn in_parallel<E: Send>(
    sessions: usize,
    tables: usize,
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
    interrupted: fn() -> E,
    work: impl Fn(&Shared<'_, E>) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let shared = Shared { next: AtomicUsize::new(0), tables, stop: AtomicBool::new(false), progress, interrupted };
    let first_error = Mutex::new(None);
    let one = || {
        if let Err(error) = work(&shared) {
            // Kept before the others are told to stop: that they were stopped is not the error to show.
            first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            shared.next.store(tables, Ordering::Release);
            shared.stop.store(true, Ordering::Release);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..sessions {
            scope.spawn(one);
        }
        one();
    });
    first_error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
