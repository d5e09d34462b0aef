//! Possible reasons for a difference in transaction time.

use serde::{Serialize, Serializer};
use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suspect {
    RowLock,
    GlobalLock(String),
    /// The lock of pages that are in high demand.
    PageLock(String),
    /// The lock of an index whose tree changes.
    IndexLock(String),
    /// Threads that wake each other: context switches, and the kernel's work for them.
    WakeUps,
    /// More runnable threads than CPUs for them.
    CpuShortage,
    /// The connection between client and server, apart from context switches.
    Network,
    /// The clients' control group exhausted its CPU quota.
    Throttled,
    /// Time in the kernel, without more switches.
    KernelTime,
    ClientBound,
    ServerWork,
    /// Server work on another node than its memory.
    RemoteMemory,
    Allocator,
    /// The server's memory in small or huge pages, if this differs.
    HugePages {
        /// Whether the side that takes longer has fewer huge pages.
        fewer: bool,
    },
    TlbMisses,
    /// Page faults of automatic NUMA balancing, by which the kernel detects which node uses a page, and moves the page
    /// there.
    NumaBalancing,
    /// Page faults on memory that was released and is allocated again.
    PageFaults,
    /// Waits until the log is on storage.
    Commit,
    Storage,
    Pauses,
    /// Waits inside the server, or in the connection to it, without a recorded name.
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
