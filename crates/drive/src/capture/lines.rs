//! Cache lines under contention between cores: memory accesses sampled during the capture sample. `perf mem record`
//! chooses the processor's own events. `perf script -F pid,tid,cpu,addr,data_src,ip,sym,dso` writes one access per
//! line, in one format for Intel, AMD and Arm: `data_src` is a number that the kernel defines for all processors
//! (`perf_mem_data_src` of linux/perf_event.h).

use super::frames::frame;
use super::perf::{ALL_CPUS, Perf, Recording, next_line, unreadable};
use super::place::{Captured, LINES_RECORDING, Place};
use super::shared_lines::{Access, Accesses, Memory};
use super::waits::Addresses;
use crate::sut::SideThreads;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use tare_cpuset::observe;
use tare_engine::{Unavailable, interrupted};
use tare_results::cache_lines::{LINES, LineCounts, NO_SAMPLING, SharedLines};
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

pub(super) struct Lines {
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

/// Minimum number of hexadecimal digits of an instruction's address: the kernel maps nothing below 0x10000. perf's own
/// words have fewer.
const ADDRESS_DIGITS: usize = 5;

/// Parses a line such as `7/9 [003] 7f00c0ffee40 2a1e8042 |OP LOAD|LVL ... |BLK  N/A 55d0c1 name (program)`. Returns
/// None for a line that is not an access with a known address.
pub(super) fn access(line: &str) -> Option<Access> {
    let (ids, rest) = word(line)?;
    let (pid, tid) = ids.split_once('/')?;
    let (cpu, rest) = word(rest)?;
    let (address, rest) = word(rest)?;
    let (source, mut rest) = word(rest)?;
    let address = u64::from_str_radix(address, 16).ok().filter(|address| *address > 0)?;
    let counts = counts(u64::from_str_radix(source, 16).ok()?)?;
    // perf decodes the number into words and truncates them when they are too long; the instruction follows.
    let function = loop {
        let (first, after) = word(rest)?;
        if is_address(first) {
            break frame(rest.trim())?;
        }
        rest = after;
    };
    Some(Access {
        pid: pid.parse().ok()?,
        tid: tid.parse().ok()?,
        cpu: cpu.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?,
        address,
        counts,
        function,
    })
}

fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn is_address(word: &str) -> bool {
    word.len() >= ADDRESS_DIGITS && word.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
}

/// Decodes `data_src`; None if the access is neither a load nor a store.
fn counts(source: u64) -> Option<LineCounts> {
    let has = |shift: u32, bit: u64| source >> shift & bit != 0;
    let (load, store) = (has(0, 0x02), has(0, 0x04));
    // A load by an instruction that locks the line also writes it.
    let locked = has(24, 0x02);
    // Modified in another core's cache (Intel, AMD), or supplied by another core's cache (Arm).
    let found = load && (has(19, 0x10) || has(38, 0x02));
    let remote = is_remote(source);
    (load || store).then(|| LineCounts {
        loads: load.into(),
        stores: (store || load && locked).into(),
        found_local: (found && !remote).into(),
        found_remote: (found && remote).into(),
    })
}

/// Whether the data came from another node. Processors that count hops also report a hop for another core of the same
/// node (1); the others set the remote bit, or name a remote level and no local one.
fn is_remote(source: u64) -> bool {
    const L3: u64 = 0x40;
    const REMOTE_LEVELS: u64 = 0xf00;
    let (level, hops) = (source >> 5 & 0x3fff, source >> 43 & 0x07);
    match hops {
        0 => source >> 37 & 1 == 1 || level & REMOTE_LEVELS != 0 && level & L3 == 0,
        hops => hops > 1,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOAD: u64 = 0x02;
    const STORE: u64 = 0x04;
    const HIT: u64 = 0x02 << 5;
    const L3: u64 = 0x40 << 5;
    const REMOTE_CACHE: u64 = 0x400 << 5;
    const REMOTE_CACHE_2: u64 = 0x800 << 5;
    const REMOTE_RAM: u64 = 0x100 << 5;
    const MODIFIED: u64 = 0x10 << 19;
    const LOCKED: u64 = 0x02 << 24;
    const REMOTE: u64 = 1 << 37;
    const PEER: u64 = 0x02 << 38;

    fn hops(distance: u64) -> u64 {
        (distance + 1) << 43
    }

    /// As the kernel and perf encode them: found on the same node, on another node, not in another cache, and a write.
    pub(crate) const INTEL: [u64; 4] =
        [LOAD | L3 | HIT | MODIFIED, LOAD | REMOTE_CACHE | HIT | MODIFIED, LOAD | L3 | HIT, STORE | HIT | 0x08 << 5];
    /// As encoded for Zen 4.
    pub(crate) const AMD: [u64; 4] = [
        LOAD | REMOTE_CACHE | HIT | REMOTE | MODIFIED | 1 << 43,
        LOAD | REMOTE_CACHE_2 | HIT | REMOTE | MODIFIED | 2 << 43,
        LOAD | L3 | HIT,
        STORE | 0x01 << 19,
    ];
    /// As encoded for Neoverse cores, which do not report whether a line was modified.
    pub(crate) const ARM: [u64; 4] =
        [LOAD | L3 | HIT | PEER, LOAD | REMOTE_RAM | HIT | REMOTE | PEER, LOAD | L3 | HIT, STORE | 0x01 << 5];

    /// A line as perf 6.1 prints it.
    pub(crate) fn line(pid: u32, tid: u32, cpu: u32, address: u64, source: u64, function: &str) -> String {
        let words = "|OP LOAD|LVL Any cache hit|SNP HitM|TLB L1 or L2 hit|LCK No|BLK  N/A    ";
        format!("{pid:>5}/{tid:<5} [{cpu:03}] {address:>16x} {source:>16x} {words} 55fcdb203db2 {function}\n")
    }

    #[test]
    fn sampled_accesses_of_every_kind_of_processor_are_parsed() {
        let all = |loads, stores, found_local, found_remote| LineCounts { loads, stores, found_local, found_remote };
        for sources in [INTEL, AMD, ARM] {
            let found = sources.map(|source| counts(source).unwrap());
            assert_eq!(found, [all(1, 0, 1, 0), all(1, 0, 0, 1), all(1, 0, 0, 0), all(0, 1, 0, 0)]);
        }
        // Zen 3 names both levels, Skylake may set only the bit; an atomic instruction reads and writes.
        assert_eq!(counts(LOAD | L3 | REMOTE_CACHE | HIT | MODIFIED | hops(0)), Some(all(1, 0, 1, 0)));
        assert_eq!(counts(LOAD | L3 | REMOTE_CACHE | HIT | MODIFIED), Some(all(1, 0, 1, 0)));
        assert_eq!(counts(LOAD | HIT | REMOTE | MODIFIED), Some(all(1, 0, 0, 1)));
        assert_eq!(counts(LOAD | LOCKED | L3 | HIT | MODIFIED), Some(all(1, 1, 1, 0)));
        // Neither load nor store, as for a sample of the clock.
        assert_eq!(counts(0x1e_0508_0021), None);
    }

    #[test]
    fn access_lines_are_parsed_whatever_the_function_names() {
        let name = "row_sel(a|b, c d) (/usr/sbin/mariadbd)";
        let found = access(&line(7, 9, 130, 0x7f00_c0ff_ee48, INTEL[1], name)).unwrap();
        assert_eq!((found.pid, found.tid, found.cpu, found.address), (7, 9, 130, 0x7f00_c0ff_ee48));
        assert_eq!((found.function.as_str(), found.counts.found_remote), ("row_sel", 1));
        // Words that perf truncated, words of an older perf, and none at all.
        for words in ["|OP LOAD|LVL Remote Any ca", "Remote Cache (1 hop) hit|SNP HitM|TLB N/A|LCK N/A", ""] {
            let text = format!("1/1 [0] ffff888100 {:x} {words} ffffffff81001 lock ([kernel.kallsyms])", AMD[0]);
            let found = access(&text).unwrap();
            assert_eq!((found.function.as_str(), found.counts.found_local), ("lock_[k]", 1), "{words}");
        }
        for none in [
            "",
            "7/9 [001] 0 68100142 |OP LOAD 55fcdb203db2 f (x)",
            "7/9 [001] 7f00 68100142 |OP LOAD",
            "7 [001] 7f00 68100142 55fcdb203db2 f (x)",
            "7/9 001 7f00 68100142 55fcdb203db2 f (x)",
            "7/9 [001] 7f00 1e05080021 |OP N/A 55fcdb203db2 f (x)",
            "7/9 [001] 7f001122334455667788 68100142 55fcdb203db2 f (x)",
        ] {
            assert_eq!(access(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in "[0-9a-f/ \\[\\]|().é]{0,160}", source in any::<u64>()) {
            let _ = (access(&line), counts(source), is_remote(source));
            let _ = access(&format!("1/2 [3] ff8 {source:x} {line}"));
        }
    }

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
