//! What is told while a trial works: one JSON line at a time on its standard output, when a run listens.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum Progress {
    Starting,
    /// Load before the first sample.
    WarmUp { seconds: f64 },
    Sample {
        /// From 0.
        sample: usize,
        seconds: f64,
    },
    Query {
        /// 1 to 22.
        query: u8,
    },
    /// A second has passed under load.
    Reading {
        tps: f64,
        /// Seconds since the start of warm-up or sample.
        second: u64,
        warming_up: bool,
    },
    Stopping,
}
