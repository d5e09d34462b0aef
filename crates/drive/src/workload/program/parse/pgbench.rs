//! Parsers for pgbench's report, its progress lines, and its log of transactions.

use super::report::{Interval, Latencies, Report, number_after};
use tare_results::metric;

/// The report at the end of the output; it covers the whole run including the warm-up.
pub(crate) fn report(text: &str) -> Option<Report> {
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
pub(crate) fn interval(line: &str) -> Option<Interval> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "pgbench (15.18)\nscaling factor: 1\nnumber of transactions actually processed: 4879\n\
        number of failed transactions: 2 (0.041%)\nlatency average = 0.820 ms\ninitial connection time = 4.1 ms\n\
        tps = 2441.5 (without initial connection time)\n";

    #[test]
    fn the_report_and_the_progress_lines_are_read() {
        let report = report(TEXT).unwrap();
        assert_eq!(report.metrics, [(metric::TPS, 2441.5), (metric::LATENCY_MS_MEAN, 0.82)]);
        assert_eq!((report.transactions, report.covariates["errors"]), (Some(4879.0), 2.0));
        let line = "progress: 2.0 s, 2451.5 tps, lat 1.630 ms stddev 0.521, 0 failed";
        assert_eq!(interval(line), Some(Interval { second: 2.0, tps: 2451.5 }));
        assert_eq!((interval(TEXT), super::report("tps = 5")), (None, None));
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
}
