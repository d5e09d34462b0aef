//! The result of `tare load FILE`, as JSON and as text.

use super::measured_system::MeasuredSystem;
use super::view::{self, Viewed};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_drive::workload::Measured;

#[derive(Debug, Serialize)]
pub struct Document<'a> {
    measured: &'a MeasuredSystem,
    elapsed_s: f64,
    metrics: BTreeMap<&'a str, f64>,
    covariates: &'a BTreeMap<String, f64>,
}

impl<'a> Document<'a> {
    pub fn of(viewed: &Viewed<'a>) -> Self {
        let Measured { elapsed_s, covariates, metrics, .. } = viewed.measured;
        let metrics = metrics.iter().map(|(metric, value)| (metric.name(), *value)).collect();
        Self { measured: viewed.measured_system, elapsed_s: *elapsed_s, metrics, covariates }
    }
}

/// The latency of each statement, followed by the output that all loads share.
pub fn words(viewed: &Viewed<'_>) -> String {
    let metrics = &viewed.measured.metrics;
    let value = |wanted: &str| metrics.iter().find(|(metric, _)| metric.name() == wanted).map(|(_, value)| *value);
    let rows = metrics.iter().filter_map(|(metric, mean)| {
        let statement = metric.name().strip_prefix("latency_ms_mean_of_")?;
        let p99 = value(&format!("latency_ms_p99_of_{statement}"))?;
        Some(format!("  {statement:<28}{mean:>11.3}{p99:>11.3}\n"))
    });
    format!("statement                         mean ms     p99 ms\n{}{}", rows.collect::<String>(), view::words(viewed))
}
