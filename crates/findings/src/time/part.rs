//! The parts of a transaction's time, and the data that may be missing for them.

use serde::{Serialize, Serializer};
use std::borrow::Cow;
use strum::IntoStaticStr;

/// One part of the time of a transaction, in display order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Part {
    /// Client threads on a CPU, in user mode.
    ClientUser,
    /// Client threads on a CPU, in the kernel.
    ClientSystem,
    /// Client threads that were runnable without a CPU.
    #[strum(serialize = "client_waited_for_cpu")]
    ClientWaited,
    /// Threads that serve a connection on a CPU, in user mode.
    ServerUser,
    /// Threads that serve a connection on a CPU, in the kernel.
    ServerSystem,
    /// Threads that serve a connection that were runnable without a CPU.
    #[strum(serialize = "server_waited_for_cpu")]
    ServerWaited,
    /// Runnable threads of either side while another program used their CPU: the machine's disturbance.
    OtherPrograms,
    /// Threads of either side that were stopped by the CPU quota of a control group.
    Throttled,
    /// Waits until the log, or another file, is on storage.
    Flush,
    /// Reads and writes of files, including page faults.
    Io,
    /// Reads and writes of files that hold what one statement sorts or collects.
    TemporaryFiles,
    /// Sleeps of the server itself for a set time.
    Pause,
    /// Sleeps that statements ask for, such as `SLEEP()` and `pg_sleep`.
    StatementSleep,
    /// Waits for row locks, as counted by the server.
    RowLock,
    /// Waits for one lock inside the server, with the server's name for it.
    Lock(String),
    /// Sleeps on one futex that several threads share, with the name of its symbol or its caller: a lock that the
    /// server does not report.
    Futex(String),
    /// Waits for all locks that are too small for a part of their own.
    OtherLocks,
    /// Unnamed sleeps inside the server: on futexes, semaphores, for other processes.
    Asleep,
    /// Both sides asleep, the client until an answer arrives and the server until a request arrives: wake-ups and the
    /// network.
    #[strum(serialize = "on_the_way")]
    Way,
    NotExplained,
}

impl Part {
    /// Whether it is one lock with a name.
    pub fn is_lock(&self) -> bool {
        matches!(self, Self::Lock(_) | Self::Futex(_))
    }

    /// CPU time of both sides.
    pub(crate) const WORK: [Self; 4] = [Self::ClientUser, Self::ClientSystem, Self::ServerUser, Self::ServerSystem];

    /// The name for scripts: `client_user`, `lock:NAME` ...
    fn name(&self) -> Cow<'static, str> {
        match self {
            Self::Lock(name) | Self::Futex(name) => Cow::Owned(format!("lock:{name}")),
            other => Cow::Borrowed(other.into()),
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.name())
    }
}

/// Data that a trial's record lacks, so that the time is counted as unexplained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// How long threads waited for a CPU: `capture.schedule` was off, or the kernel does not report it.
    WaitsForCpu,
    /// The threads that serve the connections: the server is on another host, or does not name them.
    ServerThreads,
    /// Waits for row locks: no capture of the server's counters includes them.
    RowLocks,
    /// Waits for locks inside the server: not captured.
    Locks,
    /// The functions in which the server's threads sleep: not captured.
    Sleeps,
}
