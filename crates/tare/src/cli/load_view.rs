//! The result of `tare load`, for scripts and for people.

use super::{Problem, output};
use serde::Serialize;
use tare_load::{CpuPerTransaction, LatencyMs, Sample};

/// The document of `tare load --json`.
#[derive(Debug, Serialize)]
pub struct Document {
    transactions: u64,
    elapsed_s: f64,
    tps: f64,
    qps: f64,
    latency_ms: Option<LatencyMs>,
    errors: u64,
    client_cpu_us_per_transaction: Option<CpuPerTransaction>,
    tps_each_second: Vec<f64>,
    backlog: Option<u64>,
}

impl Document {
    /// The document of a sample. `errors` are the restarts: each was answered by running its transaction again.
    pub fn of(sample: &Sample) -> Self {
        Self {
            transactions: sample.transactions,
            elapsed_s: sample.elapsed_s,
            tps: sample.tps(),
            qps: sample.qps(),
            latency_ms: sample.latency_ms,
            errors: sample.restarts,
            client_cpu_us_per_transaction: sample.client_cpu_us_per_transaction,
            tps_each_second: sample.tps_each_second.clone(),
            backlog: sample.backlog,
        }
    }
}

/// Prints a sample for people.
pub fn print(sample: &Sample) -> Result<(), Problem> {
    let mut text = format!(
        "transactions  {:>12}   {:.1} a second\nqueries       {:>12}   {:.1} a second\nrestarts      {:>12}\ntime          {:>12.3} s\n",
        sample.transactions,
        sample.tps(),
        sample.reads + sample.writes + sample.others,
        sample.qps(),
        sample.restarts,
        sample.elapsed_s,
    );
    if let Some(l) = sample.latency_ms {
        text.push_str(&format!(
            "latency ms    min {:.3}  mean {:.3}  p50 {:.3}  p90 {:.3}  p95 {:.3}  p99 {:.3}  p99.9 {:.3}  max {:.3}\n",
            l.min, l.mean, l.p50, l.p90, l.p95, l.p99, l.p99_9, l.max
        ));
    }
    if let Some(cpu) = sample.client_cpu_us_per_transaction {
        text.push_str(&format!("client CPU    {:.2} us user + {:.2} us system a transaction\n", cpu.user, cpu.system));
    }
    if let Some(backlog) = sample.backlog {
        text.push_str(&format!("backlog       {backlog:>12} transactions due and not begun at the end\n"));
    }
    output::text(&text)
}
