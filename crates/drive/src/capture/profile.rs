//! A sampled profile of the server as folded call chains, taken with `perf`: hardware cycles if available, otherwise
//! the CPU clock.

use super::frames::{self, Chains, KERNEL};
use super::perf::{LOOK_INSIDE, Perf, Recording, advice, unreadable};
use super::place::{Captured, FOLDED_FILE, PROFILE_RECORDING, Place};
use super::settings::CallGraph;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tare_cpuset::{ThreadRef, observe};
use tare_engine::Unavailable;
use tare_results::captures::{FLAME_GRAPH, FOLDED, PROFILE, ProfileFile, SymbolShare};
use tare_results::schema::SCHEMA;

/// Samples per second over all logical CPUs. In 10 s they give a share of 1% with an error of a tenth of its value.
const SAMPLES_PER_S: f64 = 1_000.0;
/// Samples in all, so that a long sample does not fill the disk: each sample carries up to 16 KiB of stack.
const SAMPLES: f64 = 30_000.0;
/// Limit of the recording's size: enough for the samples above with perf's overhead per sample.
const LARGEST: &str = "640M";

pub(super) struct Profile {
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
        of_threads(&self.recording.path(), &list(&self.connections))
    }

    /// Writes call chains, table and flame graph from the recording.
    pub(crate) fn finish(self, captured: &mut Captured) {
        let place = &self.place;
        let made = match fold(place, &self.recording.path(), &list(&self.processes)) {
            Ok(made) => made,
            Err(e) => {
                place.remove(FOLDED_FILE);
                captured.missing.insert(PROFILE.to_owned(), e.to_string());
                return;
            }
        };
        let mut table = table(&made);
        table.frequency_hz = self.frequency_hz;
        table.call_graph = self.call_graph.to_string();
        table.scope = if self.scope == Scope::Pus { "pus" } else { "threads" }.to_owned();
        if !table.kernel {
            captured.missing.insert(format!("{PROFILE}.kernel"), no_kernel());
        }
        captured.files.insert(FOLDED.to_owned(), place.relative(FOLDED_FILE));
        place.write_json(captured, PROFILE, "profile.json", &table);
        match flame_graph(&made) {
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

const FIELDS: &str = "-F";
const OF_SAMPLES: &str = "event,period,ip,sym,dso";

/// Reads the samples of these processes (a list as for perf) with `perf script`, which resolves symbols, and writes
/// the folded chains.
pub(super) fn fold(place: &Place, recording: &Path, pids: &str) -> Result<Chains, Unavailable> {
    let script = Perf::script(recording, &[FIELDS, OF_SAMPLES, "--pid", pids])?;
    let chains = frames::read(script).map_err(unreadable)?;
    if chains.samples == 0 {
        return Err(Unavailable("perf took no sample of the server".to_owned()));
    }
    let written = place.folder.write(FOLDED_FILE, text(&chains).as_bytes());
    written.map_err(|e| Unavailable(format!("cannot be written: {}", std::io::Error::from(e))))?;
    Ok(chains)
}

/// The folded chains of these threads (a list as for perf).
fn of_threads(recording: &Path, tids: &str) -> Option<String> {
    let script = Perf::script(recording, &[FIELDS, OF_SAMPLES, "--tid", tids]).ok()?;
    let chains = frames::read(script).ok().filter(|chains| chains.samples > 0)?;
    Some(text(&chains))
}

fn text(chains: &Chains) -> String {
    chains.weights.iter().map(|(chain, weight)| format!("{chain} {weight}\n")).collect()
}

fn flame_graph(chains: &Chains) -> Result<Vec<u8>, Unavailable> {
    let mut options = inferno::flamegraph::Options::default();
    options.title = format!("{}, {} samples", chains.event, chains.samples);
    // The weight of a sample is the number of events since the sample before.
    options.count_name = chains.event.split(':').next().unwrap_or("samples").to_owned();
    // Percent. Narrower boxes are invisible, and they are four fifths of the boxes of a large program.
    options.min_width = 0.1;
    let mut svg = Vec::new();
    inferno::flamegraph::from_lines(&mut options, text(chains).lines(), &mut svg)
        .map_err(|e| Unavailable(format!("no flame graph: {e}")))?;
    Ok(svg)
}

/// Symbols whose total share, including the functions that they call, is smaller are left out as noise.
const SMALLEST: f64 = 1.0 / 5_000.0;
const LISTED: usize = 600;

/// The table of symbols, largest shares first; the caller adds how the samples were taken.
pub(super) fn table(chains: &Chains) -> ProfileFile {
    let mut symbols: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    let mut weight = 0;
    for (chain, count) in &chains.weights {
        weight += count;
        let frames: Vec<&str> = chain.split(';').collect();
        // A recursive function is counted once per sample.
        for frame in frames.iter().copied().collect::<BTreeSet<_>>() {
            symbols.entry(frame).or_default().1 += count;
        }
        if let Some(last) = frames.last() {
            symbols.entry(last).or_default().0 += count;
        }
    }
    let share = |count: u64| if weight == 0 { 0.0 } else { count as f64 / weight as f64 };
    let kernel = symbols.keys().any(|symbol| symbol.ends_with(KERNEL));
    let mut table: Vec<SymbolShare> = symbols
        .into_iter()
        .map(|(symbol, (own, total))| SymbolShare {
            symbol: symbol.to_owned(),
            self_fraction: share(own),
            total_fraction: share(total),
        })
        .filter(|row| row.total_fraction >= SMALLEST)
        .collect();
    table.sort_by(|a, b| {
        b.self_fraction
            .total_cmp(&a.self_fraction)
            .then(b.total_fraction.total_cmp(&a.total_fraction))
            .then_with(|| a.symbol.cmp(&b.symbol))
    });
    table.truncate(LISTED);
    ProfileFile {
        schema: SCHEMA,
        event: chains.event.clone(),
        frequency_hz: 0,
        call_graph: String::new(),
        scope: String::new(),
        kernel,
        samples: chains.samples,
        symbols: table,
    }
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

    #[test]
    fn a_flame_graph_shows_every_function_of_the_chains() {
        let weights = [("serve;planted".to_owned(), 2), ("serve;planted;futex_[k]".to_owned(), 1)].into();
        let chains = Chains { event: "cpu-clock:H".into(), samples: 3, weights };
        assert_eq!(text(&chains), "serve;planted 2\nserve;planted;futex_[k] 1\n");
        let svg = String::from_utf8(flame_graph(&chains).unwrap()).unwrap();
        for name in ["serve", "planted", "futex", "3 samples"] {
            assert!(svg.contains(name), "{name}");
        }
    }

    #[test]
    fn a_symbol_has_its_own_share_and_the_share_with_its_callees() {
        let weights = BTreeMap::from([
            ("main;serve;lock".to_owned(), 6),
            ("main;serve".to_owned(), 1),
            // Recursion: serve is counted once in this sample.
            ("main;serve;serve;lock;futex_[k]".to_owned(), 3),
        ]);
        let found = table(&Chains { event: "cycles".into(), samples: 4, weights });
        let of = |name: &str| found.symbols.iter().find(|s| s.symbol == name).unwrap();
        assert_eq!((found.samples, found.kernel), (4, true));
        assert_eq!((of("lock").self_fraction, of("lock").total_fraction), (0.6, 0.9));
        assert_eq!((of("serve").self_fraction, of("serve").total_fraction), (0.1, 1.0));
        assert_eq!(of("futex_[k]").self_fraction, 0.3);
        assert_eq!(found.symbols[0].symbol, "lock");
        let user = table(&Chains { samples: 1, weights: [("main".to_owned(), 1)].into(), ..Chains::default() });
        assert!(!user.kernel);
    }
}
