//! What may be the reason of a difference.

use serde::{Serialize, Serializer};
use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suspect {
    RowLock,
    GlobalLock(String),
    /// The lock of pages that many want at once.
    PageLock(String),
    /// The lock of an index whose tree changes.
    IndexLock(String),
    /// Threads that wake each other: switches, and the kernel's work for them.
    WakeUps,
    /// More threads that can run than CPUs that they may run on.
    CpuShortage,
    /// The way between client and server, where it is not their switches.
    Network,
    /// The CPU quota of the clients' control group, used up.
    Throttled,
    /// Time in the kernel, without more switches.
    KernelTime,
    ClientBound,
    ServerWork,
    /// Work of the server's on another node than its memory.
    RemoteMemory,
    /// Its work inside the memory allocator.
    Allocator,
    /// Its memory in small pages or in huge ones, where that differs.
    HugePages {
        /// Whether the side that takes longer has fewer huge ones.
        fewer: bool,
    },
    /// Pages that the processor looks up anew.
    TlbMisses,
    /// Page faults by which the kernel finds out which node a page is used on, and moves it there.
    NumaBalancing,
    /// Page faults by which memory is had that was given back.
    PageFaults,
    /// Waits until the log is on storage.
    Commit,
    Storage,
    /// Sleeps of the server's for a time.
    Pauses,
    /// Waits inside the server, or on the way to it, that nothing recorded gives a name.
    Unnamed,
}

impl Suspect {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RowLock => "row_lock",
            Self::GlobalLock(_) => "global_lock",
            Self::PageLock(_) => "page_lock",
            Self::IndexLock(_) => "index_lock",
            Self::WakeUps => "wake_ups",
            Self::CpuShortage => "cpu_shortage",
            Self::Network => "network",
            Self::Throttled => "throttled",
            Self::KernelTime => "kernel_time",
            Self::ClientBound => "client_bound",
            Self::ServerWork => "server_work",
            Self::RemoteMemory => "remote_memory",
            Self::Allocator => "allocator",
            Self::HugePages { .. } => "huge_pages",
            Self::TlbMisses => "tlb_misses",
            Self::NumaBalancing => "numa_balancing",
            Self::PageFaults => "page_faults",
            Self::Commit => "commit",
            Self::Storage => "storage",
            Self::Pauses => "pauses",
            Self::Unnamed => "unnamed_waits",
        }
    }

    /// The kind, or the lock's own name.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Self::GlobalLock(name) | Self::PageLock(name) | Self::IndexLock(name) => Cow::Borrowed(name),
            other => Cow::Borrowed(other.kind()),
        }
    }
}

impl Serialize for Suspect {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.kind())
    }
}
