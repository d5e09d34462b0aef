//! Jitter: how much time a thread that spins on a CPU loses to other activity.

use crate::error::{NoiseError, Result};
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tare_cpuset::{CpuSet, ThreadRef, ThreadRefused, bind_thread};

/// Calibrated length of one piece of work, nanoseconds: short enough to detect an interruption, and long compared with
/// the 20 to 50 ns of reading the clock.
const PIECE_NS: u64 = 2_000;
/// Least excess over the usual length that counts as stolen, nanoseconds.
const THRESHOLD_NS: u64 = 1_000;
/// Number of buckets. Their bounds double from 1 us; the last has no upper bound.
const BUCKETS: usize = 21;
/// Time for the CPU frequency to rise, and then to measure the usual length of a piece.
const WARMUP: Duration = Duration::from_millis(20);
const CALIBRATION: Duration = Duration::from_millis(20);

/// Interruptions of one length class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bucket {
    /// Shortest stolen time of this class, microseconds.
    pub from_us: u64,
    /// End of the class, exclusive; `None` for the last.
    pub to_us: Option<u64>,
    /// Number of interruptions of this length.
    pub count: u64,
}

/// Time that a spinning thread lost on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Jitter {
    /// OS number of the CPU.
    pub cpu: u32,
    /// How long the loop ran, seconds.
    pub elapsed_s: f64,
    /// Number of pieces of work.
    pub pieces: u64,
    /// Usual (median) length of a piece, nanoseconds.
    pub piece_ns: u64,
    /// Stolen time divided by measured time. Stolen time is the excess of a piece over the usual length, if it is at
    /// least 1 us. Its causes are interrupts, other tasks, the hypervisor, an SMT sibling, or a falling frequency.
    pub stolen_fraction: f64,
    /// Longest single interruption, microseconds.
    pub longest_us: f64,
    /// Interruptions by length; empty classes are left out.
    pub histogram: Vec<Bucket>,
}

/// Spins on one CPU for `duration` (after 40 ms of warm-up and calibration), in a thread of its own.
///
/// # Errors
/// [`NoiseError::Bind`] when this process may not run on that CPU; [`NoiseError::Thread`] when no thread can be
/// started.
pub(crate) fn measure_jitter(cpu: u32, duration: Duration) -> Result<Jitter> {
    let spinner = || {
        bind_thread(ThreadRef::of_this_thread(), &CpuSet::from(cpu))
            .map_err(|source| NoiseError::Bind { cpu, source })?;
        Ok(spin(cpu, duration))
    };
    std::thread::scope(|scope| {
        let spinning = std::thread::Builder::new().spawn_scoped(scope, spinner).map_err(ThreadRefused::from)?;
        spinning.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn spin(cpu: u32, duration: Duration) -> Jitter {
    let steps = calibrate();
    let mut usual = Vec::with_capacity(CALIBRATION.as_micros() as usize);
    run(steps, CALIBRATION, |ns| {
        if usual.len() < usual.capacity() {
            usual.push(ns);
        }
    });
    usual.sort_unstable();
    let mut tally = Tally::new(usual.get(usual.len() / 2).copied().unwrap_or(PIECE_NS));
    let elapsed = run(steps, duration, |ns| tally.record(ns));
    tally.finish(cpu, elapsed)
}

/// Work that the compiler cannot optimize away and that accesses no memory.
fn work(steps: u64) {
    let mut x = black_box(1u64);
    for _ in 0..steps {
        x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

/// The number of steps that take [`PIECE_NS`], from the fastest of many trials, because disturbances only add time.
fn calibrate() -> u64 {
    const TRIAL: u64 = 1_000;
    let mut fastest = u64::MAX;
    run(TRIAL, WARMUP, |ns| fastest = fastest.min(ns));
    (TRIAL * PIECE_NS / fastest.max(1)).clamp(1, 1_000_000)
}

/// Runs pieces of work for `duration`. The time of a piece begins at the end of the previous one, so that no stolen
/// time between two is missed.
fn run(steps: u64, duration: Duration, mut each: impl FnMut(u64)) -> Duration {
    let start = Instant::now();
    let mut last = start;
    loop {
        work(steps);
        let now = Instant::now();
        each(u64::try_from((now - last).as_nanos()).unwrap_or(u64::MAX));
        last = now;
        if now - start >= duration {
            return now - start;
        }
    }
}

struct Tally {
    usual_ns: u64,
    pieces: u64,
    stolen_ns: u64,
    longest_ns: u64,
    counts: [u64; BUCKETS],
}

impl Tally {
    fn new(usual_ns: u64) -> Self {
        Self { usual_ns, pieces: 0, stolen_ns: 0, longest_ns: 0, counts: [0; BUCKETS] }
    }

    fn record(&mut self, ns: u64) {
        self.pieces += 1;
        let excess = ns.saturating_sub(self.usual_ns);
        if excess >= THRESHOLD_NS {
            self.stolen_ns += excess;
            self.longest_ns = self.longest_ns.max(excess);
            let bucket = ((excess / 1_000).ilog2() as usize).min(BUCKETS - 1);
            self.counts[bucket] += 1;
        }
    }

    fn finish(&self, cpu: u32, elapsed: Duration) -> Jitter {
        let bucket = |(i, count): (usize, &u64)| Bucket {
            from_us: 1 << i,
            to_us: (i + 1 < BUCKETS).then_some(2 << i),
            count: *count,
        };
        Jitter {
            cpu,
            elapsed_s: elapsed.as_secs_f64(),
            pieces: self.pieces,
            piece_ns: self.usual_ns,
            stolen_fraction: self.stolen_ns as f64 / elapsed.as_nanos().max(1) as f64,
            longest_us: self.longest_ns as f64 / 1e3,
            histogram: self.counts.iter().enumerate().map(bucket).filter(|b| b.count > 0).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use tare_cpuset::affinity_of;

    use super::*;

    #[test]
    fn stolen_time_is_what_exceeds_the_usual() {
        let mut tally = Tally::new(2_000);
        for ns in [1_900, 2_000, 2_999, 3_000, 3_999, 4_000, 102_000, 5_000_000_000] {
            tally.record(ns);
        }
        let jitter = tally.finish(3, Duration::from_secs(10));
        let found: Vec<_> = jitter.histogram.iter().map(|b| (b.from_us, b.to_us, b.count)).collect();
        assert_eq!(found, [(1, Some(2), 2), (2, Some(4), 1), (64, Some(128), 1), (1 << 20, None, 1)]);
        let stolen_ns = 1_000 + 1_999 + 2_000 + 100_000 + 4_999_998_000u64;
        assert_eq!((jitter.pieces, jitter.longest_us), (8, 4_999_998.0));
        assert!((jitter.stolen_fraction - stolen_ns as f64 / 1e10).abs() < 1e-12);
    }

    #[test]
    fn a_competitor_on_the_same_cpu_steals() {
        let cpu = affinity_of(ThreadRef::of_this_thread()).unwrap().first().unwrap();
        let stop = AtomicBool::new(false);
        let jitter = std::thread::scope(|scope| {
            scope.spawn(|| {
                bind_thread(ThreadRef::of_this_thread(), &CpuSet::from(cpu)).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let jitter = measure_jitter(cpu, Duration::from_millis(300)).unwrap();
            stop.store(true, Ordering::Relaxed);
            jitter
        });
        // A fair scheduler gives half to each thread; the limit of a tenth allows for others.
        assert!(jitter.stolen_fraction > 0.1 && jitter.stolen_fraction < 1.0, "{jitter:?}");
        assert!(jitter.histogram.iter().any(|b| b.from_us >= 256), "whole time slices: {jitter:?}");
    }

    #[test]
    fn a_missing_cpu_is_named_in_the_error() {
        let error = measure_jitter(1_000, Duration::from_millis(1)).unwrap_err();
        assert!(error.to_string().contains("CPU 1000"), "{error}");
    }
}
