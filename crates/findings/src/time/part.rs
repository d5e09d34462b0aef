//! The parts of a transaction's time, and what may be missing of them.

use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// One part of the time of a transaction, in the order in which parts are shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Client threads on a CPU, in user mode.
    ClientUser,
    /// Client threads on a CPU, in the kernel.
    ClientSystem,
    /// Client threads that could run and had no CPU.
    ClientWaited,
    /// Threads that serve a connection on a CPU, in user mode.
    ServerUser,
    /// Threads that serve a connection on a CPU, in the kernel.
    ServerSystem,
    /// Threads that serve a connection that could run and had no CPU.
    ServerWaited,
    /// Threads of either side that could run while their CPU was another program's: the machine's disturbance.
    Strangers,
    /// Threads of either side that a control group's CPU quota had stopped.
    Throttled,
    /// Waits until the log, or another file, is on storage.
    Flush,
    /// Reads and writes of files, page faults among them.
    Io,
    /// Sleeps of the server's for a time.
    Pause,
    /// Waits for locks of rows, by the server's own count.
    RowLock,
    /// Waits for one lock inside the server, by the server's name of it.
    Lock(String),
    /// Waits for all locks that are too small to be named.
    OtherLocks,
    /// Sleeps inside the server that it gives no name: on futexes, semaphores, for other processes.
    Asleep,
    /// Both sides asleep, the client until an answer comes and the server until a request does: wake-ups and the
    /// network.
    Way,
    NotExplained,
}

impl Part {
    /// CPU time of both sides.
    pub(crate) const WORK: [Self; 4] = [Self::ClientUser, Self::ClientSystem, Self::ServerUser, Self::ServerSystem];

    /// As scripts read it: `client_user`, `lock:NAME` ...
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::ClientUser => "client_user",
            Self::ClientSystem => "client_system",
            Self::ClientWaited => "client_waited_for_cpu",
            Self::ServerUser => "server_user",
            Self::ServerSystem => "server_system",
            Self::ServerWaited => "server_waited_for_cpu",
            Self::Strangers => "other_programs",
            Self::Throttled => "throttled",
            Self::Flush => "flush",
            Self::Io => "io",
            Self::Pause => "pause",
            Self::RowLock => "row_lock",
            Self::Lock(name) => return Cow::Owned(format!("lock:{name}")),
            Self::OtherLocks => "other_locks",
            Self::Asleep => "asleep",
            Self::Way => "on_the_way",
            Self::NotExplained => "not_explained",
        })
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.name())
    }
}

/// What a trial's record does not hold, so that its time is part of what is not explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// How long threads waited for a CPU: `capture.schedule` was off, or the kernel does not tell.
    WaitsForCpu,
    /// The threads that serve the connections: the server is elsewhere, or does not name them.
    ServerThreads,
    /// Waits for row locks: no capture of the server's counters that has them.
    RowLocks,
    /// Waits for locks inside the server: no capture of them.
    Locks,
    /// In what the server's threads sleep: no capture of it.
    Sleeps,
}
