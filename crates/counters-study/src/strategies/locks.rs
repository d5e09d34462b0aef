//! A value behind a lock.

use super::counting::{Counting, Plan};
use crate::workload::Error;
use std::cell::UnsafeCell;
use std::sync::{Mutex, PoisonError};

pub(crate) struct StdMutex;

impl Counting for StdMutex {
    type Cell = Mutex<u64>;
    type Local = ();

    fn new(_: &Plan) -> Result<Self, Error> {
        Ok(Self)
    }

    fn cell(&self) -> Self::Cell {
        Mutex::new(0)
    }

    fn enter(&self, _: usize) {}

    #[inline]
    fn increment(&self, (): &mut (), cell: &Self::Cell, _: usize) {
        *cell.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    }

    fn sum(&self, cell: &Self::Cell, _: usize) -> u64 {
        *cell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct PthreadMutex;

/// A mutex that must not move after it was first locked: the workload puts it on the heap before that.
pub(crate) struct Guarded {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    value: UnsafeCell<u64>,
}

// SAFETY: the value is accessed only under the mutex.
unsafe impl Sync for Guarded {}
// SAFETY: no part belongs to a thread; not moved while locked.
unsafe impl Send for Guarded {}

impl Guarded {
    #[inline]
    fn with<T>(&self, act: impl FnOnce(&mut u64) -> T) -> T {
        // SAFETY: statically initialised; locked and unlocked by this thread, which owns the value in between.
        unsafe {
            libc::pthread_mutex_lock(self.mutex.get());
            let answer = act(&mut *self.value.get());
            libc::pthread_mutex_unlock(self.mutex.get());
            answer
        }
    }
}

impl Counting for PthreadMutex {
    type Cell = Guarded;
    type Local = ();

    fn new(_: &Plan) -> Result<Self, Error> {
        Ok(Self)
    }

    fn cell(&self) -> Self::Cell {
        Guarded { mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER), value: UnsafeCell::new(0) }
    }

    fn enter(&self, _: usize) {}

    #[inline]
    fn increment(&self, (): &mut (), cell: &Self::Cell, _: usize) {
        cell.with(|value| *value += 1);
    }

    fn sum(&self, cell: &Self::Cell, _: usize) -> u64 {
        cell.with(|value| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_accessed_only_under_the_mutex() {
        let guarded = PthreadMutex.cell();
        // SAFETY: a mutex that is initialised; one that is locked is not locked again, but refused.
        let try_lock = || unsafe { libc::pthread_mutex_trylock(guarded.mutex.get()) };
        assert_eq!(guarded.with(|_| try_lock()), libc::EBUSY);
        assert_eq!(try_lock(), 0, "it was not unlocked");
    }
}
