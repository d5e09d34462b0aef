//! Contended cache lines, from memory accesses that `perf mem record` sampled in a capture sample.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Name of the capture, also in the list of missing captures.
pub const LINES: &str = "lines";
/// Why it is missing on most virtual machines and some processors.
pub const NO_SAMPLING: &str = "this processor offers no memory sampling to perf";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedLines {
    pub line_bytes: u64,
    /// All accesses sampled in the threads of the server and of the clients.
    #[serde(flatten)]
    pub counts: LineCounts,
    /// Whether there were more samples than the reader's limit.
    pub cut: bool,
    /// The lines most often found in another core's cache, in descending order.
    pub lines: Vec<SharedLine>,
}

/// Sampled accesses; an instruction that reads and writes in one step counts as both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounts {
    pub loads: u64,
    pub stores: u64,
    /// Loads that found the line in the cache of another core of the same NUMA node: modified there on Intel and AMD;
    /// Arm does not report whether it was.
    pub found_local: u64,
    /// Loads that found the line in a cache of another NUMA node.
    pub found_remote: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedLine {
    /// What lies at the offset found most often: `SYMBOL`, `SYMBOL+0x40`, the name of a library, `heap`, `shared
    /// memory`, `kernel`.
    pub name: String,
    /// Address of its first byte in the process, hexadecimal.
    pub address: String,
    pub sharing: Sharing,
    #[serde(flatten)]
    pub counts: LineCounts,
    /// Accesses by offset, node and function, in descending order; the list is limited.
    pub accesses: Vec<LineAccess>,
}

/// Whether threads share the data that they use in a line, or only the line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Most loads that found the line elsewhere are of 8 bytes that another thread writes.
    SameWord,
    /// Most of these loads are of other bytes than those that another thread writes: false sharing.
    OtherWords,
    /// No write of another thread was sampled.
    #[default]
    Unknown,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LineAccess {
    /// Offset from the beginning of the line, bytes.
    pub offset: u64,
    /// NUMA node of the CPU.
    pub node: u32,
    pub function: String,
    pub threads: usize,
    #[serde(flatten)]
    pub counts: LineCounts,
}

impl LineCounts {
    pub fn found(&self) -> u64 {
        self.found_local.saturating_add(self.found_remote)
    }
}

impl AddAssign for LineCounts {
    fn add_assign(&mut self, other: Self) {
        // Saturating, because a record may come from an untrusted source.
        self.loads = self.loads.saturating_add(other.loads);
        self.stores = self.stores.saturating_add(other.stores);
        self.found_local = self.found_local.saturating_add(other.found_local);
        self.found_remote = self.found_remote.saturating_add(other.found_remote);
    }
}
