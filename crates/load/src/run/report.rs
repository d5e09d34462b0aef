//! Messages from client threads to the controller, and the summary of their reports.

use super::settings::LoadSettings;
use super::stalls::{Gap, stalls};
use crate::client::ClientThread;
use crate::cpu::CpuTime;
use crate::pace::Pace;
use crate::recorder::Recorder;
use crate::sample::{CpuPerTransaction, LatencyMs, Sample, Slice, ThreadSample};
use std::time::Instant;

/// A message of a thread to the controller. During a sample, only failures and [`Message::Enough`] are sent.
#[derive(Debug)]
pub(super) enum Message<E> {
    Connected(ClientThread),
    ConnectFailed {
        thread: usize,
        source: E,
    },
    Resting {
        thread: usize,
    },
    /// The last transaction of [`LoadSettings::events`] is completed.
    Enough,
    Report(Box<ThreadReport>),
    Failed {
        thread: usize,
        source: E,
    },
    Panicked {
        thread: usize,
    },
}

/// One thread's part of one sample.
#[derive(Debug)]
pub(super) struct ThreadReport {
    pub(super) thread: ClientThread,
    pub(super) recorder: Recorder,
    pub(super) cpu: CpuTime,
    pub(super) backlog: Option<u64>,
    pub(super) gaps: Vec<Gap>,
    /// When its last transaction ended, if that was after the end of the sample and the transaction counts.
    pub(super) overran: Option<Instant>,
}

/// The time window of a sample, and when this process stood still in it.
#[derive(Debug)]
pub(super) struct Window {
    pub(super) start: Instant,
    pub(super) end: Instant,
    pub(super) stood_still: Vec<(Instant, Instant)>,
}

/// Sums the reports of all threads.
pub(super) fn summarise(
    mut reports: Vec<ThreadReport>,
    window: &Window,
    settings: &LoadSettings,
    tps_each_second: Vec<f64>,
) -> Sample {
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
    let latency_ms = all.latency_ms();
    let elapsed_s = of_threads_s(&reports, window);
    let gaps: Vec<&[Gap]> = reports.iter().map(|report| report.gaps.as_slice()).collect();
    let median_ms = latency_ms.map(|latency| latency.p50);
    Sample {
        transactions: all.transactions,
        reads: all.queries.read,
        writes: all.queries.write,
        others: all.queries.other,
        restarts: all.restarts,
        reconnects: all.reconnects,
        elapsed_s,
        latency_ms,
        latencies: all.latencies().clone(),
        tps_each_second,
        client_cpu_us_per_transaction: cpu,
        backlog,
        queued: all.queued(),
        slices: slices(&all, settings, elapsed_s),
        client_stood_still_s: window.stood_still.iter().map(|still| (still.1 - still.0).as_secs_f64()).sum(),
        stalls: stalls(&gaps, &window.stood_still, (window.start, window.end), median_ms),
        threads,
    }
}

/// Mean time over the threads, seconds, in which their transactions were done, including the time after the sample of a
/// transaction that ended later and counts. Transactions divided by this time is unbiased even for a short sample
/// (Wald's identity). Without that time and transaction, and with none running at the start, half a transaction per
/// thread would be missing.
fn of_threads_s(reports: &[ThreadReport], window: &Window) -> f64 {
    let length_s = window.end.duration_since(window.start).as_secs_f64();
    let over_s = |report: &ThreadReport| report.overran.map_or(0.0, |end| (end - window.end).as_secs_f64());
    length_s + reports.iter().map(over_s).sum::<f64>() / reports.len().max(1) as f64
}

/// The slices that the sample completed, if its rate changes.
fn slices(all: &Recorder, settings: &LoadSettings, elapsed_s: f64) -> Vec<Slice> {
    let Pace::Open { rate, .. } = settings.pace else { return Vec::new() };
    let count = rate.slices() as f64;
    let length_s = settings.sample_s / count;
    let slices = all.slices.iter().enumerate().map(|(number, recorded)| {
        let x = |number: usize| number as f64 / count;
        Slice {
            rate: (rate.arrivals(x(number + 1)) - rate.arrivals(x(number))) * count,
            tps: recorded.done as f64 / length_s,
            latency_ms: LatencyMs::of(&recorded.latencies),
            latencies: recorded.latencies.clone(),
        }
    });
    slices.take((elapsed_s / length_s * (1.0 + 1e-9)) as usize).collect()
}
