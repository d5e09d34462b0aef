//! The counters, their number, the rounds, and the keys of a study for them.

use crate::workload::{Load, TrialSize};
use std::sync::OnceLock;
use tare_counters_study::strategies::Strategy;
use tare_counters_study::workload::{Hooks, MemoryScope, Mode, Padding, run};
use tare_text::{Key, Keyed, key};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountersSettings {
    pub strategy: Strategy,
    pub generator: Mode,
    pub data_work: bool,
    pub rounds: u64,
    pub counter_blocks: usize,
    pub counters_per_block: usize,
    /// Data blocks of 16 KiB.
    pub data_blocks: usize,
    /// Data steps per round; increments of global counters are ten times as many.
    pub steps: u64,
    /// Distance between the shards of a counter.
    pub padding: Padding,
    pub memory_scope: MemoryScope,
}

impl Default for CountersSettings {
    /// The values of "NUMA Smart Global Counter", except its million data blocks (16 GB), which few machines can hold.
    fn default() -> Self {
        Self {
            strategy: Strategy::CounterSet,
            generator: Mode::Corrected,
            data_work: true,
            rounds: 1000,
            counter_blocks: 100,
            counters_per_block: 10,
            data_blocks: 10_000,
            steps: 16,
            padding: Padding::Line,
            memory_scope: MemoryScope::Payload,
        }
    }
}

impl Keyed for CountersSettings {
    const KEYS: &'static [Key<Self>] = &[
        key!(words "strategy" in strategy,
            "how counters are kept: pthread-mutex, atomic, counter-set ... (tare-counters-study lists them; std-mutex is \
             Rust's, and libstdc++'s std::mutex is pthread-mutex)"),
        key!(words "generator" in generator,
            "faithful: libc rand() and its lock, as published; corrected: one generator per thread"),
        key!(switch "data_work" in data_work, "on: a round works on data blocks as published; off: counters only"),
        key!(whole "rounds" in rounds, (1, 1_000_000_000), "rounds per thread and sample"),
        key!(whole "counter_blocks" in counter_blocks, (1, 1_000_000_000), "blocks of global counters"),
        key!(whole "counters_per_block" in counters_per_block, (1, 1_000_000), "global counters per block"),
        key!(whole "data_blocks" in data_blocks, (0, 1_000_000_000_000),
            "data blocks of 16 KiB, each with its own counter"),
        key!(whole "steps" in steps, (1, 1_000_000),
            "data steps per round, and ten times as many increments of global counters"),
        Key::words(
            "padding",
            "bytes from a shard or slot of a counter to the next: 8, 64 (as published) or 128",
            |s| Some(s.padding.bytes().into()),
            |s, v| {
                let bytes = v.whole(1, 128)?;
                s.padding = Padding::of(bytes).ok_or_else(|| "8, 64 or 128 bytes".to_owned())?;
                Ok(())
            },
        ),
        key!(words "memory_scope" in memory_scope,
            "what placement.memory applies to (default: interleaved over all nodes); payload: counters \
             and data, as the published argument numa; process: everything, as numactl --interleave=all"),
    ];
}

/// Total steps per second of all threads with libc's locked random generator: with 24 CPUs ("NUMA Smart Global
/// Counter": 4,650 rounds of 16 steps), and the exponent by which it falls with the number of CPUs that contend for
/// the lock (2 of an AMD EPYC: 9,200 rounds).
const LOCKED_ON_24: f64 = 4600.0 * 16.0;
const LOCKED_FALLS: f64 = 0.28;
/// Bytes per second of first-touch memory: 1.5e9 on a Xeon of 2.1 GHz, 3e9 on an EPYC.
const TOUCHED: f64 = 2.2e9;
/// Seconds from a trial's start to its first round; seconds per sample to start threads and to inspect pages.
const TRIAL_S: f64 = 0.02;
const SAMPLE_S: f64 = 0.005;

/// Data blocks of the timing run, which should be short; data that fits no cache takes a tenth to a sixth longer.
const TIMED_BLOCKS: usize = 300;
const TIMINGS: usize = 3;

/// A timing run, with or without data work, and the CPU seconds of a step that are assumed if it fails: 16 steps take
/// 0.38 ms on a Xeon, 0.17 ms on an EPYC.
struct Timed {
    data_work: bool,
    rounds: u64,
    usual_s: f64,
    found: OnceLock<f64>,
}

static WITH_DATA: Timed = Timed { data_work: true, rounds: 20, usual_s: 2.6e-4 / 16.0, found: OnceLock::new() };
static BARE: Timed = Timed { data_work: false, rounds: 200, usual_s: 1e-5 / 16.0, found: OnceLock::new() };

impl Timed {
    /// CPU seconds of a step on this machine: the differences between machines are too large for a constant. The
    /// minimum of a few runs, as others may use the CPU; once per process, so that all conditions are estimated alike.
    fn step_s(&self) -> f64 {
        *self.found.get_or_init(|| {
            let settings = CountersSettings {
                data_work: self.data_work,
                rounds: self.rounds,
                data_blocks: TIMED_BLOCKS,
                ..CountersSettings::default()
            };
            let config = settings.config(1, 1, Hooks::NONE);
            let taken = (0..TIMINGS).filter_map(|_| Some(run(&config).ok()?.elapsed_s)).fold(f64::INFINITY, f64::min);
            let step_s = taken / (config.rounds * config.steps) as f64;
            if step_s.is_finite() && step_s > 0.0 { step_s } else { self.usual_s }
        })
    }
}

impl CountersSettings {
    pub(super) fn trial_s(&self, counts: &TrialSize) -> f64 {
        let touched_s = self.memory_bytes(counts.threads) as f64 / TOUCHED;
        TRIAL_S + counts.samples as f64 * (SAMPLE_S + touched_s + self.rounds_s(counts))
    }

    /// Expected seconds of all rounds of a sample.
    fn rounds_s(&self, counts: &TrialSize) -> f64 {
        let steps = self.rounds as f64 * self.steps as f64 * counts.threads as f64;
        let timed = if self.data_work { &WITH_DATA } else { &BARE };
        let at_once = counts.threads.min(counts.cpus).max(1) as f64;
        let locked = LOCKED_ON_24 * (24.0 / at_once).powf(LOCKED_FALLS);
        let least = if self.generator == Mode::Faithful && at_once > 1.0 { steps / locked } else { 0.0 };
        (steps * timed.step_s() / at_once).max(least)
    }
}
