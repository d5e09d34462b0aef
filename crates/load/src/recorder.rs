//! What one thread records during one sample.

use crate::client::Queries;
use crate::sample::{Latencies, LatencyMs, Queued};
use hdrhistogram::Histogram;

/// Latencies above an hour are counted as an hour in the histogram; the maximum stays exact.
const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Three significant digits: percentiles within 0.1 %.
const DIGITS: u8 = 3;

/// A transaction with all its restarts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Complete {
    pub(crate) queries: Queries,
    pub(crate) restarts: u64,
    /// Connections that were opened anew for it.
    pub(crate) reconnects: u64,
}

/// Latencies and counts of one thread. Made by that thread, so that its memory lies on that thread's node.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    latency_ns: Histogram<u64>,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u128,
    pub(crate) transactions: u64,
    pub(crate) queries: Queries,
    pub(crate) restarts: u64,
    pub(crate) reconnects: u64,
    /// Only in open loop.
    pub(crate) queue: Option<QueueRecorder>,
}

/// What an open loop records beside the latencies of completed transactions.
#[derive(Debug, Clone)]
pub(crate) struct QueueRecorder {
    /// Of completed transactions, had the client begun each at once when it was due and its connection free.
    prompt_ns: Histogram<u64>,
    /// How long those had waited that were due and not completed at the end: as measured, and as above.
    waiting_ns: Vec<(u64, u64)>,
}

impl QueueRecorder {
    fn new() -> Self {
        Self { prompt_ns: histogram(), waiting_ns: Vec::new() }
    }

    #[inline]
    pub(crate) fn record(&mut self, prompt_ns: u64) {
        self.prompt_ns.saturating_record(prompt_ns);
    }

    pub(crate) fn waiting(&mut self, waited_ns: u64, prompt_ns: u64) {
        self.waiting_ns.push((waited_ns, prompt_ns));
    }

    fn merge(&mut self, other: &Self) {
        add(&mut self.prompt_ns, &other.prompt_ns);
        self.waiting_ns.extend_from_slice(&other.waiting_ns);
    }
}

/// An empty histogram whose memory has been touched, so that no page fault falls into the measurement.
fn histogram() -> Histogram<u64> {
    #[expect(clippy::expect_used, reason = "the bounds are constants that the library accepts")]
    let mut made = Histogram::new_with_bounds(1, HIGHEST_NS, DIGITS).expect("valid bounds");
    made.reset();
    made
}

fn add(sum: &mut Histogram<u64>, more: &Histogram<u64>) {
    for step in more.iter_recorded() {
        sum.saturating_record_n(step.value_iterated_to(), step.count_at_value());
    }
}

fn buckets(histogram: &Histogram<u64>) -> Latencies {
    let each = histogram.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value()));
    Latencies::new(each.collect())
}

impl Recorder {
    /// An empty recorder, also of a queue where transactions are due at times.
    pub(crate) fn of_loop(open: bool) -> Self {
        Self { queue: open.then(QueueRecorder::new), ..Self::new() }
    }

    /// An empty recorder of a closed loop.
    pub(crate) fn new() -> Self {
        Self {
            latency_ns: histogram(),
            min_ns: u64::MAX,
            max_ns: 0,
            sum_ns: 0,
            transactions: 0,
            queries: Queries::default(),
            restarts: 0,
            reconnects: 0,
            queue: None,
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, latency_ns: u64, done: &Complete) {
        self.latency_ns.saturating_record(latency_ns);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
        self.sum_ns += u128::from(latency_ns);
        self.transactions += 1;
        self.queries += done.queries;
        self.restarts += done.restarts;
        self.reconnects += done.reconnects;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        add(&mut self.latency_ns, &other.latency_ns);
        if let Some(more) = &other.queue {
            self.queue.get_or_insert_with(QueueRecorder::new).merge(more);
        }
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.sum_ns += other.sum_ns;
        self.transactions += other.transactions;
        self.queries += other.queries;
        self.restarts += other.restarts;
        self.reconnects += other.reconnects;
    }

    /// How many latencies there were of each length, nanoseconds, ascending.
    pub(crate) fn latencies(&self) -> Latencies {
        buckets(&self.latency_ns)
    }

    /// The latencies of everything that was due, in open loop.
    pub(crate) fn queued(&self) -> Option<Queued> {
        let queue = self.queue.as_ref()?;
        let with = |completed: &Histogram<u64>, waiting: fn(&(u64, u64)) -> u64| {
            let mut all = completed.clone();
            queue.waiting_ns.iter().for_each(|waited| all.saturating_record(waiting(waited)));
            buckets(&all)
        };
        Some(Queued {
            measured: with(&self.latency_ns, |(waited, _)| *waited),
            prompt: with(&queue.prompt_ns, |(_, p)| *p),
        })
    }

    /// The summary in milliseconds; none when nothing was recorded.
    pub(crate) fn latency_ms(&self) -> Option<LatencyMs> {
        if self.transactions == 0 {
            return None;
        }
        // The histogram gives the upper end of a bucket, which may lie beyond the exact maximum.
        let quantile = |q| self.latency_ns.value_at_quantile(q).clamp(self.min_ns, self.max_ns) as f64 / 1e6;
        Some(LatencyMs {
            min: self.min_ns as f64 / 1e6,
            mean: self.sum_ns as f64 / self.transactions as f64 / 1e6,
            p50: quantile(0.50),
            p90: quantile(0.90),
            p95: quantile(0.95),
            p99: quantile(0.99),
            p99_9: quantile(0.999),
            max: self.max_ns as f64 / 1e6,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Random};

    fn nothing() -> Complete {
        Complete::default()
    }

    #[test]
    fn merged_recorders_give_the_quantiles_of_all_latencies() {
        let mut random = Random::new(11, Purpose::Transactions, 0);
        let mut all = Vec::new();
        let mut merged = Recorder::new();
        for thread in 0..3u32 {
            let mut recorder = Recorder::new();
            for _ in 0..10_000 {
                // From a microsecond to ten seconds, evenly in the logarithm, each thread on its own scale.
                let latency_ns = 10f64.powf(3.0 + 7.0 * random.unit()) as u64 >> thread;
                let queries = Queries { read: 1, write: 2, other: 3 };
                recorder.record(latency_ns, &Complete { queries, restarts: 1, reconnects: 2 });
                all.push(latency_ns);
            }
            merged.merge(&recorder);
        }
        all.sort_unstable();
        let latency = merged.latency_ms().unwrap();
        let exact = |q: f64| all[(q * all.len() as f64).ceil() as usize - 1] as f64 / 1e6;
        for (q, found) in
            [(0.5, latency.p50), (0.9, latency.p90), (0.95, latency.p95), (0.99, latency.p99), (0.999, latency.p99_9)]
        {
            assert!((found / exact(q) - 1.0).abs() < 1.1e-3, "q {q}: {found} against {}", exact(q));
        }
        assert_eq!(latency.min, all[0] as f64 / 1e6);
        assert_eq!(latency.max, *all.last().unwrap() as f64 / 1e6);
        let mean = all.iter().map(|ns| *ns as f64).sum::<f64>() / all.len() as f64 / 1e6;
        assert!((latency.mean / mean - 1.0).abs() < 1e-9);
        assert_eq!(merged.transactions, 30_000);
        assert_eq!(merged.queries, Queries { read: 30_000, write: 60_000, other: 90_000 });
        assert_eq!((merged.restarts, merged.reconnects), (30_000, 60_000));
        let latencies = merged.latencies();
        assert_eq!(latencies.each().map(|(_, count)| count).sum::<u64>(), 30_000);
        assert!((latencies.percentile(95.0).unwrap() / latency.p95 - 1.0).abs() < 1e-9);
        assert!(latencies.percentile(100.0).unwrap() >= latency.max);
    }

    #[test]
    fn a_single_latency_is_every_figure_exactly() {
        let mut recorder = Recorder::new();
        recorder.record(1_234_567, &nothing());
        let LatencyMs { min, mean, p50, p90, p95, p99, p99_9, max } = recorder.latency_ms().unwrap();
        assert_eq!([min, mean, p50, p90, p95, p99, p99_9, max], [1.234_567; 8]);
    }

    #[test]
    fn nothing_recorded_has_no_latency() {
        let mut empty = Recorder::new();
        assert_eq!(empty.latency_ms(), None);
        empty.merge(&Recorder::new());
        assert_eq!(empty.latency_ms(), None);
    }

    #[test]
    fn latencies_beyond_the_histogram_keep_their_exact_maximum() {
        let mut recorder = Recorder::new();
        recorder.record(2 * HIGHEST_NS, &nothing());
        recorder.record(0, &nothing());
        let latency = recorder.latency_ms().unwrap();
        assert_eq!((latency.min, latency.max), (0.0, 2.0 * HIGHEST_NS as f64 / 1e6));
    }
}
