//! The reports of benchmarks and their interval lines, with the common result of parsing them: pgbench's and its log of
//! transactions, and those of sysbench 1.0 and its histogram.

use std::collections::BTreeMap;
use tare_results::metric::{self, Named};

/// The results that a client reports for one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub metrics: Vec<(Named, f64)>,
    /// Further figures: errors, reconnects.
    pub covariates: BTreeMap<String, f64>,
    /// Total number of transactions, if the client counts them.
    pub transactions: Option<f64>,
}

/// A line that a client writes every second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Seconds since its start.
    pub second: f64,
    /// Transactions per second since the line before.
    pub tps: f64,
}

/// Latencies in milliseconds, each with its number of transactions.
#[derive(Debug, Default)]
pub struct Latencies(Vec<(f64, u64)>);

impl Latencies {
    pub(crate) fn add(&mut self, ms: f64, count: u64) {
        self.0.push((ms, count));
    }

    /// Percentiles by nearest rank: the latency that this share of transactions does not exceed. Empty without any.
    fn percentiles(&mut self) -> Vec<(Named, f64)> {
        self.0.sort_by(|a, b| a.0.total_cmp(&b.0));
        let all = self.0.iter().fold(0_u64, |all, (_, count)| all.saturating_add(*count));
        if all == 0 {
            return Vec::new();
        }
        let at = |share: f64| {
            let rank = (share * all as f64).ceil() as u64;
            let mut passed = 0_u64;
            let reached = self.0.iter().find(|(_, count)| {
                passed = passed.saturating_add(*count);
                passed >= rank
            });
            reached.or(self.0.last()).map_or(0.0, |(ms, _)| *ms)
        };
        vec![
            (metric::LATENCY_MS_P50, at(0.5)),
            (metric::LATENCY_MS_P90, at(0.9)),
            (metric::LATENCY_MS_P95, at(0.95)),
            (metric::LATENCY_MS_P99, at(0.99)),
            (metric::LATENCY_MS_P99_9, at(0.999)),
        ]
    }
}

/// The first number after `words`, on the same line; None if it is negative or infinite.
pub(crate) fn number_after(text: &str, words: &str) -> Option<f64> {
    let (_, rest) = text.split_once(words)?;
    let digits = rest.trim_start();
    let end =
        digits.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e'))).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|number| (0.0..f64::INFINITY).contains(number))
}

/// The report at the end of the output; it covers the whole run including the warm-up.
pub(crate) fn pgbench_report(text: &str) -> Option<Report> {
    let transactions = number_after(text, "number of transactions actually processed:")?;
    let mut report = Report { transactions: Some(transactions), ..Report::default() };
    report.metrics.push((metric::TPS, number_after(text, "\ntps =")?));
    report.metrics.extend(number_after(text, "latency average =").map(|ms| (metric::LATENCY_MS_MEAN, ms)));
    let failed = number_after(text, "number of failed transactions:");
    report.covariates.extend(failed.map(|count| ("errors".to_owned(), count)));
    let retried = number_after(text, "total number of retries:");
    report.covariates.extend(retried.map(|count| ("restarts".to_owned(), count)));
    Some(report)
}

/// Parses `progress: 1.0 s, 2451.0 tps, lat 1.630 ms stddev 0.521, 0 failed`.
pub(crate) fn pgbench_interval(line: &str) -> Option<Interval> {
    let rest = line.strip_prefix("progress: ")?;
    let second = number_after(rest, "")?;
    let tps = rest.split_once(" s, ").and_then(|(_, rest)| number_after(rest, ""))?;
    Some(Interval { second, tps })
}

/// Parses a line of the log of transactions: `client transaction time_us script epoch_s epoch_us`.
fn logged(line: &str) -> Option<(f64, f64)> {
    let mut words = line.split_whitespace().skip(2);
    // Instead of a time there may be `failed`, `skipped` and similar words.
    let latency_us: f64 = words.next()?.parse().ok()?;
    let mut words = words.skip(1);
    let (s, us): (f64, f64) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    Some((s + us / 1e6, latency_us / 1e3))
}

/// The transactions in the logs of a run.
#[derive(Debug, Default)]
pub struct Logged {
    ended: Vec<(f64, f64)>,
    failed: u64,
}

impl Logged {
    pub fn line(&mut self, line: &str) {
        match logged(line) {
            Some(transaction) => self.ended.push(transaction),
            None if line.contains("failed") => self.failed += 1,
            None => {}
        }
    }

    /// The figures of the measured part: the last `measured_s` seconds before the end of the last transaction.
    pub fn report(&self, measured_s: f64) -> Option<Report> {
        let end = self.ended.iter().map(|(at, _)| *at).max_by(f64::total_cmp)?;
        let measured: Vec<f64> =
            self.ended.iter().filter(|(at, _)| *at > end - measured_s).map(|(_, latency)| *latency).collect();
        let mut latencies = Latencies::default();
        measured.iter().for_each(|ms| latencies.add(*ms, 1));
        let count = measured.len() as f64;
        let mut report = Report { transactions: Some(count), ..Report::default() };
        report.metrics.push((metric::TPS, count / measured_s));
        report.metrics.push((metric::LATENCY_MS_MEAN, measured.iter().sum::<f64>() / count));
        report.metrics.extend(latencies.percentiles());
        report.metrics.extend(measured.iter().copied().max_by(f64::total_cmp).map(|ms| (metric::LATENCY_MS_MAX, ms)));
        report.covariates.insert("errors".to_owned(), self.failed as f64);
        Some(report)
    }
}

/// The first line of a sysbench_report, both at a checkpoint and at the end.
const BEGINNING: &str = "SQL statistics:";
const HISTOGRAM: &str = "Latency histogram";

/// The last report of an output: it covers the time since the last checkpoint.
pub(crate) fn sysbench_report(text: &str) -> Option<Report> {
    let (before, last) = text.rsplit_once(BEGINNING)?;
    let transactions = number_after(last, "transactions:")?;
    let rate = |words: &str| last.split_once(words)?.1.split_once('(').and_then(|(_, rest)| number_after(rest, ""));
    let mut report = Report { transactions: Some(transactions), ..Report::default() };
    report.metrics.push((metric::TPS, rate("transactions:")?));
    report.metrics.extend(rate("queries:").map(|qps| (metric::QPS, qps)));
    let latency = last.split_once("Latency (ms):").map_or("", |(_, rest)| rest);
    report.metrics.extend(number_after(latency, "avg:").map(|ms| (metric::LATENCY_MS_MEAN, ms)));
    let mut latencies = histogram(before);
    report.metrics.extend(latencies.percentiles());
    report.metrics.extend(number_after(latency, "max:").map(|ms| (metric::LATENCY_MS_MAX, ms)));
    for (words, name) in [("ignored errors:", "errors"), ("reconnects:", "reconnects")] {
        report.covariates.extend(number_after(last, words).map(|count| (name.to_owned(), count)));
    }
    Some(report)
}

/// The histogram before the last report: lines of `value |**** count`.
fn histogram(before: &str) -> Latencies {
    let mut latencies = Latencies::default();
    let Some((_, lines)) = before.rsplit_once(HISTOGRAM) else { return latencies };
    for line in lines.lines() {
        let value = line.split_once('|').and_then(|(ms, rest)| {
            let count = rest.split_whitespace().next_back()?.parse().ok()?;
            Some((ms.trim().parse::<f64>().ok()?, count))
        });
        if let Some((ms, count)) = value {
            latencies.add(ms, count);
        }
    }
    latencies
}

/// Parses `[ 1s ] thds: 4 tps: 7386.42 qps: ...`.
pub(crate) fn sysbench_interval(line: &str) -> Option<Interval> {
    let second = number_after(line.trim_start().strip_prefix('[')?, "")?;
    Some(Interval { second, tps: number_after(line, " tps:")? })
}

/// Whether a line reports the checkpoint at the end of the warm-up, at which sysbench resets its counters.
pub(crate) fn is_checkpoint(line: &str) -> bool {
    line.contains("Checkpoint report:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let mut latencies = Latencies::default();
        (1..=100).rev().for_each(|ms| latencies.add(f64::from(ms), 1));
        let found: Vec<f64> = latencies.percentiles().into_iter().map(|(_, ms)| ms).collect();
        assert_eq!(found, [50.0, 90.0, 95.0, 99.0, 100.0]);
        assert!(Latencies::default().percentiles().is_empty());
        let mut many = Latencies::default();
        (1..=4).for_each(|ms| many.add(f64::from(ms), u64::MAX / 2));
        assert_eq!(many.percentiles().len(), 5, "more than a number holds");
    }

    #[test]
    fn a_negative_or_infinite_figure_is_rejected() {
        let found = ["tps = 5.5 x", "tps = 1e308", "tps = -5", "tps = 1e999", "tps = nan", "tps =", ""];
        let found = found.map(|line| number_after(line, "tps ="));
        assert_eq!(found, [Some(5.5), Some(1e308), None, None, None, None, None]);
    }

    const PGBENCH: &str = "pgbench (15.18)\nscaling factor: 1\nnumber of transactions actually processed: 4879\n\
        number of failed transactions: 2 (0.041%)\nlatency average = 0.820 ms\ninitial connection time = 4.1 ms\n\
        tps = 2441.5 (without initial connection time)\n";

    #[test]
    fn the_report_and_the_progress_lines_are_read() {
        let report = pgbench_report(PGBENCH).unwrap();
        assert_eq!(report.metrics, [(metric::TPS, 2441.5), (metric::LATENCY_MS_MEAN, 0.82)]);
        assert_eq!((report.transactions, report.covariates["errors"]), (Some(4879.0), 2.0));
        let line = "progress: 2.0 s, 2451.5 tps, lat 1.630 ms stddev 0.521, 0 failed";
        assert_eq!(pgbench_interval(line), Some(Interval { second: 2.0, tps: 2451.5 }));
        assert_eq!((pgbench_interval(PGBENCH), pgbench_report("tps = 5")), (None, None));
    }

    #[test]
    fn only_the_transactions_of_the_measured_time_count() {
        let mut logged = Logged::default();
        for line in ["0 1 9000 0 100 500000", "0 2 1000 0 101 600000", "1 1 3000 0 102 500000", "0 3 failed 0 102 0"] {
            logged.line(line);
        }
        let report = logged.report(1.0).unwrap();
        assert_eq!((report.transactions, report.covariates["errors"]), (Some(2.0), 1.0));
        assert_eq!(report.metrics[..2], [(metric::TPS, 2.0), (metric::LATENCY_MS_MEAN, 2.0)]);
        assert_eq!(Logged::default().report(1.0), None);
    }

    const SYSBENCH: &str = "Threads started!\n\n[ 1s ] thds: 2 tps: 110.50 qps: 2211.0 (r/w/o: 1.0/0.0/2.0) lat (ms,95%): 9.0 \
        err/s: 0.00 reconn/s: 0.00\n[ 2s ] Checkpoint report:\nSQL statistics:\n    transactions: 7 (1.0 per sec.)\n\
        Latency histogram (values are in milliseconds)\n       value  ------------- distribution ------------- count\n\
               1.000 |****                                     90\n       2.000 |*                                        10\n \n\
        SQL statistics:\n    queries performed:\n        read:                            1400\n        total:  1600\n\
            transactions:                        100    (49.95 per sec.)\n    queries:                             1600   (799.20 per sec.)\n\
            ignored errors:                      3      (1.50 per sec.)\n    reconnects:                          1      (0.50 per sec.)\n\n\
        General statistics:\n    total time:                          2.0021s\n\nLatency (ms):\n         min:     0.5\n         \
        avg:                                    1.10\n         max:                                    7.25\n";

    #[test]
    fn the_report_after_the_last_checkpoint_counts() {
        let report = sysbench_report(SYSBENCH).unwrap();
        let of = |name: &str| report.metrics.iter().find(|(n, _)| n.name() == name).map(|(_, value)| *value);
        assert_eq!((of("tps"), of("qps"), of("latency_ms_max")), (Some(49.95), Some(799.2), Some(7.25)));
        assert_eq!(
            (of("latency_ms_p90"), of("latency_ms_p95"), of("latency_ms_mean")),
            (Some(1.0), Some(2.0), Some(1.1))
        );
        assert_eq!(
            (report.transactions, report.covariates["errors"], report.covariates["reconnects"]),
            (Some(100.0), 3.0, 1.0)
        );
        assert_eq!(sysbench_report("nothing"), None);
    }

    #[test]
    fn interval_lines_are_read_and_others_are_not() {
        let lines: Vec<_> = SYSBENCH.lines().filter_map(sysbench_interval).collect();
        assert_eq!(lines, [Interval { second: 1.0, tps: 110.5 }]);
        assert_eq!(SYSBENCH.lines().filter(|line| is_checkpoint(line)).count(), 1);
    }
}
