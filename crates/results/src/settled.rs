//! Whether a server had finished its background work after the warm-up, before it was measured.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The wait for the server between warm-up and samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SettledRecord {
    /// Seconds of the study's statements and the engine's own (PostgreSQL's CHECKPOINT).
    pub statements_s: f64,
    /// Seconds waited after the statements.
    pub waited_s: f64,
    /// Whether no work was left before the study's time limit.
    pub settled: bool,
    /// Remaining work of the server at the end of the wait, by name: `history_list_length`, `dirty_pages`,
    /// `autovacuum_workers`, `tables_to_vacuum`, `wal_pages`.
    pub left: BTreeMap<String, u64>,
}
