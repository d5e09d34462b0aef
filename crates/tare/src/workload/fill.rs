//! What all fillings share: several sessions at the same time, each with a table of its own, and INSERTs of many rows.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tare_engine::Dialect;

/// `(?, ?), (?, ?)` for two rows of width 2, in the words of the dialect.
pub fn rows_of_placeholders(dialect: &dyn Dialect, width: usize, rows: usize) -> String {
    let row = |row: usize| {
        let values: Vec<String> = (1..=width).map(|column| dialect.placeholder(row * width + column)).collect();
        format!("({})", values.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

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
