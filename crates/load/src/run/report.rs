//! What client threads tell the controller, and the sum of it.

use crate::client::ClientThread;
use crate::cpu::CpuTime;
use crate::recorder::Recorder;
use crate::sample::{CpuPerTransaction, Sample, ThreadSample};

/// A thread's word to the controller; none is sent between the borders of samples.
#[derive(Debug)]
pub(super) enum Message<E> {
    Connected(ClientThread),
    ConnectFailed { thread: usize, source: E },
    Resting,
    Report(Box<ThreadReport>),
    Failed { thread: usize, source: E },
    Panicked { thread: usize },
}

/// One thread's part of one sample.
#[derive(Debug)]
pub(super) struct ThreadReport {
    pub(super) thread: ClientThread,
    pub(super) recorder: Recorder,
    pub(super) cpu: CpuTime,
    pub(super) backlog: Option<u64>,
}

/// Sums the reports of all threads.
pub(super) fn summarise(mut reports: Vec<ThreadReport>, elapsed_s: f64, tps_each_second: Vec<f64>) -> Sample {
    reports.sort_by_key(|report| report.thread.index);
    let mut all = Recorder::new();
    let mut backlog = None;
    for report in &reports {
        all.merge(&report.recorder);
        if let Some(more) = report.backlog {
            backlog = Some(backlog.unwrap_or(0) + more);
        }
    }
    let per_transaction = |seconds: fn(&CpuTime) -> f64| {
        reports.iter().map(|report| seconds(&report.cpu)).sum::<f64>() * 1e6 / all.transactions as f64
    };
    let cpu = (all.transactions > 0).then(|| CpuPerTransaction {
        user: per_transaction(|cpu| cpu.user_s),
        system: per_transaction(|cpu| cpu.system_s),
    });
    let threads = reports
        .iter()
        .map(|report| ThreadSample {
            index: report.thread.index,
            tid: report.thread.id.tid.unsigned_abs(),
            transactions: report.recorder.transactions,
            user_s: report.cpu.user_s,
            system_s: report.cpu.system_s,
        })
        .collect();
    Sample {
        transactions: all.transactions,
        reads: all.queries.read,
        writes: all.queries.write,
        others: all.queries.other,
        restarts: all.restarts,
        elapsed_s,
        latency_ms: all.latency_ms(),
        tps_each_second,
        client_cpu_us_per_transaction: cpu,
        backlog,
        threads,
    }
}
