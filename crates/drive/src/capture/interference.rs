//! Disturbances of a sample: the machine's counters, CPU time of other programs, the server's memory in swap,
//! suspension of the machine, and processes that were stopped.

use rustix::process::{getpid, getppid};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_engine::stopped_processes;
use tare_noise::{CpuUse, Snapshot, Throttling};
use tare_results::covariate::{FOREIGN_FRACTION, may_explain};

pub(crate) struct Interference {
    snapshot: Snapshot,
    cpu_use: CpuUse,
    throttling: Throttling,
    asleep_s: f64,
    server: Option<u32>,
    cpus: CpuSet,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OthersSeen {
    /// Name -> value, stored alongside the metrics: those of [`Snapshot::since`] and, for the benchmark's CPUs, of
    /// [`Snapshot::since_on`], `foreign_cpu_s`, `foreign_cpu_fraction` (of the benchmark's CPUs),
    /// `server_swapped_bytes`, `suspended_s`, `stopped_processes`.
    pub covariates: BTreeMap<String, f64>,
    /// The foreign processes that used most CPU time, in descending order: name, process id, CPU time over wall time.
    pub users: Vec<(String, u32, f64)>,
}

impl OthersSeen {
    /// Merges a later part of one sample: covariates by the rules of the registry, CPU users as shares of the total
    /// time.
    pub(crate) fn merge(&mut self, later: Self) {
        let elapsed_s = |of: &Self| of.covariates.get("elapsed_s").copied().unwrap_or(0.0);
        let (before_s, later_s) = (elapsed_s(self), elapsed_s(&later));
        let all_s = (before_s + later_s).max(f64::MIN_POSITIVE);
        self.users.iter_mut().for_each(|user| user.2 *= before_s / all_s);
        for (name, pid, share) in later.users {
            let share = share * later_s / all_s;
            match self.users.iter_mut().find(|known| known.1 == pid) {
                Some(known) => known.2 += share,
                None => self.users.push((name, pid, share)),
            }
        }
        self.users.sort_by(|a, b| b.2.total_cmp(&a.2));
        tare_results::covariate::merge(&mut self.covariates, later.covariates);
    }
}

impl Interference {
    /// Starts watching. `bound` holds the CPUs of the benchmark; it is empty if the benchmark may run anywhere.
    pub(crate) fn start(server: Option<u32>, bound: &CpuSet) -> Self {
        let snapshot = Snapshot::take();
        let cpus = if bound.is_empty() { snapshot.cpus().keys().copied().collect() } else { bound.clone() };
        let throttling = Throttling::take();
        // Those of earlier are no disturbance of this sample.
        let _ = stopped_processes();
        Self { snapshot, cpu_use: CpuUse::take(), throttling, asleep_s: asleep_s(), server, cpus }
    }

    /// Also returns the most time that the hypervisor took from one CPU, in seconds.
    pub(crate) fn finish(self) -> (OthersSeen, f64) {
        let now = CpuUse::take();
        let after = Snapshot::take();
        let mut covariates = after.since(&self.snapshot);
        // On all CPUs these equal the figures of the whole machine, and would report one reason twice.
        let everywhere = self.snapshot.cpus().keys().all(|cpu| self.cpus.contains(*cpu));
        let bound = after.since_on(&self.snapshot, &self.cpus);
        covariates.extend(bound.into_iter().filter(|(name, _)| !everywhere || !may_explain(name)));
        // Own processes: the run that started this trial, and with it the trial, the server and the capture tools; and
        // a server that was already running.
        let own: Vec<u32> = [Some(getpid()), getppid()]
            .into_iter()
            .flatten()
            .map(|pid| pid.as_raw_nonzero().get().unsigned_abs())
            .chain(self.server)
            .collect();
        let foreign = now.since(&self.cpu_use, &self.cpus, &own);
        covariates.insert("foreign_cpu_s".into(), foreign.cpu_s);
        covariates.insert(FOREIGN_FRACTION.into(), foreign.fraction);
        // Clients are this process or its children, in the same control groups.
        if let Some(taken) = Throttling::take().since(&self.throttling) {
            covariates.insert("client_throttled_fraction".into(), taken.periods_fraction);
            covariates.insert("client_throttled_s".into(), taken.stopped_s);
        }
        covariates.insert("suspended_s".into(), (asleep_s() - self.asleep_s).max(0.0));
        covariates.insert("stopped_processes".into(), stopped_processes() as f64);
        if let Some(bytes) = self.server.and_then(swapped_bytes) {
            covariates.insert("server_swapped_bytes".into(), bytes as f64);
        }
        (OthersSeen { covariates, users: foreign.users }, after.most_stolen_s(&self.snapshot))
    }
}

/// Seconds since boot for which the machine was suspended: CLOCK_BOOTTIME minus CLOCK_MONOTONIC (clock_gettime(2)).
fn asleep_s() -> f64 {
    let monotonic = seconds(ClockId::Monotonic);
    seconds(ClockId::Boottime) - monotonic
}

/// CPU time of the calling thread since it began, in seconds.
pub(crate) fn thread_cpu_s() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn swapped_bytes(pid: u32) -> Option<u64> {
    let status: procfs::process::Status = tare_cpuset::observe::parse(&format!("/proc/{pid}/status")).ok()?;
    Some(status.vmswap? * 1024)
}
