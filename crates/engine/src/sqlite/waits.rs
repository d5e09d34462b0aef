//! The embedded engine's own wait table.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::planted::Planted;
use super::pragmas::Refused;

/// The text that a client sends to get the wait table: name, count, nanoseconds.
pub(super) const WAITS_REQUEST: &str = "TARE LOCK WAITS";

/// Waits of the whole server, from its start.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Statements answered with BUSY: the client waits for SQLite's write lock, and tries again.
    pub busy: AtomicU64,
    /// The lock that tests plant; nothing in a program that is not built for tests.
    pub planted: Planted,
}

impl Waits {
    /// Takes what is meant for it out of `options`.
    pub(super) fn new(options: &mut BTreeMap<String, String>) -> Result<Self, Refused> {
        Ok(Self { busy: AtomicU64::new(0), planted: Planted::take(options)? })
    }

    /// name, count, wait in nanoseconds.
    pub(super) fn table(&self) -> Vec<(&'static str, u64, u64)> {
        let busy = ("sqlite/busy", self.busy.load(Ordering::Relaxed), 0);
        [busy].into_iter().chain(self.planted.waits()).collect()
    }
}
