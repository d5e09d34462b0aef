//! Messages from client threads to the controller, and the summary of their reports, with stalls: times in which no
//! transaction was completed, caused by the server or by this process.

use super::settings::LoadSettings;
use crate::client::ClientThread;
use crate::cpu::CpuTime;
use crate::pace::Pace;
use crate::recorder::Recorder;
use crate::sample::{CpuPerTransaction, LatencyMs, Sample, Slice, Stall, ThreadSample};
use std::time::{Duration, Instant};

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

/// Least length of a gap that a thread reports and of a stall.
pub(super) const LEAST: Duration = Duration::from_millis(100);
/// Least length of a stall in median latencies, so that slow transactions are not stalls.
const MEDIANS: f64 = 20.0;
/// If the controller wakes up this much too late, the whole process stood still.
pub(super) const LATE: Duration = Duration::from_millis(50);

/// A long time between two transactions that one thread completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) from: Instant,
    /// When the next transaction was due or begun; before that the thread had nothing to do.
    pub(super) busy_from: Instant,
    pub(super) to: Instant,
}

/// A time span: start and end.
type Span = (Instant, Instant);

fn overlap(a: Span, b: Span) -> Option<Span> {
    let (from, to) = (a.0.max(b.0), a.1.min(b.1));
    (from < to).then_some((from, to))
}

fn length(span: Span) -> Duration {
    span.1.saturating_duration_since(span.0)
}

/// The stalls of a sample: no thread completed anything, and at least one was busy for the whole time. `stood_still`
/// has the times when this process stood still.
pub(super) fn stalls(threads: &[&[Gap]], stood_still: &[Span], sample: Span, median_ms: Option<f64>) -> Vec<Stall> {
    let least = LEAST.max(Duration::from_secs_f64(median_ms.unwrap_or(0.0) * MEDIANS / 1e3));
    let mut silent = vec![sample];
    for gaps in threads {
        silent = silent
            .iter()
            .flat_map(|span| gaps.iter().filter_map(|gap| overlap(*span, (gap.from, gap.to))))
            .filter(|span| length(*span) >= least)
            .collect();
    }
    let busiest = |span: Span| {
        let busy = threads.iter().copied().flatten().filter_map(|gap| overlap(span, (gap.busy_from, gap.to)));
        busy.max_by_key(|busy| length(*busy)).filter(|busy| length(*busy) >= least)
    };
    let stalls = silent.into_iter().filter_map(busiest);
    stalls
        .map(|span| {
            let own: Duration = stood_still.iter().filter_map(|still| overlap(span, *still)).map(length).sum();
            Stall {
                from_s: span.0.duration_since(sample.0).as_secs_f64(),
                length_s: length(span).as_secs_f64(),
                of_client: own * 2 >= length(span),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_silence_of_all_threads_while_one_is_busy() {
        let zero = Instant::now();
        let at = |ms: u64| zero + Duration::from_millis(ms);
        let gap = |from, busy_from, to| Gap { from: at(from), busy_from: at(busy_from), to: at(to) };
        let busy = |from, to| gap(from, from, to);
        let found = |threads: &[&[Gap]], median_ms, still: &[Span]| {
            let stalls = stalls(threads, still, (at(1000), at(5000)), Some(median_ms));
            stalls
                .iter()
                .map(|s| ((s.from_s * 1e3).round(), (s.length_s * 1e3).round(), s.of_client))
                .collect::<Vec<_>>()
        };
        let (one, two) = ([busy(1500, 2000), busy(3000, 3400)], [busy(1600, 2200), busy(3300, 3600)]);
        assert_eq!(found(&[&one, &two], 1.0, &[]), [(600.0, 400.0, false), (2300.0, 100.0, false)]);
        assert_eq!(found(&[&one, &two], 10.0, &[]), [(600.0, 400.0, false)], "slow transactions are not stalls");
        assert_eq!(found(&[&one, &two, &[]], 1.0, &[]), [], "the third thread was not stalled");
        let still = [(at(1700), at(1950))];
        assert_eq!(found(&[&one, &two], 10.0, &still), [(600.0, 400.0, true)]);
        // Nothing was due for the second thread, and for part of the time for neither.
        let idle = [gap(1500, 2000, 2000)];
        assert_eq!(found(&[&one, &idle], 1.0, &[]), [(500.0, 500.0, false)]);
        assert_eq!(found(&[&idle, &idle], 1.0, &[]), []);
        assert_eq!(
            found(&[&[busy(0, 1300)]], 1.0, &[]),
            [(0.0, 300.0, false)],
            "time before the sample does not count"
        );
        assert_eq!(found(&[&[busy(4800, 9000)]], 1.0, &[]), [(3800.0, 200.0, false)]);
    }
}
