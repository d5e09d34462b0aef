//! Which counters, how many, how long, and the keys that say it.

use tare_counters_study::strategies::Strategy;
use tare_counters_study::workload::{MemoryScope, Mode, Padding};
use tare_text::{Key, Keyed};

/// Settings of the workload `counters`; see `tare-counters`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountersSettings {
    pub strategy: Strategy,
    pub generator: Mode,
    /// Whether a round works on data blocks.
    pub data_work: bool,
    /// Rounds a thread and sample.
    pub rounds: u64,
    pub counter_blocks: usize,
    pub counters_per_block: usize,
    /// Data blocks of 16 KiB.
    pub data_blocks: usize,
    /// Data steps a round; increments of global counters are ten times as many.
    pub steps: u64,
    /// How far apart the shards of a counter lie.
    pub padding: Padding,
    /// What the memory policy holds for.
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
        Key::words(
            "strategy",
            "how counters are kept: pthread-mutex, atomic, counter-set ... (tare-counters-study lists them; std-mutex is \
             Rust's, and libstdc++'s std::mutex is pthread-mutex)",
            |s| Some(s.strategy.to_string().into()),
            |s, v| v.parsed().map(|v| s.strategy = v),
        ),
        Key::words(
            "generator",
            "faithful: libc rand() and its lock, as published; corrected: a generator a thread",
            |s| Some(s.generator.to_string().into()),
            |s, v| v.parsed().map(|v| s.generator = v),
        ),
        Key::switch(
            "data_work",
            "on: a round works on data blocks as published; off: counters only",
            |s| s.data_work,
            |s, on| s.data_work = on,
        ),
        Key::whole("rounds", "rounds a thread and sample", (1, 1_000_000_000), |s| Some(s.rounds), |s, v| s.rounds = v),
        Key::whole(
            "counter_blocks",
            "blocks of global counters",
            (1, 1_000_000_000),
            |s| Some(s.counter_blocks as u64),
            |s, v| s.counter_blocks = v as usize,
        ),
        Key::whole(
            "counters_per_block",
            "global counters a block",
            (1, 1_000_000),
            |s| Some(s.counters_per_block as u64),
            |s, v| s.counters_per_block = v as usize,
        ),
        Key::whole(
            "data_blocks",
            "data blocks of 16 KiB, each with a counter of its own",
            (0, 1_000_000_000_000),
            |s| Some(s.data_blocks as u64),
            |s, v| s.data_blocks = v as usize,
        ),
        Key::whole(
            "steps",
            "data steps a round, and ten times as many increments of global counters",
            (1, 1_000_000),
            |s| Some(s.steps),
            |s, v| s.steps = v,
        ),
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
        Key::words(
            "memory_scope",
            "what placement.memory holds for, or the interleaving over all nodes where it says default: payload: counters \
             and data, as the published argument numa; process: everything, as numactl --interleave=all",
            |s| Some(s.memory_scope.to_string().into()),
            |s, v| v.parsed().map(|v| s.memory_scope = v),
        ),
    ];
}
