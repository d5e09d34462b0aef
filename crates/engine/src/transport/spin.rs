//! How long connections have spun: read their sockets again and again, in place of sleeping until an answer arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a connection spins before it says so: those of a load share one count.
const SAY_AFTER: Duration = Duration::from_millis(1);

/// How long all connections that were handed it have spun together.
#[derive(Debug, Clone, Default)]
pub struct Spinning(Arc<AtomicU64>);

impl Spinning {
    /// Within a millisecond for each connection.
    pub fn spun(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// The part of one connection.
#[derive(Debug)]
pub(super) struct Spin {
    all: Spinning,
    /// What is not in the sum yet.
    unsaid: Duration,
}

impl Spin {
    pub fn of(all: Spinning) -> Self {
        Self { all, unsaid: Duration::ZERO }
    }

    pub fn add(&mut self, spun: Duration) {
        self.unsaid += spun;
        if self.unsaid >= SAY_AFTER {
            self.say();
        }
    }

    fn say(&mut self) {
        let unsaid = std::mem::take(&mut self.unsaid);
        self.all.0.fetch_add(u64::try_from(unsaid.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Drop for Spin {
    fn drop(&mut self) {
        self.say();
    }
}
