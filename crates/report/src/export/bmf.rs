//! Bencher Metric Format: benchmark -> measure -> value with its interval
//! (<https://bencher.dev/docs/reference/bencher-metric-format/>).

use super::source::Source;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

#[derive(Serialize)]
struct Measure {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Writes one benchmark per condition and one measure per metric; the bounds are the 95% interval over trials, if the
/// mean describes the trials.
pub(crate) fn write(source: &Source<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut benchmarks: BTreeMap<String, BTreeMap<&str, Measure>> = BTreeMap::new();
    for condition in &source.summary.conditions {
        let measures = condition.metrics.iter().filter(|metric| source.wants(&metric.name)).map(|metric| {
            let ci = metric.interval();
            let (lower_value, upper_value) = (ci.map(|ci| ci.low), ci.map(|ci| ci.high));
            (metric.name.as_str(), Measure { value: metric.mean, lower_value, upper_value })
        });
        benchmarks.insert(format!("{} {}", source.results.study, condition.name), measures.collect());
    }
    serde_json::to_writer_pretty(&mut *out, &benchmarks)?;
    out.write_all(b"\n")
}
