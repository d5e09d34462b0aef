//! What a run found.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// From the first thread's start of its first round to the last thread's end of its last, s.
    pub elapsed_s: f64,
    /// CPU time of the process in that span, user and system, s.
    pub cpu_s: f64,
    pub rounds_per_s: f64,
    /// ns a thread takes for one increment and its share of everything else in a round: elapsed over the increments of
    /// one thread (256 a round of 16 steps; 160 without data work). Threads that share CPUs wait for each other in it.
    pub ns_per_increment: f64,
    /// Increments of global counters made: threads x rounds x 160 (ten times the steps).
    pub expected: u64,
    /// Their sum, read after every thread ended.
    pub counted: u64,
    /// Increments of data blocks' counters made: threads x rounds x 96 (six times the steps), or 0 without data work.
    pub local_expected: u64,
    /// The sum of what threads counted by themselves.
    pub local_counted: u64,
    /// Bytes a global counter takes, on average, at the end. Without the allocator's own.
    pub bytes_per_counter: f64,
    /// ns to read all global counters once, right after the rounds, while the threads still hold what they hold.
    pub full_read_ns: f64,
    /// Share of the threads' time spent in the locked generator, estimated by timing every 64th call (so a long wait
    /// counts 64 times or not at all; at most 1). None in the corrected mode,
    /// whose generator takes less than a clock can tell.
    pub generator_share: Option<f64>,
    /// Pages that hold global counters, by the node on which they lie: of all their shards, slots and rows that were
    /// written. Empty where the kernel does not tell.
    pub counter_pages: BTreeMap<u32, u64>,
    /// Pages of data blocks, by the node on which they lie; of every so many-th block where there are more than 4096.
    pub data_pages: BTreeMap<u32, u64>,
    /// Why memory could not be interleaved over the nodes; None when it was.
    pub not_interleaved: Option<String>,
}

impl Outcome {
    /// Increments of global counters lost, as a share of those made. Below 0 if more were counted than made.
    pub fn loss(&self) -> f64 {
        if self.expected == 0 { 0.0 } else { 1.0 - self.counted as f64 / self.expected as f64 }
    }
}
