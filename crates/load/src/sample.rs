//! The result of one sample.

use serde::Serialize;
use tare_latency::Latencies;

/// Latencies of transactions, milliseconds: min, mean and max are exact, percentiles within 0.1 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LatencyMs {
    /// The shortest of all transactions.
    pub min: f64,
    /// The arithmetic mean of all transactions.
    pub mean: f64,
    /// 50 % of them took no longer.
    pub p50: f64,
    /// 90 % of them took no longer.
    pub p90: f64,
    /// 95 % of them took no longer.
    pub p95: f64,
    /// 99 % of them took no longer.
    pub p99: f64,
    /// 99.9 % of them took no longer.
    pub p99_9: f64,
    /// The longest of all transactions.
    pub max: f64,
}

impl LatencyMs {
    /// The figures of a histogram; `None` if it is empty.
    pub fn of(latencies: &Latencies) -> Option<Self> {
        let percentile = |percentile| latencies.percentile_ms(percentile);
        Some(Self {
            min: latencies.min_ms()?,
            mean: latencies.mean_ms()?,
            p50: percentile(50.0)?,
            p90: percentile(90.0)?,
            p95: percentile(95.0)?,
            p99: percentile(99.0)?,
            p99_9: percentile(99.9)?,
            max: latencies.max_ms()?,
        })
    }
}

/// The latencies of all transactions that were due, in open loop. A transaction that was not completed by the end of
/// the sample counts with its waiting time until then.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Queued {
    /// Latencies from the due time of each.
    pub measured: Latencies,
    /// Latencies if the client had begun each transaction as soon as it was due and its connection was free. If they
    /// are much shorter than `measured`, the client itself was late. The time from the start of a transaction to its
    /// end is included.
    pub prompt: Latencies,
}

/// CPU time of the client threads per transaction, microseconds, mean over the sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CpuPerTransaction {
    /// Microseconds spent in user mode.
    pub user: f64,
    /// Microseconds spent in the kernel.
    pub system: f64,
}

/// A time in which no client completed a transaction although at least one was waiting for one, much longer than
/// transactions usually take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stall {
    /// Seconds since the sample began.
    pub from_s: f64,
    /// Its length in seconds.
    pub length_s: f64,
    /// Whether this process stood still for at least half of it; otherwise the server or the connection to it did.
    pub of_client: bool,
}

/// What one client thread did during one sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ThreadSample {
    /// Number of the thread, from 0.
    pub index: usize,
    /// The kernel's number of the thread.
    pub tid: u32,
    /// Transactions that this thread completed.
    pub transactions: u64,
    /// CPU time in user mode, seconds.
    pub user_s: f64,
    /// CPU time in the kernel, seconds.
    pub system_s: f64,
}

/// A slice of a sample whose rate changes, with the transactions that were due in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slice {
    /// The set rate, transactions per second, mean over the slice.
    pub rate: f64,
    /// Transactions per second that were due in it and completed by the end of the sample.
    pub tps: f64,
    /// Latency of all transactions that were due in it. One that was not completed by the end of the sample counts with
    /// its waiting time until then. `None` if nothing was due.
    pub latency_ms: Option<LatencyMs>,
    /// All of these latencies, as a histogram.
    #[serde(skip)]
    pub latencies: Latencies,
}

/// The results of one sample. A transaction belongs to the sample during which it **ends**; if clients rest around
/// samples ([`crate::Rest::AroundEach`]), to the one during which it began.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sample {
    /// Completed transactions; one that was restarted counts once.
    pub transactions: u64,
    /// Queries that returned rows.
    pub reads: u64,
    /// Queries that changed rows.
    pub writes: u64,
    /// Other queries: BEGIN, COMMIT, changes that matched no row.
    pub others: u64,
    /// Attempts that the database asked to run again (sysbench: ignored errors).
    pub restarts: u64,
    /// Connections that were lost and reopened.
    pub reconnects: u64,
    /// Length of the sample, seconds; if clients rest around samples, until the end of each thread's last transaction,
    /// mean over the threads.
    pub elapsed_s: f64,
    /// Latency including restarts; in open loop from the due time. `None` without transactions.
    pub latency_ms: Option<LatencyMs>,
    /// All latencies, as a histogram.
    #[serde(skip)]
    pub latencies: Latencies,
    /// Transactions per second in each whole second of the sample.
    pub tps_each_second: Vec<f64>,
    /// Client CPU time per transaction. `None` without transactions.
    pub client_cpu_us_per_transaction: Option<CpuPerTransaction>,
    /// Transactions that were due by the end of the sample and not completed, in open loop. They are not in
    /// `latency_ms` and `latencies`. `None` in closed loop.
    pub backlog: Option<u64>,
    /// Latencies including the backlog. `None` in closed loop.
    #[serde(skip)]
    pub queued: Option<Queued>,
    /// Its slices, if the rate changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<Slice>,
    /// Seconds for which this whole process stood still since the previous sample or the start of the warm-up, as seen
    /// by a thread that wakes up ten times per second.
    pub client_stood_still_s: f64,
    /// Long times without a completed transaction, in order of time.
    pub stalls: Vec<Stall>,
    /// Figures per thread, in order of index.
    pub threads: Vec<ThreadSample>,
}

impl Sample {
    /// Adds a later part of the same sample, in closed loop, without the time between the two. `latency_ms` remains
    /// that of the first part until the caller computes it anew.
    pub(crate) fn add_part(&mut self, later: Self) {
        let cpu_us = |of: &Self, us: fn(&CpuPerTransaction) -> f64| {
            of.client_cpu_us_per_transaction.map_or(0.0, |cpu| us(&cpu) * of.transactions as f64)
        };
        let all = self.transactions + later.transactions;
        let both = |us: fn(&CpuPerTransaction) -> f64| (cpu_us(self, us) + cpu_us(&later, us)) / all as f64;
        let (user, system) = (both(|cpu| cpu.user), both(|cpu| cpu.system));
        self.client_cpu_us_per_transaction = (all > 0).then_some(CpuPerTransaction { user, system });
        self.transactions = all;
        self.reads += later.reads;
        self.writes += later.writes;
        self.others += later.others;
        self.restarts += later.restarts;
        self.reconnects += later.reconnects;
        self.latencies.merge(&later.latencies);
        self.client_stood_still_s += later.client_stood_still_s;
        let before_s = self.elapsed_s;
        let shifted = later.stalls.into_iter().map(|stall| Stall { from_s: before_s + stall.from_s, ..stall });
        self.stalls.extend(shifted);
        self.elapsed_s += later.elapsed_s;
        for (own, more) in self.threads.iter_mut().zip(later.threads) {
            own.transactions += more.transactions;
            own.user_s += more.user_s;
            own.system_s += more.system_s;
        }
    }

    /// Completed transactions per second of all threads.
    pub fn tps(&self) -> f64 {
        self.transactions as f64 / self.elapsed_s
    }

    /// Queries per second of all kinds.
    pub fn qps(&self) -> f64 {
        (self.reads + self.writes + self.others) as f64 / self.elapsed_s
    }
}
