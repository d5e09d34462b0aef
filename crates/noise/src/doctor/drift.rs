//! Drift: how much the time of a known job varies, and how much of this variation probes explain.

use super::finding::{Finding, Severity};
use crate::error::Result;
use crate::probe::{Probe, ProbeCpus, Reading};
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tare_cpuset::CpuSet;
use tare_text::percent;

/// Length of a reading of the probes between jobs.
const READING: Duration = Duration::from_millis(4);
/// Number of jobs per group. Means of groups show drift instead of jitter.
const GROUP: usize = 8;
/// Least number of groups for a result.
const FEWEST: usize = 6;
/// A job reads this much memory in order, and then one word per 64 words at random positions.
const JOB_BYTES: usize = 32 << 20;
/// Coefficient of variation from which drift matters.
const NOTABLE: f64 = 0.01;
/// A probe that leaves more than this fraction of the spread is not useful.
const WORTH_IT: f64 = 0.8;

/// How much drift remains after adjustment by a probe.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Left {
    /// `chain`, `spin` or `wakeup`, as in `sampling.probe` of a study.
    pub probe: &'static str,
    /// Remaining spread divided by total spread; 1 if the probe explains nothing.
    pub left: f64,
}

/// How the time of a known job drifted, and how much of it probes explain.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// OS number of the CPU.
    pub cpu: u32,
    /// Length of the measurement, seconds.
    pub elapsed_s: f64,
    /// Number of groups of jobs.
    pub groups: usize,
    /// Coefficient of variation of the groups' times, as a fraction.
    pub cov: f64,
    /// The drift that remains after adjustment by each probe.
    pub probes: Vec<Left>,
}

/// Alternates the job and the probes on one CPU. `None` if too few jobs were done.
///
/// # Errors
/// [`crate::NoiseError::Bind`] when this process may not run there.
pub(crate) fn measure_drift(cpu: u32, duration: Duration) -> Result<Option<Drift>> {
    let own = Some(CpuSet::from(cpu));
    let mut probe = Probe::new(ProbeCpus { workers: vec![own.clone()], pair: [None, own] })?;
    let memory: Vec<u64> = (0..(JOB_BYTES / 8) as u64).collect();
    let began = Instant::now();
    let (mut jobs, mut readings) = (Vec::new(), Vec::new());
    let mut before = probe.read(READING)?;
    while began.elapsed() < duration {
        jobs.push(on_cpu(cpu, || job(&memory))?);
        let after = probe.read(READING)?;
        readings.push(before.between(&after));
        before = after;
    }
    Ok(of(cpu, began.elapsed(), &jobs, &readings))
}

fn on_cpu(cpu: u32, work: impl FnOnce() -> f64 + Send) -> Result<f64> {
    use tare_cpuset::{ThreadRef, bind_thread};
    std::thread::scope(|scope| {
        let work = || bind_thread(ThreadRef::of_this_thread(), &cpu.into()).map(|()| work());
        let worker = std::thread::Builder::new().spawn_scoped(scope, work).map_err(tare_cpuset::ThreadRefused::from)?;
        let done = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        done.map_err(|source| crate::NoiseError::Bind { cpu, source })
    })
}

/// Seconds of reading all words in order and some at random positions.
fn job(memory: &[u64]) -> f64 {
    let clock = Instant::now();
    let mut sum = memory.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
    let mut at = sum as usize;
    for _ in 0..memory.len() / 64 {
        at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sum = sum.wrapping_add(memory[(at >> 16) % memory.len()]);
    }
    black_box(sum);
    clock.elapsed().as_secs_f64()
}

fn of(cpu: u32, elapsed: Duration, jobs: &[f64], readings: &[Reading]) -> Option<Drift> {
    // On a busy machine with few jobs, smaller groups are better than no result.
    let size = (jobs.len() / FEWEST).clamp(1, GROUP);
    let grouped = |values: Vec<f64>| -> Vec<f64> {
        values.chunks_exact(size).map(|group| (group.iter().sum::<f64>() / size as f64).ln()).collect()
    };
    let y = centred(grouped(jobs.to_vec()));
    if y.len() < FEWEST {
        return None;
    }
    let of_probe = |probe: &'static str, figure: fn(&Reading) -> f64| {
        let x = centred(grouped(readings.iter().map(figure).collect()));
        Left { probe, left: left(&x, &y) }
    };
    Some(Drift {
        cpu,
        elapsed_s: elapsed.as_secs_f64(),
        groups: y.len(),
        cov: (product(&y, &y) / (y.len() - 1) as f64).sqrt(),
        probes: vec![
            of_probe("chain", |reading| reading.chain_ns),
            of_probe("spin", |reading| reading.spin_ns),
            of_probe("wakeup", |reading| reading.wakeup_ns),
        ],
    })
}

fn centred(values: Vec<f64>) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.into_iter().map(|value| value - mean).collect()
}

fn product(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Residual standard deviation of a linear fit divided by the total one; the slope costs a degree of freedom.
fn left(x: &[f64], y: &[f64]) -> f64 {
    let (xx, yy, n) = (product(x, x), product(y, y), y.len() as f64);
    if xx <= 0.0 || yy <= 0.0 {
        return 1.0;
    }
    let unexplained = (1.0 - product(x, y).powi(2) / (xx * yy)).max(0.0);
    (unexplained * (n - 1.0) / (n - 2.0)).sqrt()
}

/// The finding: how large the drift is, and what remains of it with each probe.
pub(super) fn finding(drift: &Drift) -> Finding {
    let left: Vec<String> =
        drift.probes.iter().map(|found| format!("{} ({})", percent(found.left), found.probe)).collect();
    let value = format!(
        "a job of known work varied by {} (CoV of {} groups over {:.0} s on CPU {}); of this, adjusting by a probe \
         that ran alongside leaves {}",
        percent(drift.cov),
        drift.groups,
        drift.elapsed_s,
        drift.cpu,
        left.join(", ")
    );
    let severity = if drift.cov < NOTABLE { Severity::Good } else { Severity::Note };
    let best = drift.probes.iter().min_by(|a, b| a.left.total_cmp(&b.left)).filter(|best| best.left <= WORTH_IT);
    let cost = match best {
        Some(_) => {
            "samples drift by as much with any setting; adjustment by a probe removes the part that the probe shows; \
             tare doctor with --study tests that with the samples of a study"
        }
        None => "samples drift by as much with any setting, and adjustment by a probe does not help here",
    };
    // The known job differs from a study's workload, so a probe that helps here may not help there.
    Finding::new("drift", value, severity, cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_cpuset::{ThreadRef, affinity_of};

    fn reading(chain_ns: f64, spin_ns: f64) -> Reading {
        Reading { chain_ns, spin_ns, wakeup_ns: 1.0 }
    }

    #[test]
    fn a_correlated_probe_explains_the_drift_and_an_uncorrelated_one_none() {
        let speed = |i: usize| 1.0 + 0.05 * ((i / GROUP) as f64).sin();
        let jobs: Vec<f64> = (0..80).map(|i| 0.02 * speed(i)).collect();
        let other = |i: usize| 1.0 + 0.05 * (7.0 * (i / GROUP) as f64).cos();
        let readings: Vec<Reading> = (0..80).map(|i| reading(90.0 * speed(i), 30.0 * other(i))).collect();
        let drift = of(0, Duration::from_secs(2), &jobs, &readings).unwrap();
        assert_eq!(drift.groups, 10);
        assert!((drift.cov - 0.036).abs() < 0.01, "{drift:?}");
        assert!(drift.probes[0].left < 0.02 && drift.probes[1].left > 0.5, "{drift:?}");
        assert_eq!(drift.probes[2].left, 1.0, "a constant probe explains no drift");
        let finding = finding(&drift);
        assert!(finding.cost.ends_with("with the samples of a study"), "{}", finding.cost);
        assert!(finding.value.contains("alongside leaves 0.00% (chain), "), "{}", finding.value);
        assert_eq!(
            of(0, Duration::from_secs(1), &jobs[..20], &readings[..20]).unwrap().groups,
            6,
            "few jobs, small groups"
        );
        assert_eq!(of(0, Duration::from_secs(1), &jobs[..5], &readings[..5]), None);
    }

    #[test]
    fn this_machine_is_watched() {
        let cpu = affinity_of(ThreadRef::of_this_thread()).unwrap().first().unwrap();
        let drift = measure_drift(cpu, Duration::from_millis(1500)).unwrap();
        if let Some(drift) = drift {
            assert!(drift.cov >= 0.0 && drift.probes.iter().all(|found| found.left > 0.0), "{drift:?}");
        }
        assert!(measure_drift(1_000, Duration::from_millis(1)).is_err());
    }
}
