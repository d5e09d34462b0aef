//! The result of a load: its samples, and the settings that it applied and verified.

use crate::sut::Surroundings;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tare_load::{Latencies, Sample, Slice, Stall};
use tare_results::latencies::LATENCIES;
use tare_results::metric::{self, Named};
use tare_results::schema::AppliedSetting;
use tare_results::search::SearchRecord;
use tare_results::server::SettledRecord;
use tare_results::server_cost::{Operation, SERVER_COSTS};

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Measured {
    pub elapsed_s: f64,
    /// Number and kind of the operations, if the server's cost per operation is meaningful.
    pub operations: Option<(Operation, f64)>,
    #[serde(with = "by_name")]
    pub metrics: Vec<(Named, f64)>,
    /// Transactions per second, one reading per second.
    pub tps_each_second: Vec<f64>,
    /// Figures of the load in addition to its metrics, for instance restarts of transactions.
    pub covariates: BTreeMap<String, f64>,
    /// Latencies in the format of the record, by the names of [`tare_results::latencies`].
    #[serde(default)]
    pub histograms: BTreeMap<String, String>,
    pub surroundings: Surroundings,
    /// SHA-1 of the programs of an external client; empty if the clients are tare's own.
    #[serde(skip)]
    pub programs: BTreeSet<String>,
}

impl Measured {
    /// The figures of the load generator, and the data recorded with them.
    pub(crate) fn of_sample(sample: &Sample, surroundings: Surroundings) -> Self {
        let mut metrics = vec![(metric::TPS, sample.tps()), (metric::QPS, sample.qps())];
        if let Some(l) = sample.latency_ms {
            metrics.extend([
                (metric::LATENCY_MS_MEAN, l.mean),
                (metric::LATENCY_MS_P50, l.p50),
                (metric::LATENCY_MS_P90, l.p90),
                (metric::LATENCY_MS_P95, l.p95),
                (metric::LATENCY_MS_P99, l.p99),
                (metric::LATENCY_MS_P99_9, l.p99_9),
                (metric::LATENCY_MS_MAX, l.max),
            ]);
        }
        if let Some(cpu) = sample.client_cpu_us_per_transaction {
            metrics.push((metric::CLIENT_CPU_US_PER_TRANSACTION, cpu.user + cpu.system));
        }
        let mut measured = Self {
            elapsed_s: sample.elapsed_s,
            operations: Some((Operation::Transaction, sample.transactions as f64)),
            metrics,
            tps_each_second: sample.tps_each_second.clone(),
            covariates: Self::seen_by_the_load(sample),
            histograms: (sample.latencies.count() > 0)
                .then(|| (LATENCIES.to_owned(), sample.latencies.encode()))
                .into_iter()
                .collect(),
            surroundings,
            programs: BTreeSet::new(),
        };
        sample.slices.iter().zip(1..).for_each(|(slice, number)| measured.add_slice(number, slice));
        measured
    }

    /// Adds the figures of a slice of a sample whose rate changes.
    fn add_slice(&mut self, number: usize, slice: &Slice) {
        let name = format!("slice_{number:02}");
        self.covariates.insert(format!("{name}_asked_per_s"), slice.rate);
        self.covariates.insert(format!("{name}_done_per_s"), slice.tps);
        let (p50, p99) = slice.latency_ms.map(|latency| (latency.p50, latency.p99)).unzip();
        self.add_latencies(&name, &slice.latencies, [("p50", p50), ("p99", p99)]);
    }

    /// Adds these figures of the latencies of a part of the load, and the latencies themselves; nothing if it has none.
    pub(super) fn add_latencies<const N: usize>(
        &mut self,
        part: &str,
        took: &Latencies,
        figures: [(&str, Option<f64>); N],
    ) {
        let named = |figure: &str| metric::of_name(&format!("{LATENCIES}_{figure}_of_{part}"));
        self.metrics.extend(figures.into_iter().filter_map(|(figure, value)| Some((named(figure), value?))));
        if took.count() > 0 {
            self.histograms.insert(format!("{LATENCIES}_of_{part}"), took.encode());
        }
    }

    pub(crate) fn seen_by_the_load(sample: &Sample) -> BTreeMap<String, f64> {
        let mut seen = stalled(&sample.stalls);
        seen.insert("restarts".to_owned(), sample.restarts as f64);
        seen.insert("reconnects".to_owned(), sample.reconnects as f64);
        let slow = slow_seconds(&sample.tps_each_second);
        seen.extend(slow.map(|seconds| ("slow_seconds".to_owned(), seconds)));
        seen
    }

    /// The server's cost per operation, one metric for each quantity that could be read.
    pub fn server_cost(&self) -> Vec<(&'static Named, f64)> {
        let (Some((operation, count)), Some(used)) = (self.operations, &self.surroundings.used) else {
            return Vec::new();
        };
        let of_one =
            SERVER_COSTS.iter().filter_map(|cost| Some((cost.metric(operation), used.of(cost.quantity)? / count)));
        of_one.filter(|(_, value)| value.is_finite()).collect()
    }
}

/// The additional sample, for captures that disturb a measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Extra {
    pub elapsed_s: f64,
    pub tps: f64,
    /// `tps` over the mean of the measured samples.
    pub tps_ratio: f64,
    /// Wall-clock time by kind of statement, microseconds per transaction.
    #[serde(default)]
    pub statement_us: BTreeMap<String, f64>,
}

/// The part of the data that the server's buffer pool holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    pub data_pages: u64,
    /// Increase of the pages in the pool since the server started.
    pub held_pages: u64,
}

impl Pool {
    /// Share of the data in the pool; above 1 if the pool also holds other pages.
    pub fn fraction(self) -> f64 {
        self.held_pages as f64 / self.data_pages.max(1) as f64
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Driven {
    pub samples: Vec<Measured>,
    /// What was preloaded and checked, with the proof.
    pub applied: Vec<AppliedSetting>,
    /// The additional sample for captures, if requested.
    pub extra: Option<Extra>,
    /// Duration of each execution before the measured ones, seconds, by metric.
    pub warm_up: BTreeMap<String, Vec<f64>>,
    /// The execution plan of each query, by metric.
    pub plans: BTreeMap<String, String>,
    /// The searches that led to the samples, if an objective was requested.
    pub searches: Vec<SearchRecord>,
    /// The pool before the warm-up of the first sample and after the last one, if the server reports it.
    pub pool: Option<(Pool, Pool)>,
    /// How the server settled between warm-up and samples, if requested.
    #[serde(default)]
    pub settled: Option<SettledRecord>,
}

/// Serializes metrics between two hosts by name: all other properties follow from the name.
mod by_name {
    use serde::{Deserialize, Deserializer, Serializer};
    use tare_results::metric::{Named, of_name};

    pub(super) fn serialize<S: Serializer>(metrics: &[(Named, f64)], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(metrics.iter().map(|(metric, value)| (metric.name(), value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(Named, f64)>, D::Error> {
        let metrics = Vec::<(String, f64)>::deserialize(from)?;
        Ok(metrics.into_iter().map(|(name, value)| (of_name(&name), value)).collect())
    }
}

/// Below this many transactions per second, a low or zero count in a second may be chance.
const FEW: f64 = 20.0;
const READINGS: usize = 5;

/// Number of seconds with less than half the median throughput; None if there are too few readings or transactions.
fn slow_seconds(tps_each_second: &[f64]) -> Option<f64> {
    let mut sorted = tps_each_second.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = *sorted.get(sorted.len() / 2).filter(|median| sorted.len() >= READINGS && **median >= FEW)?;
    Some(sorted.iter().filter(|tps| **tps < median / 2.0).count() as f64)
}

/// Covariates of the stalls: periods without a completed transaction.
fn stalled(stalls: &[Stall]) -> BTreeMap<String, f64> {
    let of = |of_client: bool| stalls.iter().filter(move |stall| stall.of_client == of_client);
    // An empty sum is -0.
    let sum = |of_client| of(of_client).fold(0.0, |sum, stall| sum + stall.length_s);
    let mut found =
        BTreeMap::from([("stalled_s".to_owned(), sum(true) + sum(false)), ("client_stalled_s".to_owned(), sum(true))]);
    if let Some(longest) = stalls.iter().max_by(|a, b| a.length_s.total_cmp(&b.length_s)) {
        found.insert("longest_stall_s".to_owned(), longest.length_s);
        found.insert("longest_stall_from_s".to_owned(), longest.from_s);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_seconds_are_counted_relative_to_the_usual_second() {
        assert_eq!(slow_seconds(&[1000.0, 990.0, 0.0, 1010.0, 1005.0, 400.0]), Some(2.0));
        assert_eq!(slow_seconds(&[1000.0, 990.0, 0.0]), None, "too few");
        assert_eq!(slow_seconds(&[3.0, 0.0, 1.0, 2.0, 4.0]), None, "chance");
    }

    #[test]
    fn stalls_are_summed_by_side_and_the_longest_is_located() {
        let stall = |from_s, length_s, of_client| Stall { from_s, length_s, of_client };
        let found = stalled(&[stall(1.0, 0.5, false), stall(4.0, 2.0, true), stall(8.0, 1.0, false)]);
        let names = ["stalled_s", "client_stalled_s", "longest_stall_s", "longest_stall_from_s"];
        assert_eq!(names.map(|name| found[name]), [3.5, 2.0, 2.0, 4.0]);
        assert_eq!(stalled(&[]).values().map(|s| s.to_bits()).collect::<Vec<_>>(), [0, 0]);
    }
}
