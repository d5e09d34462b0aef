//! The examination: a window of watching, then a spin on each CPU.

use super::drift::{self, Drift, measure_drift};
use super::finding::{Finding, Severity};
use super::interrupts::Interrupts;
use super::jitter::{Jitter, measure_jitter};
use super::processes::{CpuUser, ProcessTimes};
use super::{host, limits, settings};
use crate::interference::Snapshot;
use crate::setting::Setting;
use crate::system::System;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;
use tare_cpuset::affinity_of;
use tare_cpuset::{CpuSet, ThreadRef};

/// What to examine and for how long.
#[derive(Debug, Clone)]
pub struct Options {
    /// The CPUs of the benchmark; none for all that this process may use.
    pub cpus: Option<CpuSet>,
    /// How long to watch what else runs.
    pub window: Duration,
    /// How long to spin on each CPU, one after the other.
    pub spin: Duration,
    /// How long to watch a job of known work drift, with probes alongside it; 0: not at all.
    pub drift: Duration,
}

impl Default for Options {
    /// All CPUs, one second of watching, half a second of spinning on each, five of drift.
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
    /// All noise sources, the worst first.
    pub findings: Vec<Finding>,
    /// Stolen time of each CPU that could be measured.
    pub jitter: Vec<Jitter>,
    /// How a job of known work drifted on the first CPU, and what probes know of that; none when it was too short.
    pub drift: Option<Drift>,
    /// What the machine did during the window, named as in [`Snapshot::since`].
    pub interference: BTreeMap<String, f64>,
    /// Processes that used at least 1% of a CPU during the window, the greatest first.
    pub background: Vec<CpuUser>,
}

/// Examines `system`. Takes the window, the spin on each CPU and the watch over drift. Changes nothing and needs no
/// right; the spin runs on this machine even where a folder plays the system.
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
    findings.extend(host::findings(system, &interference, &background));
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
    // A CPU that cannot be had has its finding above.
    let drift = cpus.first().filter(|_| !options.drift.is_zero());
    let drift = drift.and_then(|cpu| measure_drift(cpu, options.drift).ok().flatten());
    findings.extend(drift.as_ref().map(drift::finding));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    Diagnosis { findings, jitter, drift, interference, background }
}

/// What may have taken the time that a spinning thread lost.
struct Meanwhile {
    /// As a fraction, as the hypervisor reports; none where it keeps none.
    steal: Option<f64>,
    /// CPUs' worth of time that other processes used.
    others: f64,
}

/// One finding for the CPU that lost most, with what is known of who took it.
fn worst(system: &System, cpus: &CpuSet, jitter: &[Jitter], meanwhile: &Meanwhile) -> Option<Finding> {
    let worst = jitter.iter().max_by(|a, b| a.stolen_fraction.total_cmp(&b.stolen_fraction))?;
    let steal = match meanwhile.steal {
        Some(fraction) => format!("the hypervisor reports {:.2}% steal", fraction * 100.0),
        None => "no hypervisor reports steal".to_owned(),
    };
    let value = format!(
        "a spinning thread on CPU {} lost {:.3}%, longest {:.0} us; meanwhile {steal}, and other processes used {:.2} \
         CPUs (the rest: interrupts, the kernel, a host that reports no steal)",
        worst.cpu,
        worst.stolen_fraction * 100.0,
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
