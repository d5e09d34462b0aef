//! The diagnostics of the embedded engine: its own wait table. SQLite has only counters per connection, so there are
//! none for the whole server.

use super::planted::Planted;
use super::pragmas::{NAME, Refused};
use super::waited::Waited;
use crate::Session;
use crate::contract::diagnostics::{Diagnostics, LockWait, MOST_WAITS, Silent, Unavailable};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use tare_results::captures::WaitKind;

/// The text that a client sends to get the wait table: name, count, nanoseconds.
pub(super) const WAITS_REQUEST: &str = "TARE LOCK WAITS";
/// The name of SQLite's write lock in that table.
const BUSY: &str = "sqlite/busy";

#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Statements answered with BUSY: the client waits for SQLite's write lock and retries.
    pub busy: AtomicU64,
    /// Time from such an answer until the same statement of the same connection completed.
    pub busy_time: Waited,
    /// Delays planted for tests; empty in a program that is not built for tests.
    pub planted: Planted,
}

impl Waits {
    /// Removes the options for planted delays from `options`.
    pub(super) fn new(options: &mut BTreeMap<String, String>) -> Result<Self, Refused> {
        Ok(Self { planted: Planted::take(options)?, ..Self::default() })
    }

    /// Rows of name, count, wait in nanoseconds.
    pub(super) fn table(&self) -> Vec<(&'static str, u64, u64)> {
        let busy = (BUSY, self.busy.load(Ordering::Relaxed), self.busy_time.ns());
        [busy].into_iter().chain(self.planted.waits()).collect()
    }
}

/// Uses a session of its own. Keeps the waits at the start of watching, because the server counts from its own start.
pub(super) struct SqliteDiagnostics {
    session: Box<dyn Session>,
    before: Vec<LockWait>,
}

impl SqliteDiagnostics {
    pub(super) fn new(session: Box<dyn Session>) -> Self {
        Self { session, before: Vec::new() }
    }

    fn waits(&mut self) -> Result<Vec<LockWait>, Unavailable> {
        let rows = self.session.query(WAITS_REQUEST).map_err(|e| Unavailable(e.to_string()))?;
        Ok(rows.iter().filter_map(|row| wait(row)).take(MOST_WAITS).collect())
    }
}

fn wait(row: &[Option<String>]) -> Option<LockWait> {
    let [Some(name), Some(count), Some(wait_ns)] = row else { return None };
    let kind = if name == BUSY { WaitKind::Retried } else { WaitKind::Lock };
    LockWait::reported(kind, name, count.parse().ok()?, wait_ns.parse::<u64>().ok()? as f64 / 1e9)
}

impl Diagnostics for SqliteDiagnostics {
    fn watch_locks(&mut self) -> Result<String, Unavailable> {
        self.before = self.waits()?;
        Ok("the server's own wait table, always on".to_owned())
    }

    fn lock_waits(&mut self) -> Result<Vec<LockWait>, Unavailable> {
        let mut waits = self.waits()?;
        for wait in &mut waits {
            if let Some(before) = self.before.iter().find(|before| before.name == wait.name) {
                wait.count = wait.count.saturating_sub(before.count);
                wait.wait_s = (wait.wait_s - before.wait_s).max(0.0);
            }
        }
        Ok(waits)
    }

    fn counters(&mut self) -> Result<BTreeMap<String, f64>, Unavailable> {
        Silent(NAME).counters()
    }

    fn report(&mut self) -> Result<(&'static str, String), Unavailable> {
        Silent(NAME).report()
    }
}
