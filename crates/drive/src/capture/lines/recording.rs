//! `perf mem record` during the capture sample; `perf script` reads the recording afterwards.

use super::super::perf::{ALL_CPUS, Perf, Recording, next_line, unreadable};
use super::super::place::{Captured, LINES_RECORDING, Place};
use super::super::waits::Addresses;
use super::access::access;
use super::shared::{Accesses, Memory};
use crate::sut::SideThreads;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use tare_cpuset::observe;
use tare_engine::{Unavailable, interrupted};
use tare_results::cache_lines::{LINES, NO_SAMPLING, SharedLines};
use tare_topology::Machine;

/// Limits: number of samples read, and size of the recording, which holds more than that.
const SAMPLES: usize = 1_000_000;
const LARGEST: &str = "256M";
/// Messages of different perf versions when the processor has no event for memory accesses.
const NOT_SUPPORTED: [&str; 3] =
    ["memory events not supported", "no PMU supports the memory events", "' not supported"];
/// Event sources (PMUs) of the kernel, below the root directory.
const SOURCES: &str = "sys/bus/event_source/devices";
const SYSTEM: &str = "/sys/devices/system";
const USUAL_LINE_BYTES: u64 = 64;

/// Whether this processor samples memory accesses, decided as perf decides it.
pub fn offered() -> bool {
    offered_under(Path::new("/"))
}

fn offered_under(root: &Path) -> bool {
    let sources = fs::read_dir(root.join(SOURCES)).into_iter().flatten().filter_map(Result::ok);
    sources.into_iter().any(|source| {
        let name = source.file_name();
        // Intel has events of its core PMU; AMD and Arm have separate PMUs.
        name == "ibs_op"
            || name.to_string_lossy().starts_with("arm_spe_")
            || source.path().join("events/mem-loads").exists()
    })
}

pub(in super::super) struct Lines {
    recording: Recording,
    /// Processes of the server, and threads of the clients.
    server: BTreeSet<u32>,
    clients: BTreeSet<u32>,
    addresses: Addresses,
}

impl Lines {
    /// Starts perf, and returns when samples are taken.
    pub(crate) fn begin(place: &Place, server: u32, threads: &SideThreads) -> Result<Self, Unavailable> {
        let processes = observe::with_descendants(server.cast_signed()).into_iter().map(i32::unsigned_abs).collect();
        let clients = threads.clients.iter().map(|thread| thread.tid.unsigned_abs()).collect();
        let frequency = frequency_hz(place.sample_s, std::thread::available_parallelism().map_or(1, usize::from));
        let arguments = ["mem", "record", "-a", "-F", &frequency.to_string(), "--max-size", LARGEST];
        let begun = Recording::begin(place, LINES_RECORDING, &arguments, ALL_CPUS).map_err(|why| {
            let no_event = NOT_SUPPORTED.iter().any(|words| why.0.contains(words));
            if no_event { Unavailable(NO_SAMPLING.to_owned()) } else { why }
        })?;
        Ok(Self { recording: begun, server: processes, clients, addresses: Addresses::default() })
    }

    /// Ends the recording, and notes the memory maps while the server still runs.
    pub(crate) fn end(&mut self) -> Result<(), Unavailable> {
        self.recording.end()?;
        for pid in self.server.iter().copied().chain([std::process::id()]) {
            self.addresses.note(pid.cast_signed());
        }
        Ok(())
    }

    pub(crate) fn finish(mut self, captured: &mut Captured) {
        match self.read() {
            Ok(lines) => captured.lines = Some(lines),
            Err(e) => drop(captured.missing.insert(LINES.to_owned(), e.to_string())),
        }
    }

    fn read(&mut self) -> Result<SharedLines, Unavailable> {
        // perf decodes an Arm recording into several kinds of samples; M selects memory accesses.
        let fields = ["--itrace=M", "-F", "pid,tid,cpu,addr,data_src,ip,sym,dso"];
        let mut output = Perf::script(&self.recording.path(), &fields)?;
        let mut all = Accesses::default();
        let mut line = Vec::new();
        while all.len() < SAMPLES && !interrupted() {
            let Some(text) = next_line(&mut output, &mut line).map_err(unreadable)? else { break };
            let access = access(&text);
            let ours = |pid: u32, tid: u32| self.server.contains(&pid) || self.clients.contains(&tid);
            access.filter(|access| ours(access.pid, access.tid)).into_iter().for_each(|access| all.add(access));
        }
        if all.len() == 0 {
            return Err(Unavailable("perf sampled no access of the server or its clients".to_owned()));
        }
        let cut = all.len() >= SAMPLES || output.limit() == 0;
        let machine = Machine::this().map_err(|e| Unavailable(format!("the CPUs of the memory nodes: {e}")))?;
        let mut memory = Known { addresses: &mut self.addresses, nodes: nodes(&machine) };
        Ok(all.shared(line_bytes(Path::new(SYSTEM)), cut, &mut memory))
    }
}

/// Samples per second and CPU, low enough that the whole recording can be read; loads and stores are two events.
fn frequency_hz(sample_s: f64, cpus: usize) -> u64 {
    (SAMPLES as f64 / 2.0 / sample_s.max(0.1) / cpus.max(1) as f64).clamp(50.0, 4_000.0) as u64
}

struct Known<'a> {
    addresses: &'a mut Addresses,
    nodes: BTreeMap<u32, u32>,
}

impl Memory for Known<'_> {
    fn name(&mut self, pid: u32, address: u64) -> String {
        self.addresses.name(pid.cast_signed(), address)
    }

    fn is_shared(&mut self, pid: u32, address: u64) -> bool {
        self.addresses.is_shared(pid.cast_signed(), address)
    }

    fn node(&self, cpu: u32) -> u32 {
        self.nodes.get(&cpu).copied().unwrap_or(0)
    }
}

/// CPU -> NUMA node.
fn nodes(machine: &Machine) -> BTreeMap<u32, u32> {
    machine.nodes.iter().flat_map(|node| node.cpus.iter().map(|cpu| (cpu, node.os_index))).collect()
}

fn line_bytes(system: &Path) -> u64 {
    let line_size = fs::read_to_string(system.join("cpu/cpu0/cache/index0/coherency_line_size")).ok();
    let bytes = line_size.and_then(|text| text.trim().parse().ok());
    bytes.filter(|bytes: &u64| bytes.is_power_of_two()).unwrap_or(USUAL_LINE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_that_sample_accesses_are_known() {
        for (source, expected) in [
            ("cpu/events/mem-loads", true),
            ("cpu_core/events/mem-loads", true),
            ("ibs_op/type", true),
            ("arm_spe_0/type", true),
            ("cpu/events/cycles", false),
            ("ibs_fetch/type", false),
            ("software/type", false),
        ] {
            let root = tempfile::tempdir().unwrap();
            assert!(!offered_under(root.path()));
            let path = root.path().join(SOURCES).join(source);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "1\n").unwrap();
            assert_eq!(offered_under(root.path()), expected, "{source}");
        }
    }

    #[test]
    fn nodes_and_the_cache_line_size_come_from_the_machine() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(line_bytes(root.path()), 64);
        let size = root.path().join("cpu/cpu0/cache/index0/coherency_line_size");
        fs::create_dir_all(size.parent().unwrap()).unwrap();
        fs::write(size, "128\n").unwrap();
        assert_eq!(line_bytes(root.path()), 128);
        let machine = Machine::synthetic("node:2 core:2 pu:1").unwrap();
        assert_eq!(nodes(&machine), [(0, 0), (1, 0), (2, 1), (3, 1)].into());
    }

    #[test]
    fn large_machines_are_sampled_more_rarely() {
        assert_eq!((frequency_hz(1.0, 8), frequency_hz(10.0, 64), frequency_hz(60.0, 1024)), (4000, 781, 50));
    }
}
