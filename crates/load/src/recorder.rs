//! Latencies and counts that one thread records during one sample.

use crate::client::Queries;
use crate::pace::Pace;
use crate::sample::{LatencyMs, Queued};
use tare_latency::Latencies;

/// A completed transaction with all its restarts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Complete {
    pub(crate) queries: Queries,
    pub(crate) restarts: u64,
    /// Connections that were reopened for it.
    pub(crate) reconnects: u64,
}

/// Latencies and counts of one thread. The thread itself creates it, so that its memory is on that thread's NUMA node.
#[derive(Debug, Clone)]
pub(crate) struct Recorder {
    latencies: Latencies,
    pub(crate) transactions: u64,
    pub(crate) queries: Queries,
    pub(crate) restarts: u64,
    pub(crate) reconnects: u64,
    /// Only in open loop.
    pub(crate) queue: Option<QueueRecorder>,
    /// One per slice of the sample; empty for a constant rate.
    pub(crate) slices: Vec<SliceRecorder>,
}

/// Transactions that were due in a slice. The histogram grows as needed: few threads have long latencies in many
/// slices.
#[derive(Debug, Clone, Default)]
pub(crate) struct SliceRecorder {
    /// Also of transactions that were not completed.
    pub(crate) latencies: Latencies,
    pub(crate) done: u64,
}

/// Further latencies that an open loop records.
#[derive(Debug, Clone)]
pub(crate) struct QueueRecorder {
    /// Latencies that completed transactions would have had if the client had begun each as soon as it was due and the
    /// connection was free.
    prompt: Latencies,
    /// Waiting times of transactions that were due but not completed at the end of the sample: as measured, and with a
    /// client that is never late, as in `prompt`.
    waiting_ns: Vec<(u64, u64)>,
}

impl QueueRecorder {
    fn new() -> Self {
        Self { prompt: Latencies::reserved(), waiting_ns: Vec::new() }
    }

    #[inline]
    pub(crate) fn record(&mut self, prompt_ns: u64) {
        self.prompt.record(prompt_ns);
    }

    pub(crate) fn waiting(&mut self, waited_ns: u64, prompt_ns: u64) {
        self.waiting_ns.push((waited_ns, prompt_ns));
    }

    fn merge(&mut self, other: &Self) {
        self.prompt.merge(&other.prompt);
        self.waiting_ns.extend_from_slice(&other.waiting_ns);
    }
}

impl Recorder {
    /// An empty recorder: in open loop with a queue, and for a changing rate with slices.
    pub(crate) fn of_loop(pace: Pace) -> Self {
        let Pace::Open { rate, .. } = pace else { return Self::new() };
        Self { queue: Some(QueueRecorder::new()), slices: vec![SliceRecorder::default(); rate.slices()], ..Self::new() }
    }

    /// An empty recorder of a closed loop.
    pub(crate) fn new() -> Self {
        Self {
            latencies: Latencies::reserved(),
            transactions: 0,
            queries: Queries::default(),
            restarts: 0,
            reconnects: 0,
            queue: None,
            slices: Vec::new(),
        }
    }

    #[inline]
    pub(crate) fn record(&mut self, latency_ns: u64, done: &Complete) {
        self.latencies.record(latency_ns);
        self.transactions += 1;
        self.queries += done.queries;
        self.restarts += done.restarts;
        self.reconnects += done.reconnects;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        if let Some(more) = &other.queue {
            self.queue.get_or_insert_with(QueueRecorder::new).merge(more);
        }
        self.slices.resize(self.slices.len().max(other.slices.len()), SliceRecorder::default());
        for (slice, more) in self.slices.iter_mut().zip(&other.slices) {
            slice.latencies.merge(&more.latencies);
            slice.done += more.done;
        }
        self.transactions += other.transactions;
        self.queries += other.queries;
        self.restarts += other.restarts;
        self.reconnects += other.reconnects;
    }

    /// Latencies of completed transactions.
    pub(crate) fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// The latencies of all transactions that were due, in open loop.
    pub(crate) fn queued(&self) -> Option<Queued> {
        let queue = self.queue.as_ref()?;
        let with = |completed: &Latencies, waiting: fn(&(u64, u64)) -> u64| {
            let mut all = completed.clone();
            queue.waiting_ns.iter().for_each(|waited| all.record(waiting(waited)));
            all
        };
        Some(Queued {
            measured: with(&self.latencies, |(waited, _)| *waited),
            prompt: with(&queue.prompt, |(_, p)| *p),
        })
    }

    /// The summary in milliseconds; `None` if nothing was recorded.
    pub(crate) fn latency_ms(&self) -> Option<LatencyMs> {
        LatencyMs::of(&self.latencies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Random};

    #[test]
    fn merged_recorders_give_the_quantiles_of_all_latencies() {
        let mut random = Random::new(11, Purpose::Transactions, 0);
        let mut all = Vec::new();
        let mut merged = Recorder::new();
        for thread in 0..3u32 {
            let mut recorder = Recorder::new();
            for _ in 0..10_000 {
                // Log-uniform from 1 us to 10 s, each thread on its own scale.
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
        assert_eq!(merged.latencies().count(), 30_000);
    }
}
