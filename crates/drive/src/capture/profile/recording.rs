//! `perf record` during the capture sample, `perf script` after it.

use super::super::perf::{LOOK_INSIDE, Recording, advice};
use super::super::place::{Captured, FOLDED_FILE, PROFILE_RECORDING, Place};
use super::fold;
use crate::capture::settings::CallGraph;
use std::collections::BTreeSet;
use tare_cpuset::{ThreadRef, observe};
use tare_engine::Unavailable;
use tare_results::captures::{FLAME_GRAPH, FOLDED, PROFILE};

/// Samples per second over all logical CPUs. In 10 s they give a share of 1% with an error of a tenth of its value.
const SAMPLES_PER_S: f64 = 1_000.0;
/// Samples in all, so that a long sample does not fill the disk: each sample carries up to 16 KiB of stack.
const SAMPLES: f64 = 30_000.0;
/// Limit of the recording's size: enough for the samples above with perf's overhead per sample.
const LARGEST: &str = "640M";

pub(in super::super) struct Profile {
    recording: Recording,
    root: i32,
    /// All processes of the server that were seen: PostgreSQL has one for each connection.
    processes: BTreeSet<i32>,
    connections: BTreeSet<i32>,
    scope: Scope,
    place: Place,
    frequency_hz: u64,
    call_graph: CallGraph,
}

impl Profile {
    /// Starts perf on process `root` and its descendants, and returns when samples are taken.
    pub(crate) fn begin(
        place: &Place,
        call_graph: CallGraph,
        root: u32,
        connections: &[ThreadRef],
    ) -> Result<Self, Unavailable> {
        let begun = Self::begin_on(Scope::Pus, place, call_graph, root)
            .or_else(|_| Self::begin_on(Scope::Threads, place, call_graph, root))?;
        Ok(Self { connections: connections.iter().map(|thread| thread.tid).collect(), ..begun })
    }

    fn begin_on(scope: Scope, place: &Place, call_graph: CallGraph, root: u32) -> Result<Self, Unavailable> {
        let root = root.cast_signed();
        let processes = BTreeSet::from_iter(observe::with_descendants(root));
        let frequency_hz = frequency_hz(place.sample_s, std::thread::available_parallelism().map_or(1, usize::from));
        let (frequency, graph, pids) = (frequency_hz.to_string(), call_graph.argument(), list(&processes));
        // No event is named: perf chooses cycles, or the CPU clock where there are none, and leaves out the kernel
        // where it may not observe it.
        let mut arguments = vec!["record", "-F", &frequency, "--call-graph", &graph, "--max-size", LARGEST];
        match scope {
            Scope::Pus => arguments.push("-a"),
            Scope::Threads => arguments.extend(["-p", &pids]),
        }
        let recording = Recording::begin(place, PROFILE_RECORDING, &arguments, LOOK_INSIDE)?;
        let connections = BTreeSet::new();
        Ok(Self { recording, root, processes, connections, scope, place: place.clone(), frequency_hz, call_graph })
    }

    pub(crate) fn end(&mut self) -> Result<(), Unavailable> {
        self.processes.extend(observe::with_descendants(self.root));
        self.recording.end()
    }

    /// The folded chains of the threads that serve connections, which the server's other threads are no part of; none
    /// if perf took no sample of them.
    pub(crate) fn of_connections(&self) -> Option<String> {
        fold::of_threads(&self.recording.path(), &list(&self.connections))
    }

    /// Writes call chains, table and flame graph from the recording.
    pub(crate) fn finish(self, captured: &mut Captured) {
        let place = &self.place;
        let made = match fold::fold(place, &self.recording.path(), &list(&self.processes)) {
            Ok(made) => made,
            Err(e) => {
                place.remove(FOLDED_FILE);
                captured.missing.insert(PROFILE.to_owned(), e.to_string());
                return;
            }
        };
        let mut table = fold::table(&made);
        table.frequency_hz = self.frequency_hz;
        table.call_graph = self.call_graph.to_string();
        table.scope = if self.scope == Scope::Pus { "pus" } else { "threads" }.to_owned();
        if !table.kernel {
            captured.missing.insert(format!("{PROFILE}.kernel"), no_kernel());
        }
        captured.files.insert(FOLDED.to_owned(), place.relative(FOLDED_FILE));
        place.write_json(captured, PROFILE, "profile.json", &table);
        match fold::flame_graph(&made) {
            Ok(svg) => place.write(captured, FLAME_GRAPH, "profile.svg", &svg),
            Err(e) => drop(captured.missing.insert(FLAME_GRAPH.to_owned(), e.to_string())),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Samples every logical CPU, whatever runs there; the server's samples are selected afterwards. Needs root,
    /// CAP_PERFMON or kernel.perf_event_paranoid of 0 or less.
    Pus,
    /// Samples the server's threads. Their events are saved and restored at every context switch, which halves the
    /// throughput of a server that switches for every statement.
    Threads,
}

/// As perf reads several processes.
fn list(processes: &BTreeSet<i32>) -> String {
    processes.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}

fn frequency_hz(sample_s: f64, pus: usize) -> u64 {
    let all = SAMPLES_PER_S.min(SAMPLES / sample_s.max(0.1));
    ((all / pus as f64) as u64).clamp(5, 997)
}

fn no_kernel() -> String {
    format!("the profile excludes the kernel: {}", advice(LOOK_INSIDE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_machines_and_long_samples_are_sampled_more_rarely() {
        assert_eq!(frequency_hz(10.0, 2), 500);
        assert_eq!(frequency_hz(10.0, 8), 125);
        assert_eq!(frequency_hz(60.0, 8), 62);
        assert_eq!(frequency_hz(10.0, 1024), 5);
        assert_eq!(frequency_hz(0.0, 1), 997);
    }
}
