//! The results of a run.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// From the start of the first round of the first thread to the end of the last round of the last thread, s.
    pub elapsed_s: f64,
    /// CPU time of the process in that interval, user and system, s.
    pub cpu_s: f64,
    pub rounds_per_s: f64,
    /// Time of one increment and its share of everything else in a round, in ns: elapsed time divided by the increments
    /// of one thread (256 per round of 16 steps; 160 without data work). It includes the waits of threads that share a
    /// CPU.
    pub ns_per_increment: f64,
    /// Increments of global counters made: threads x rounds x 160 (ten times the steps).
    pub expected: u64,
    /// Their sum, read after all threads ended.
    pub counted: u64,
    /// Increments of data blocks' counters made: threads x rounds x 96 (six times the steps), or 0 without data work.
    pub local_expected: u64,
    /// The sum of the data blocks' counters.
    pub local_counted: u64,
    /// Average bytes per global counter at the end, without the overhead of the allocator.
    pub bytes_per_counter: f64,
    /// Time to read all global counters once, in ns, right after the rounds, while the threads still hold their state.
    pub full_read_ns: f64,
    /// Share of the threads' time spent in the locked generator, estimated by timing every 64th call (so a long wait
    /// counts 64 times or not at all; at most 1). `None` in the corrected mode, whose generator is too fast for a
    /// clock.
    pub generator_share: Option<f64>,
    /// Pages that hold global counters, by their NUMA node: those of all shards, slots and rows that were written.
    /// Empty where the kernel does not report nodes.
    pub counter_pages: BTreeMap<u32, u64>,
    /// Pages of data blocks, by their NUMA node. With more than 4096 blocks, of a sample at regular distances.
    pub data_pages: BTreeMap<u32, u64>,
    /// Why memory could not be interleaved over the nodes; `None` when it was.
    pub not_interleaved: Option<String>,
}

impl Outcome {
    /// Lost increments of global counters as a share of those made. Negative if more were counted than made.
    pub fn loss(&self) -> f64 {
        if self.expected == 0 { 0.0 } else { 1.0 - self.counted as f64 / self.expected as f64 }
    }
}
