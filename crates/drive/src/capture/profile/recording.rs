//! `perf record` around the capture sample, `perf script` after it.

use super::super::perf::{LOOK_INSIDE, Recording, advice};
use super::super::place::{Captured, FOLDED_FILE, PROFILE_RECORDING, Place};
use super::fold;
use crate::capture::settings::CallGraph;
use tare_engine::Unavailable;
use tare_results::captures::{FLAME_GRAPH, FOLDED, PROFILE};

/// Samples a second over all PUs: enough for shares of 1% within a tenth of it in 10 s.
const SAMPLES_PER_S: f64 = 1_000.0;
/// Samples in all, so that a long sample fills no disk: each carries up to 16 KiB of stack.
const SAMPLES: f64 = 30_000.0;
/// A recording that holds more ends there: the samples above, with what perf adds to each.
const LARGEST: &str = "640M";

pub(in super::super) struct Profile {
    recording: Recording,
    pid: u32,
    scope: Scope,
    place: Place,
    frequency_hz: u64,
    call_graph: CallGraph,
}

impl Profile {
    /// Begins, and returns when samples are taken.
    pub fn begin(place: &Place, call_graph: CallGraph, pid: u32) -> Result<Self, Unavailable> {
        Self::begin_on(Scope::Pus, place, call_graph, pid)
            .or_else(|_| Self::begin_on(Scope::Threads, place, call_graph, pid))
    }

    fn begin_on(scope: Scope, place: &Place, call_graph: CallGraph, pid: u32) -> Result<Self, Unavailable> {
        let frequency_hz = frequency_hz(place.sample_s, std::thread::available_parallelism().map_or(1, usize::from));
        let (frequency, graph, pid_text) = (frequency_hz.to_string(), call_graph.argument(), pid.to_string());
        // No event is named: perf takes cycles, and where there are none the CPU clock; without the kernel where it may
        // not look there.
        let mut arguments = vec!["record", "-F", &frequency, "--call-graph", &graph, "--max-size", LARGEST];
        match scope {
            Scope::Pus => arguments.push("-a"),
            Scope::Threads => arguments.extend(["-p", &pid_text]),
        }
        let recording = Recording::begin(place, PROFILE_RECORDING, &arguments, LOOK_INSIDE)?;
        Ok(Self { recording, pid, scope, place: place.clone(), frequency_hz, call_graph })
    }

    /// Ends the recording; the data is complete afterwards.
    pub fn end(&mut self) -> Result<(), Unavailable> {
        self.recording.end()
    }

    /// Call chains, table and flame graph from the recording.
    pub fn finish(self, captured: &mut Captured) {
        let place = &self.place;
        let made = match fold::fold(place, &self.recording.path(), self.pid) {
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
    /// On every PU, whatever runs there; the server's are picked out afterwards. Needs root, CAP_PERFMON or
    /// kernel.perf_event_paranoid of 0 or less.
    Pus,
    /// In the server's threads: events move with every context switch, which halves the throughput of a server that
    /// switches for every statement.
    Threads,
}

fn frequency_hz(sample_s: f64, pus: usize) -> u64 {
    let all = SAMPLES_PER_S.min(SAMPLES / sample_s.max(0.1));
    ((all / pus as f64) as u64).clamp(5, 997)
}

fn no_kernel() -> String {
    format!("the profile is without the kernel: {}", advice(LOOK_INSIDE))
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
