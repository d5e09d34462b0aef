//! Waits for a CPU that another program used. While one thread waits, another one runs: a thread of the benchmark that
//! may use the same CPUs, or another program, each in proportion to its CPU time there.

use std::collections::BTreeMap;
use tare_cpuset::CpuSet;
use tare_results::covariate::CLIENT_HOST;
use tare_results::schema::{SampleRecord, ThreadClass, ThreadRecord};

/// CPU time of other programs on the benchmark's CPUs.
const FOREIGN: &str = "foreign_cpu_s";

/// Seconds for which the threads of one class waited for CPUs that other programs used; `clients_apart`: the clients
/// run on another host.
pub(super) fn waited_s(sample: &SampleRecord, class: ThreadClass, clients_apart: bool) -> f64 {
    let on_clients_host = clients_apart && class == ThreadClass::Client;
    let foreign_s = foreign_s(sample, on_clients_host);
    if foreign_s <= 0.0 {
        return 0.0;
    }
    let here = |thread: &&ThreadRecord| !clients_apart || (thread.class == ThreadClass::Client) == on_clients_host;
    let places = Places::of(sample.threads.iter().filter(here));
    let of_class = sample.threads.iter().filter(|thread| thread.class == class);
    of_class.map(|thread| places.waited_for_strangers_s(thread, foreign_s)).sum()
}

/// CPU time of the benchmark's threads on one host, by the CPUs that they may use.
struct Places<'s> {
    ran_s: BTreeMap<&'s CpuSet, f64>,
    all: CpuSet,
}

impl<'s> Places<'s> {
    fn of(threads: impl Iterator<Item = &'s ThreadRecord>) -> Self {
        let (mut ran_s, mut all) = (BTreeMap::new(), CpuSet::default());
        for thread in threads {
            let seen: &mut f64 = ran_s.entry(&thread.allowed_cpus).or_insert_with(|| {
                all = all.union(&thread.allowed_cpus);
                0.0
            });
            *seen += of_thread_s(thread);
        }
        Self { ran_s, all }
    }

    /// The part of a thread's waits that is due to other programs: at most the time that these ran on its CPUs.
    fn waited_for_strangers_s(&self, thread: &ThreadRecord, foreign_s: f64) -> f64 {
        let waited_s = thread.schedule.map_or(0.0, |spent| spent.waited_s);
        let own = &thread.allowed_cpus;
        let by_strangers_s = foreign_s * self.part(&self.all, own);
        let by_own_s: f64 = self.ran_s.iter().map(|(cpus, ran_s)| ran_s * self.part(cpus, own)).sum();
        // A thread does not wait for itself.
        let others_s = (by_own_s - of_thread_s(thread)).max(0.0) + by_strangers_s;
        if others_s > 0.0 { (waited_s * by_strangers_s / others_s).min(by_strangers_s) } else { 0.0 }
    }

    /// Share of `cpus` that lies in `own`; an unknown set counts as all CPUs.
    fn part(&self, cpus: &CpuSet, own: &CpuSet) -> f64 {
        let cpus = if cpus.is_empty() { &self.all } else { cpus };
        if cpus.is_empty() || own.is_empty() || cpus == own {
            return 1.0;
        }
        cpus.intersection(own).len() as f64 / cpus.len() as f64
    }
}

pub(super) fn of_thread_s(thread: &ThreadRecord) -> f64 {
    thread.schedule.map_or(thread.user_s + thread.system_s, |spent| spent.ran_s)
}

pub(super) fn foreign_s(sample: &SampleRecord, on_clients_host: bool) -> f64 {
    let of = |name: &str| sample.covariates.get(name).copied().filter(|s| s.is_finite()).unwrap_or(0.0).max(0.0);
    if on_clients_host { of(&format!("{CLIENT_HOST}{FOREIGN}")) } else { of(FOREIGN) }
}
