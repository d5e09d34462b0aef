//! Latencies of samples as histograms. The percentiles of a trial are computed from all its transactions together,
//! because the mean of percentiles is not a percentile.

use super::limits::MOST_HISTOGRAMS;
use super::schema::{SampleRecord, TrialRecord};
use std::collections::BTreeMap;
use tare_latency::Latencies;

/// Name of the histogram of whole transactions; others are for parts: `latency_ms_of_new_order`.
pub const LATENCIES: &str = "latency_ms";
/// Separator between the name of a figure or histogram and the part of the load that it covers.
const OF: &str = "_of_";

/// The histogram of a percentile metric, and the percentile: `latency_ms_p99_9_of_pay` is 99.9 of `latency_ms_of_pay`,
/// a maximum is 100. None for any other metric.
pub fn percentile(metric: &str) -> Option<(String, f64)> {
    let figure = metric.strip_prefix(LATENCIES)?.strip_prefix('_')?;
    let (figure, part) = figure.split_once(OF).map_or((figure, String::new()), |(f, part)| (f, format!("{OF}{part}")));
    let percentile = match figure {
        "max" => 100.0,
        figure => figure.strip_prefix('p')?.replacen('_', ".", 1).parse().ok().filter(|p| (0.0..=100.0).contains(p))?,
    };
    Some((format!("{LATENCIES}{part}"), percentile))
}

/// What a histogram covers, for use in a sentence: `transactions`, or a part of the load.
pub fn part(histogram: &str) -> &str {
    histogram.strip_prefix(LATENCIES).and_then(|rest| rest.strip_prefix(OF)).unwrap_or("transactions")
}

impl SampleRecord {
    /// One of the sample's histograms; none if it is missing, as in results of version 0.1.0, or unreadable.
    fn latencies(&self, histogram: &str) -> Option<Latencies> {
        let read = Latencies::decode(self.histograms.get(histogram)?).ok()?;
        let part = histogram.strip_prefix(LATENCIES)?;
        Some(match self.metrics.get(&format!("{LATENCIES}_max{part}")) {
            Some(longest_ms) => read.with_longest_ms(*longest_ms),
            None => read,
        })
    }
}

impl TrialRecord {
    /// At most `MOST_HISTOGRAMS` names.
    pub fn histogram_names(&self) -> impl Iterator<Item = &str> {
        let all = self.samples.first().into_iter().flat_map(|sample| sample.histograms.keys().map(String::as_str));
        all.take(MOST_HISTOGRAMS)
    }

    /// The latencies of all its samples together; none if a sample lacks the histogram.
    pub fn latencies(&self, histogram: &str) -> Option<Latencies> {
        let mut all = Latencies::new();
        for sample in &self.samples {
            all.merge(&sample.latencies(histogram)?);
        }
        (!self.samples.is_empty()).then_some(all)
    }

    /// Computes the percentiles of a trial with several samples; a single sample has them in its metrics.
    pub(crate) fn merge_histograms(&mut self) {
        if self.samples.len() < 2 {
            return;
        }
        let mut percentiles = BTreeMap::<String, Vec<(&str, f64)>>::new();
        for metric in self.metric_names() {
            if let Some((histogram, percentile)) = percentile(metric) {
                percentiles.entry(histogram).or_default().push((metric, percentile));
            }
        }
        let mut found = BTreeMap::new();
        // One at a time: each histogram takes 270 KB, however short its text is.
        for name in self.histogram_names() {
            let Some(of) = percentiles.get(name) else { continue };
            let Some(all) = self.latencies(name) else { continue };
            found.extend(of.iter().filter_map(|(metric, p)| Some(((*metric).to_owned(), all.percentile_ms(*p)?))));
        }
        self.of_all_samples = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Levels, PlannedTrial};

    #[test]
    fn a_metric_names_its_histogram_and_its_percentile() {
        let of = percentile;
        assert_eq!(of("latency_ms_p99"), Some(("latency_ms".into(), 99.0)));
        assert_eq!(of("latency_ms_p99_9_of_a_p1_of_b"), Some(("latency_ms_of_a_p1_of_b".into(), 99.9)));
        assert_eq!(of("latency_ms_max"), Some(("latency_ms".into(), 100.0)));
        for other in ["tps", "latency_ms", "latency_ms_mean", "latency_ms_pmax", "latency_ms_p101", "latency_s_p99"] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!([part("latency_ms"), part("latency_ms_of_pay")], ["transactions", "pay"]);
    }

    fn sample(number: usize, ns: u64, count: u64) -> SampleRecord {
        let mut latencies = Latencies::new();
        (0..count).for_each(|i| latencies.record(ns + i));
        let ms = |percentile| latencies.percentile_ms(percentile).unwrap();
        SampleRecord {
            sample: number,
            elapsed_s: 1.0,
            metrics: [("latency_ms_p50", ms(50.0)), ("latency_ms_p99", ms(99.0)), ("latency_ms_max", ms(100.0))]
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            histograms: [(LATENCIES.to_owned(), latencies.encode())].into(),
            ..SampleRecord::default()
        }
    }

    /// Texts of 200 bytes, each of which takes 270 KB in memory.
    #[test]
    fn histograms_of_anyone_take_the_memory_of_one() {
        let planned = PlannedTrial { trial: 0, block: 0, condition: "a".into(), lifetime: None };
        let mut longest = Latencies::new();
        longest.record(3_600_000_000_000);
        let (text, names) = (longest.encode(), (0..=MOST_HISTOGRAMS).map(|number| format!("{number:05}")));
        let sample = SampleRecord {
            metrics: names.clone().map(|name| (format!("latency_ms_p50_of_{name}"), 1.0)).collect(),
            histograms: names.map(|name| (format!("latency_ms_of_{name}"), text.clone())).collect(),
            ..SampleRecord::default()
        };
        let mut trial = TrialRecord::new(&planned, 1, Levels::new(), String::new());
        trial.samples = vec![sample.clone(), sample];
        trial.merge_histograms();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
        assert!(peak.parse::<u64>().unwrap() < 200 << 10, "{peak} kB; all at once are 280 MB");
        let read = &trial.of_all_samples;
        assert!(read.len() == MOST_HISTOGRAMS && read["latency_ms_p50_of_00000"] > 3_599_000.0, "{}", read.len());
    }

    /// A fast sample of many transactions and a slow one of few: the mean of their p99 is 50.5 ms, while only 0.2% of
    /// all transactions took more than 1 ms.
    #[test]
    fn a_trials_percentiles_are_those_of_all_its_transactions() {
        let planned = PlannedTrial { trial: 0, block: 0, condition: "a".into(), lifetime: None };
        let new = || TrialRecord::new(&planned, 1, Levels::new(), String::new());
        let mut trial = TrialRecord { samples: vec![sample(0, 1_000_000, 998), sample(1, 100_000_000, 2)], ..new() };
        trial.merge_histograms();
        let found = |trial: &TrialRecord, name: &str| trial.of_all_samples.get(name).copied();
        assert!((found(&trial, "latency_ms_p99").unwrap() - 1.0).abs() < 0.002, "{:?}", trial.of_all_samples);
        assert_eq!(found(&trial, "latency_ms_max"), Some(100.000_001), "the exact one of the sample that has it");

        let mut old = trial.clone();
        old.samples[1].histograms.clear();
        old.merge_histograms();
        assert_eq!(found(&old, "latency_ms_p99"), None, "without one, as before there were any");
        let mut single = TrialRecord { samples: vec![sample(0, 1_000_000, 998)], ..new() };
        single.merge_histograms();
        assert!(single.of_all_samples.is_empty());
        let read = single.latencies(LATENCIES).and_then(|all| all.percentile_ms(99.0));
        assert_eq!(read, single.samples[0].metrics.get("latency_ms_p99").copied(), "what was measured, and no other");
    }
}
