//! One observed thread of the server.

use std::time::Instant;
use tare_cpuset::ThreadRef;
use tare_cpuset::observe::{self, InCallFile, ObserveError};

/// A thread, its file under /proc, and the kernel's counters when observation began.
pub(super) struct Followed {
    pub thread: ThreadRef,
    pub is_connection: bool,
    pub file: InCallFile,
    since: Instant,
    counted: Option<Counted>,
}

/// Exact figures from the kernel, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Counted {
    pub elapsed_ns: f64,
    pub ran_ns: f64,
    pub waited_ns: f64,
}

impl Followed {
    pub(crate) fn new(thread: ThreadRef, is_connection: bool) -> Result<Self, ObserveError> {
        let file = InCallFile::open(thread)?;
        Ok(Self { thread, is_connection, file, since: Instant::now(), counted: counted(thread) })
    }

    /// The increase since observation began; None if the kernel does not count, or the thread has ended.
    pub(crate) fn did(&self) -> Option<Counted> {
        let (before, now) = (self.counted?, counted(self.thread)?);
        Some(Counted {
            elapsed_ns: self.since.elapsed().as_nanos() as f64,
            ran_ns: now.ran_ns - before.ran_ns,
            waited_ns: now.waited_ns - before.waited_ns,
        })
    }
}

fn counted(thread: ThreadRef) -> Option<Counted> {
    let now = observe::thread(thread).ok()?;
    Some(Counted { elapsed_ns: 0.0, ran_ns: now.run_ns? as f64, waited_ns: now.wait_ns? as f64 })
}
