//! Which counters, how many, how long, and the keys that say it.

use tare_counters_study::strategies::Strategy;
use tare_counters_study::workload::{MemoryScope, Mode, Padding};
use tare_text::{Key, Keyed, key};

/// Settings of the workload `counters`; see `tare-counters`.
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
    /// Data steps a round; increments of global counters are ten times as many.
    pub steps: u64,
    /// How far apart the shards of a counter lie.
    pub padding: Padding,
    pub memory_scope: MemoryScope,
}

impl Default for CountersSettings {
    /// The article's numbers, but for the million data blocks (16 GB) that few machines can spare.
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
            "faithful: libc rand() and its lock, as published; corrected: a generator a thread"),
        key!(switch "data_work" in data_work, "on: a round works on data blocks as published; off: counters only"),
        key!(whole "rounds" in rounds, (1, 1_000_000_000), "rounds a thread and sample"),
        key!(whole "counter_blocks" in counter_blocks, (1, 1_000_000_000), "blocks of global counters"),
        key!(whole "counters_per_block" in counters_per_block, (1, 1_000_000), "global counters a block"),
        key!(whole "data_blocks" in data_blocks, (0, 1_000_000_000_000),
            "data blocks of 16 KiB, each with a counter of its own"),
        key!(whole "steps" in steps, (1, 1_000_000),
            "data steps a round, and ten times as many increments of global counters"),
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
            "what placement.memory holds for, or the interleaving over all nodes where it says default: payload: counters \
             and data, as the published argument numa; process: everything, as numactl --interleave=all"),
    ];
}
