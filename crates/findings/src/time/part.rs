//! The parts of a transaction's time.

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
    /// Waits for locks of rows, by the server's own count.
    RowLock,
    /// Waits for one lock inside the server, by the server's name of it.
    Lock(String),
    /// Waits for all locks that are too small to be named.
    OtherLocks,
    /// The whole less all other parts: on the way between the two sides, and waits without a name.
    NotExplained,
}

impl Part {
    /// As scripts read it: `client_user`, `lock:NAME` ...
    pub fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::ClientUser => "client_user",
            Self::ClientSystem => "client_system",
            Self::ClientWaited => "client_waited_for_cpu",
            Self::ServerUser => "server_user",
            Self::ServerSystem => "server_system",
            Self::ServerWaited => "server_waited_for_cpu",
            Self::RowLock => "row_lock",
            Self::Lock(name) => return Cow::Owned(format!("lock:{name}")),
            Self::OtherLocks => "other_locks",
            Self::NotExplained => "not_explained",
        })
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.name())
    }
}
