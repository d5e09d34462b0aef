//! A gate at which threads wait until all have arrived. (A barrier would wait for ever for a thread that could not be
//! started, or that failed before.)

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct State {
    arrived: usize,
    failed: usize,
    opened: Option<bool>,
}

#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

/// A thread that will arrive at the gate; one that is dropped before it arrives counts as failed.
pub(super) struct Arrival<'a> {
    gate: &'a Gate,
    there: bool,
}

impl Gate {
    pub(super) fn arrival(&self) -> Arrival<'_> {
        Arrival { gate: self, there: false }
    }

    /// Waits for `threads` threads; true when all of them arrived and none failed.
    pub(super) fn await_all(&self, threads: usize) -> bool {
        let waiting = |state: &mut State| state.arrived + state.failed < threads;
        let state = self.changed.wait_while(self.lock(), waiting).unwrap_or_else(PoisonError::into_inner);
        state.failed == 0
    }

    /// Opens the gate: with `go` the threads continue, else they give up.
    pub(super) fn open(&self, go: bool) {
        self.lock().opened.get_or_insert(go);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arrival<'_> {
    /// Waits until the gate opens; false means to give up.
    #[inline(never)]
    pub(super) fn wait(mut self) -> bool {
        self.there = true;
        self.gate.lock().arrived += 1;
        self.gate.changed.notify_all();
        let state = self.gate.changed.wait_while(self.gate.lock(), |state| state.opened.is_none());
        state.unwrap_or_else(PoisonError::into_inner).opened == Some(true)
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        if !self.there {
            self.gate.lock().failed += 1;
            self.gate.changed.notify_all();
        }
    }
}
