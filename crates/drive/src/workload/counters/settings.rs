//! Which counters, how many, how long.

use tare_counters_study::strategies::Strategy;
use tare_counters_study::workload::{MemoryScope, Mode, Padding};

/// Settings of the workload `counters`; see `tare-counters`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountersSettings {
    pub strategy: Strategy,
    pub generator: Mode,
    /// Whether a round works on data blocks.
    pub data_work: bool,
    /// Rounds a thread and sample.
    pub rounds: u64,
    /// Blocks of counters that there are.
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
