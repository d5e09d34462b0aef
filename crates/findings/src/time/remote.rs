//! How much of its work a server does on another NUMA node than its memory.

use tare_results::covariate::{SERVER_MEMORY, SERVER_POOL};
use tare_results::schema::{SampleRecord, ThreadClass, ThreadRecord, TrialRecord};
use tare_topology::Machine;

/// Share of the CPU time of a trial's connections away from their memory: each thread is weighted by the nodes where it
/// was observed, and each node by the share of the memory on other nodes. None if unknown, and with one node.
pub(super) fn share(trial: &TrialRecord, machine: &Machine) -> Option<f64> {
    if machine.nodes.iter().filter(|node| !node.cpus.is_empty()).count() < 2 {
        return None;
    }
    let [mut all_s, mut remote_s] = [0.0; 2];
    for sample in &trial.samples {
        let remote = remote_of_nodes(sample, machine)?;
        for thread in sample.threads.iter().filter(|thread| thread.class == ThreadClass::Connection) {
            let Some(share) = remote_of_thread(thread, machine, &remote) else { continue };
            let ran_s = thread.schedule.map_or(thread.user_s + thread.system_s, |spent| spent.ran_s);
            all_s += ran_s;
            remote_s += ran_s * share;
        }
    }
    (all_s > 0.0).then(|| remote_s / all_s)
}

/// For each node of the machine, the share of the server's memory on other nodes.
fn remote_of_nodes(sample: &SampleRecord, machine: &Machine) -> Option<Vec<f64>> {
    let of = |name: String| sample.covariates.get(&name).copied().unwrap_or(0.0).max(0.0);
    let bytes_on = |node: u32| of(SERVER_MEMORY.name_at(node)) + of(SERVER_POOL.name_at(node));
    let bytes: Vec<f64> = machine.nodes.iter().map(|node| bytes_on(node.os_index)).collect();
    let all: f64 = bytes.iter().sum();
    (all > 0.0 && all.is_finite()).then(|| bytes.iter().map(|own| 1.0 - own / all).collect())
}

fn remote_of_thread(thread: &ThreadRecord, machine: &Machine, remote: &[f64]) -> Option<f64> {
    let [mut seen, mut elsewhere] = [0.0; 2];
    for (cpu, times) in &thread.seen_cpus {
        let cpu = u32::try_from(*cpu).ok()?;
        let node = machine.nodes.iter().position(|node| node.cpus.contains(cpu))?;
        seen += *times as f64;
        elsewhere += *times as f64 * remote.get(node)?;
    }
    (seen > 0.0).then(|| elsewhere / seen)
}
