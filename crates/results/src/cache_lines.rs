//! Cache lines that cores take from each other, from accesses to memory that `perf mem record` sampled in a capture
//! sample.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Name of the capture, also among those that are missing.
pub const LINES: &str = "lines";
/// Why there are none on most virtual machines and some processors.
pub const NO_SAMPLING: &str = "this processor offers no memory sampling to perf";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedLines {
    pub line_bytes: u64,
    /// All that was sampled in the threads of the server and of the clients.
    #[serde(flatten)]
    pub counts: LineCounts,
    /// Whether there were more samples than are read.
    pub cut: bool,
    /// Those most often found in another core's cache, the first most often.
    pub lines: Vec<SharedLine>,
}

/// Sampled accesses; an instruction that reads and writes in one step is both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCounts {
    pub loads: u64,
    pub stores: u64,
    /// Of the loads, those that found the line in the cache of another core of the same memory node: modified there on
    /// Intel and AMD; Arm does not say whether it was.
    pub found_local: u64,
    /// The same of a core of another node.
    pub found_remote: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SharedLine {
    /// What lies where it is found most: `SYMBOL`, `SYMBOL+0x40`, the name of a library, `heap`, `shared memory`,
    /// `kernel`.
    pub name: String,
    /// Of its first byte in the process, hexadecimal.
    pub address: String,
    pub sharing: Sharing,
    #[serde(flatten)]
    pub counts: LineCounts,
    /// From where in the line, and on which node, the most often first; not all of many.
    pub accesses: Vec<LineAccess>,
}

/// Whether threads share what they use of a line, or only the line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Most loads that found it elsewhere are of 8 bytes that another thread writes.
    SameWord,
    /// Most are of others than those that another thread writes: false sharing.
    OtherWords,
    /// No write of another thread was sampled.
    #[default]
    Unknown,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LineAccess {
    /// Bytes from the beginning of the line.
    pub offset: u64,
    /// Memory node of the CPU.
    pub node: u32,
    pub function: String,
    pub threads: usize,
    #[serde(flatten)]
    pub counts: LineCounts,
}

impl LineCounts {
    /// Loads that found the line in another core's cache.
    pub fn found(&self) -> u64 {
        self.found_local.saturating_add(self.found_remote)
    }
}

impl AddAssign for LineCounts {
    fn add_assign(&mut self, other: Self) {
        // A record may come from anywhere.
        self.loads = self.loads.saturating_add(other.loads);
        self.stores = self.stores.saturating_add(other.stores);
        self.found_local = self.found_local.saturating_add(other.found_local);
        self.found_remote = self.found_remote.saturating_add(other.found_remote);
    }
}
