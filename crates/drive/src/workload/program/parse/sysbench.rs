//! Parsers for the report of sysbench 1.0, its interval lines, and its histogram.

use super::report::{Interval, Latencies, Report, number_after};
use tare_results::metric;

/// The first line of a report, both at a checkpoint and at the end.
const BEGINNING: &str = "SQL statistics:";
const HISTOGRAM: &str = "Latency histogram";

/// The last report of an output: it covers the time since the last checkpoint.
pub(crate) fn report(text: &str) -> Option<Report> {
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
pub(crate) fn interval(line: &str) -> Option<Interval> {
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

    const TEXT: &str = "Threads started!\n\n[ 1s ] thds: 2 tps: 110.50 qps: 2211.0 (r/w/o: 1.0/0.0/2.0) lat (ms,95%): 9.0 \
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
        let report = report(TEXT).unwrap();
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
        assert_eq!(super::report("nothing"), None);
    }

    #[test]
    fn interval_lines_are_read_and_others_are_not() {
        let lines: Vec<_> = TEXT.lines().filter_map(interval).collect();
        assert_eq!(lines, [Interval { second: 1.0, tps: 110.5 }]);
        assert_eq!(TEXT.lines().filter(|line| is_checkpoint(line)).count(), 1);
    }
}
