//! Which script, on which tables.

use tare_load::Distribution;

#[derive(Debug, Clone, PartialEq)]
pub struct SysbenchSettings {
    /// A script of sysbench's, or the path of one's own.
    pub script: String,
    pub tables: usize,
    pub rows: u64,
    /// How ids are drawn; none: as sysbench does by default.
    pub distribution: Option<Distribution>,
    /// Transactions a second over all threads; none: as fast as they go.
    pub rate: Option<f64>,
    pub options: Vec<String>,
    /// Name or path of the program.
    pub program: String,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl Default for SysbenchSettings {
    fn default() -> Self {
        Self {
            script: "oltp_read_only".to_owned(),
            tables: 1,
            rows: 10_000,
            distribution: None,
            rate: None,
            options: Vec::new(),
            program: "sysbench".to_owned(),
            preload: false,
        }
    }
}
