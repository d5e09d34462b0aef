//! A number for each thread, given out in turn: its stripe.

#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(not(loom))]
static NEXT: AtomicUsize = AtomicUsize::new(0);
#[cfg(not(loom))]
thread_local!(static STRIPE: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) });

// loom starts every execution of a model afresh, so its statics must too.
#[cfg(loom)]
loom::lazy_static!(static ref NEXT: AtomicUsize = AtomicUsize::new(0););
#[cfg(loom)]
loom::thread_local!(static STRIPE: std::cell::Cell<usize> = std::cell::Cell::new(usize::MAX));

/// The calling thread's number. In a thread that is already taking its thread-locals down: 0, a stripe like any other.
#[inline]
pub(crate) fn of_thread() -> usize {
    STRIPE
        .try_with(|stripe| {
            if stripe.get() == usize::MAX {
                stripe.set(NEXT.fetch_add(1, Ordering::Relaxed));
            }
            stripe.get()
        })
        .unwrap_or(0)
}
