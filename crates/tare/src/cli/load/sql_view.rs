//! The result of `tare load FILE`, as JSON and as text.

use super::view::{self, Viewed};
use serde::Serialize;
use std::collections::BTreeMap;
use tare_drive::workload::Measured;
use tare_text::object;

pub(crate) fn document(viewed: &Viewed<'_>) -> impl Serialize {
    let Measured { elapsed_s, covariates, metrics, .. } = viewed.measured;
    let metrics = metrics.iter().map(|(metric, value)| (metric.name(), *value)).collect::<BTreeMap<_, _>>();
    object! { measured: viewed.measured_system, elapsed_s, metrics, covariates }
}

/// The latency of each statement and the rest of a transaction, followed by the output that all loads share.
pub(crate) fn words(viewed: &Viewed<'_>) -> String {
    let Measured { metrics, covariates, .. } = viewed.measured;
    let value = |wanted: &str| metrics.iter().find(|(metric, _)| metric.name() == wanted).map(|(_, value)| *value);
    let mut text = "statement                      executions    mean ms     p99 ms\n".to_owned();
    let mut all_ms = 0.0;
    for (metric, mean) in metrics {
        let Some(statement) = metric.name().strip_prefix("latency_ms_mean_of_") else { continue };
        let executions = covariates.get(&format!("statement_executions_{statement}"));
        let (Some(p99), Some(n)) = (value(&format!("latency_ms_p99_of_{statement}")), executions) else { continue };
        all_ms += n * mean;
        text += &format!("  {statement:<28}{n:>11}{mean:>11.3}{p99:>11.3}\n");
    }
    // Without it, statements would seem to explain a latency that is mostly the COMMIT.
    if let Some(latency) = viewed.sample.latency_ms {
        let rest_ms = latency.mean - all_ms / viewed.sample.transactions.max(1) as f64;
        // The time of a transaction includes failed attempts, whose failed statements are in no line above.
        let rest = match viewed.sample.restarts {
            0 => "rest of a transaction: BEGIN, COMMIT",
            _ => "rest: BEGIN, COMMIT, failed statements",
        };
        // Statements are those of the transactions that began in the sample, the latency that of those that ended in
        // it: few long transactions do not show the rest.
        if rest_ms >= 0.0 {
            text += &format!("  {rest:<39}{rest_ms:>11.3}\n");
        }
    }
    text + &view::words(viewed)
}
