//! The stripe of each thread: a number assigned round-robin.

#[cfg(loom)]
use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(not(loom))]
static NEXT: AtomicUsize = AtomicUsize::new(0);
#[cfg(not(loom))]
thread_local!(static STRIPE: std::cell::Cell<usize> = const { std::cell::Cell::new(usize::MAX) });

// loom starts each execution of a model from scratch, so its statics must be reset too.
#[cfg(loom)]
loom::lazy_static!(static ref NEXT: AtomicUsize = AtomicUsize::new(0););
#[cfg(loom)]
loom::thread_local!(static STRIPE: std::cell::Cell<usize> = std::cell::Cell::new(usize::MAX));

/// The stripe of the calling thread; 0 in a thread whose thread-locals are already being destroyed.
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
