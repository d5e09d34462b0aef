//! The workload `counters`: the settings of a study as `tare-counters` takes them, and its outcome as metrics.

use crate::study::settings::{Kind, WorkloadSettings};
use std::collections::BTreeMap;
use tare_counters::workload::{Config, Outcome};

/// The configuration of one run.
pub fn config<'a>(settings: &WorkloadSettings, seed: u64, bind: &'a (dyn Fn(usize) + Sync)) -> Config<'a> {
    let c = &settings.counters;
    Config {
        strategy: c.strategy,
        threads: settings.threads,
        rounds: c.rounds,
        counter_blocks: c.counter_blocks,
        counters_per_block: c.counters_per_block,
        data_blocks: c.data_blocks,
        mode: c.generator,
        data_work: c.data_work,
        seed,
        bind,
    }
}

/// Whether this machine has what a strategy needs, and memory enough.
///
/// # Errors
/// The reason, with the memory that would be needed.
pub fn available(settings: &WorkloadSettings) -> Result<(), String> {
    if settings.kind != Kind::Counters {
        return Ok(());
    }
    let config = config(settings, 0, &|_| {});
    settings.counters.strategy.available().map_err(|e| e.to_string())?;
    config.check().map_err(|e| e.to_string())
}

/// Metric name -> value. `loss` is the share of increments that the counters do not show.
pub fn metrics(outcome: &Outcome) -> BTreeMap<String, f64> {
    let mut metrics = BTreeMap::from([
        ("rounds_per_s".to_owned(), outcome.rounds_per_s),
        ("ns_per_increment".to_owned(), outcome.ns_per_increment),
        ("loss".to_owned(), outcome.loss()),
        ("bytes_per_counter".to_owned(), outcome.bytes_per_counter),
        ("full_read_ns".to_owned(), outcome.full_read_ns),
    ]);
    if let Some(share) = outcome.generator_share {
        metrics.insert("generator_fraction".to_owned(), share);
    }
    metrics
}
