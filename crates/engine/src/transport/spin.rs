//! How long connections have spun, that is, polled their sockets instead of sleeping until an answer arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a connection spins before it adds its time: the connections of a load share one counter.
const SAY_AFTER: Duration = Duration::from_millis(1);

/// Total time that all connections with a clone of this value have spun.
#[derive(Debug, Clone, Default)]
pub struct Spinning(Arc<AtomicU64>);

impl Spinning {
    /// Exact to within a millisecond for each connection.
    pub fn spun(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

/// The share of one connection.
#[derive(Debug)]
pub(super) struct Spin {
    all: Spinning,
    /// Time that is not in the total yet.
    unreported: Duration,
}

impl Spin {
    pub(crate) fn of(all: Spinning) -> Self {
        Self { all, unreported: Duration::ZERO }
    }

    pub(crate) fn add(&mut self, spun: Duration) {
        self.unreported += spun;
        if self.unreported >= SAY_AFTER {
            self.say();
        }
    }

    fn say(&mut self) {
        let unreported = std::mem::take(&mut self.unreported);
        self.all.0.fetch_add(u64::try_from(unreported.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Drop for Spin {
    fn drop(&mut self) {
        self.say();
    }
}
