//! Whether a server had finished what its warm-up left, before it was measured.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How the server was waited for between warm-up and samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SettledRecord {
    /// Seconds that the study's statements took, and the engine's own (PostgreSQL's CHECKPOINT).
    pub statements_s: f64,
    /// Seconds that were waited after them.
    pub waited_s: f64,
    /// Whether nothing was left to wait for before the time that the study gives was over.
    pub settled: bool,
    /// What the server still had to do at the last look, by its name: `history_list_length`, `dirty_pages`,
    /// `autovacuum_workers`, `tables_to_vacuum`, `wal_pages`.
    pub left: BTreeMap<String, u64>,
}
