//! Finds stalls: times in which no transaction was completed, caused by the server or by this process.

use crate::sample::Stall;
use std::time::{Duration, Instant};

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
