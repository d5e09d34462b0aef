//! What a running server can say of itself alongside its answers: lock waits, counters, a report.

use std::collections::BTreeMap;

/// What a server waits for, by what the wait belongs to in the time of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitKind {
    Lock,
    /// A lock of a row, or the end of the transaction that holds it.
    Row,
    /// The log, until it is on storage.
    Log,
    File,
    /// A time that passes: backing off, sleeping.
    Pause,
}

/// Waits for one lock, or for one kind of locks, since they were last set to zero.
#[derive(Debug, Clone, PartialEq)]
pub struct LockWait {
    pub kind: WaitKind,
    /// The engine's own name of it, for example `wait/synch/mutex/innodb/buf_pool_mutex`.
    pub name: String,
    /// How often it was taken; of waits that are looked at many times a second, how often they were seen.
    pub count: u64,
    /// Time until it was had, summed over all threads, seconds.
    pub wait_s: f64,
}

/// Why a server cannot say something: a reason for the record, never an error of the trial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// A server's own view of itself, over a connection that no client uses.
pub trait Diagnostics: Send {
    /// Begins to time waits for locks, from zero; what was switched on, in words.
    fn watch_locks(&mut self) -> Result<String, Unavailable>;
    /// The waits since then; watching ends.
    fn lock_waits(&mut self) -> Result<Vec<LockWait>, Unavailable>;
    /// All counters that only grow, and the gauges among them.
    fn counters(&mut self) -> Result<BTreeMap<String, f64>, Unavailable>;
    /// The storage engine's own report, as text, and the name of the file it belongs in.
    fn report(&mut self) -> Result<(&'static str, String), Unavailable>;
}

/// A server that says nothing of itself.
pub(crate) struct Silent(pub &'static str);

impl Diagnostics for Silent {
    fn watch_locks(&mut self) -> Result<String, Unavailable> {
        Err(Unavailable(format!("{} does not tell its lock waits", self.0)))
    }

    fn lock_waits(&mut self) -> Result<Vec<LockWait>, Unavailable> {
        self.watch_locks().map(|_| Vec::new())
    }

    fn counters(&mut self) -> Result<BTreeMap<String, f64>, Unavailable> {
        Err(Unavailable(format!("{} has no counters of the whole server", self.0)))
    }

    fn report(&mut self) -> Result<(&'static str, String), Unavailable> {
        Err(Unavailable(format!("{} has no report of its storage engine", self.0)))
    }
}
