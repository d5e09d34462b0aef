//! The doctor's examination: observe the machine, then spin on each CPU, then measure drift.

use super::activity::{self, CpuUser, Interrupts, ProcessTimes};
use super::drift::{self, Drift, measure_drift};
use super::finding::{Finding, Severity};
use super::jitter::{Jitter, measure_jitter};
use super::{limits, settings};
use crate::interference::Snapshot;
use crate::setting::Setting;
use crate::system::System;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tare_cpuset::{CpuSet, ThreadRef, affinity_of};
use tare_text::percent;

/// What to examine, and how long.
#[derive(Debug, Clone)]
pub struct Options {
    /// The CPUs of the benchmark; `None` for all that this process may use.
    pub cpus: Option<CpuSet>,
    /// How long to observe what else runs.
    pub window: Duration,
    /// How long to spin on each CPU, one after the other.
    pub spin: Duration,
    /// How long to measure the drift of a known job and of the probes; 0 to skip it.
    pub drift: Duration,
}

impl Default for Options {
    /// All CPUs, a window of 1 s, a spin of 0.5 s on each CPU, 5 s for drift.
    fn default() -> Self {
        Self {
            cpus: None,
            window: Duration::from_secs(1),
            spin: Duration::from_millis(500),
            drift: Duration::from_secs(5),
        }
    }
}

/// What the doctor found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// All noise sources, the most severe first.
    pub findings: Vec<Finding>,
    /// Stolen time of each CPU that could be measured.
    pub jitter: Vec<Jitter>,
    /// Drift of a known job on the first CPU; `None` if the time was too short.
    pub drift: Option<Drift>,
    /// What the machine did during the window, named as in [`Snapshot::since`].
    pub interference: BTreeMap<String, f64>,
    /// Processes that used at least 1% of a CPU during the window, the largest first.
    pub background: Vec<CpuUser>,
}

/// Examines `system`. Takes the sum of the three times in [`Options`], with one spin per CPU. It changes nothing and
/// needs no privileges. The spin runs on this machine even if `system` is a fake one.
pub fn examine(system: &System, options: &Options) -> Diagnosis {
    let cpus = options.cpus.clone().unwrap_or_else(|| affinity_of(ThreadRef::of_this_thread()).unwrap_or_default());
    let (before, processes, interrupts) =
        (Snapshot::take_from(system), ProcessTimes::take(system), Interrupts::take(system));
    std::thread::sleep(options.window);
    let interference = Snapshot::take_from(system).since(&before);
    let elapsed_s = interference.get("elapsed_s").copied().unwrap_or(0.0);
    let background = ProcessTimes::take(system).users_since(&processes, elapsed_s);

    let mut findings = settings::findings(system);
    findings.extend(limits::findings(system, &cpus));
    findings.extend(activity::findings(system, &interference, &background));
    findings.push(Interrupts::take(system).finding(&interrupts, system, &cpus, elapsed_s));
    let mut jitter = Vec::new();
    let (before, processes) = (Snapshot::take_from(system), ProcessTimes::take(system));
    for cpu in cpus.iter() {
        match measure_jitter(cpu, options.spin) {
            Ok(measured) => jitter.push(measured),
            Err(error) => findings.push(Finding::new(
                "jitter",
                error.to_string(),
                Severity::Warning,
                "a benchmark cannot be placed there either",
            )),
        }
    }
    let meanwhile = Snapshot::take_from(system).since(&before);
    let elapsed_s = meanwhile.get("elapsed_s").copied().unwrap_or(0.0);
    let others = ProcessTimes::take(system).users_since(&processes, elapsed_s);
    let meanwhile = Meanwhile {
        steal: meanwhile.get("steal_fraction").copied(),
        others: others.iter().map(|user| user.cpu_fraction).sum(),
    };
    findings.extend(worst(system, &cpus, &jitter, &meanwhile));
    // A CPU that cannot be used is already reported above.
    let drift = cpus.first().filter(|_| !options.drift.is_zero());
    let drift = drift.and_then(|cpu| measure_drift(cpu, options.drift).ok().flatten());
    findings.extend(drift.as_ref().map(drift::finding));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Diagnosis { findings, jitter, drift, interference, background }
}

/// Possible causes of the time that a spinning thread lost.
struct Meanwhile {
    /// Steal time as a fraction, as the hypervisor reports it; `None` if it does not.
    steal: Option<f64>,
    /// CPU time of other processes, in CPUs.
    others: f64,
}

/// One finding for the CPU that lost most time, with its known causes.
fn worst(system: &System, cpus: &CpuSet, jitter: &[Jitter], meanwhile: &Meanwhile) -> Option<Finding> {
    let worst = jitter.iter().max_by(|a, b| a.stolen_fraction.total_cmp(&b.stolen_fraction))?;
    let steal = match meanwhile.steal {
        Some(fraction) => format!("the hypervisor reports {} steal", percent(fraction)),
        None => "no hypervisor reports steal".to_owned(),
    };
    let value = format!(
        "a spinning thread on CPU {} lost {}, longest {:.0} us; meanwhile {steal}, and other processes used {:.2} \
         CPUs (the rest: interrupts, the kernel, a host that reports no steal)",
        worst.cpu,
        percent(worst.stolen_fraction),
        worst.longest_us,
        meanwhile.others
    );
    // An idle machine with a timer tick of 250 to 1000 Hz loses some 0.1 to 0.5%.
    let severity = match worst.stolen_fraction {
        f if f < 0.005 => Severity::Good,
        f if f < 0.02 => Severity::Note,
        _ => Severity::Warning,
    };
    let cost = "a single-threaded run there varies by about as much; latencies show the longest";
    Some(Finding::new("jitter", value, severity, cost).study(system, Setting::CpuShield, &format!("cpus:{cpus}")))
}
