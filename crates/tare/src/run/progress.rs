//! What a trial tells the run while it works: one JSON line at a time on its standard output.

use serde::{Deserialize, Serialize};
use std::io::Write;

/// A step of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "step")]
pub enum Progress {
    /// Machine settings, data directory and server.
    Starting,
    /// Load before the first sample.
    WarmUp {
        /// Length, seconds.
        seconds: f64,
    },
    /// A sample begins.
    Sample {
        /// From 0.
        sample: usize,
        /// Length, seconds.
        seconds: f64,
    },
    /// A query of dbt3 begins its executions.
    Query {
        /// 1 to 22.
        query: u8,
    },
    /// A second has passed under load.
    Reading {
        /// Transactions a second during it.
        tps: f64,
    },
    /// Server and settings are being put back.
    Stopping,
}

impl Progress {
    /// Sends it to the run. A run that is gone is noticed elsewhere (by its death signal), so a broken pipe is not.
    pub fn send(&self) {
        if let Ok(line) = serde_json::to_string(self) {
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    }
}
