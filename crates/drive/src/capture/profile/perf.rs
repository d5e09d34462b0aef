//! `perf record` around the capture sample, `perf script` after it.

use super::super::place::{Captured, FOLDED_FILE, PROFILE_RECORDING, Place};
use super::control::{Control, end};
use super::{fold, reason, table};
use crate::capture::settings::CallGraph;
use std::process::{Child, Command, Stdio};
use tare_engine::{Unavailable, dies_with_parent};
use tare_results::captures::{FLAME_GRAPH, FOLDED, PROFILE};

/// What perf says, for as long as it runs.
const LOG: &str = "perf.log";
/// Samples a second over all PUs: enough for shares of 1% within a tenth of it in 10 s.
const SAMPLES_PER_S: f64 = 1_000.0;
/// Samples in all, so that a long sample fills no disk: each carries up to 16 KiB of stack.
const SAMPLES: f64 = 30_000.0;
/// Bytes of stack in a sample. Of perf's own default of 8 KiB, half of MariaDB's call chains have no beginning.
const STACK_BYTES: u32 = 16_384;

pub(in super::super) struct Profile {
    perf: Child,
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
        let log = place.folder.new_log(LOG).map_err(|e| Unavailable(format!("cannot write {LOG}: {e}")))?;
        let control = Control::new(place, "perf")?;
        let graph = match call_graph {
            CallGraph::Dwarf => format!("dwarf,{STACK_BYTES}"),
            CallGraph::FramePointers => "fp".to_owned(),
        };
        // Events are off until the control says so: attaching to hundreds of threads takes a while. No event is named:
        // perf takes cycles, and where there are none the CPU clock; without the kernel where it may not look there.
        let mut command = Command::new("perf");
        command
            .args(["record", "--delay", "-1", "--control", &control.argument()])
            .args(["-F", &frequency_hz.to_string(), "--call-graph", &graph, "--no-buildid", "-q"])
            .arg("-o")
            .arg(place.path(PROFILE_RECORDING))
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        match scope {
            Scope::Pus => command.arg("-a"),
            Scope::Threads => command.args(["-p", &pid.to_string()]),
        };
        dies_with_parent(&mut command);
        let perf = command.spawn().map_err(|e| reason::not_started(&e))?;
        let mut profile = Self { perf, pid, scope, place: place.clone(), frequency_hz, call_graph };
        match control.enable(&mut profile.perf) {
            Ok(()) => Ok(profile),
            Err(why) => {
                profile.kill();
                let said = std::fs::read_to_string(place.path(LOG)).unwrap_or_default();
                // What perf said is in the reason.
                place.remove(LOG);
                Err(reason::refused(&said, why))
            }
        }
    }

    /// Ends the recording; the data is complete afterwards.
    pub fn end(&mut self) -> Result<(), Unavailable> {
        let ended = end(&mut self.perf);
        if ended.is_err() {
            self.kill();
        }
        ended
    }

    fn kill(&mut self) {
        // It may have ended by itself in the meantime.
        let _ = self.perf.kill();
        let _ = self.perf.wait();
        // The recording of a killed perf has no index.
        self.place.remove(PROFILE_RECORDING);
    }

    /// Call chains, table and flame graph from the recording, which is then removed: it is large, and readable on this
    /// machine only.
    pub fn finish(self, captured: &mut Captured) {
        let place = &self.place;
        let made = fold::fold(place, PROFILE_RECORDING, self.pid);
        place.remove(PROFILE_RECORDING);
        place.remove(LOG);
        let made = match made {
            Ok(made) => made,
            Err(e) => {
                place.remove(FOLDED_FILE);
                captured.missing.insert(PROFILE.to_owned(), e.to_string());
                return;
            }
        };
        let mut table = table::table(&made);
        table.frequency_hz = self.frequency_hz;
        table.call_graph = if self.call_graph == CallGraph::Dwarf { "dwarf" } else { "fp" }.to_owned();
        table.scope = if self.scope == Scope::Pus { "pus" } else { "threads" }.to_owned();
        if !table.kernel {
            captured.missing.insert(format!("{PROFILE}.kernel"), reason::no_kernel());
        }
        captured.files.insert(FOLDED.to_owned(), place.relative(FOLDED_FILE));
        place.write_json(captured, PROFILE, "profile.json", &table);
        match fold::flame_graph(&made) {
            Ok(svg) => place.write(captured, FLAME_GRAPH, "profile.svg", &svg),
            Err(e) => drop(captured.missing.insert(FLAME_GRAPH.to_owned(), e.to_string())),
        }
    }
}

impl Drop for Profile {
    /// A trial that fails in its capture sample leaves no perf behind.
    fn drop(&mut self) {
        if matches!(self.perf.try_wait(), Ok(None)) {
            self.kill();
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

/// Samples a second and PU.
fn frequency_hz(sample_s: f64, pus: usize) -> u64 {
    let all = SAMPLES_PER_S.min(SAMPLES / sample_s.max(0.1));
    ((all / pus as f64) as u64).clamp(5, 997)
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
