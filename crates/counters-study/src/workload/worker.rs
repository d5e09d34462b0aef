//! Runs the workload with the code that was compiled for its configuration: threads, gates, and the outcome.

use super::blocks::{DATA_BYTES, LOCAL_INCREMENTS};
use super::config::{self, Config, MemoryScope, Mode, Padding};
use super::counted::{Counted, Gate, Gates, Kept, Shift};
use super::error::Error;
use super::generator::{Generator, Locked, Own, Shared};
use super::pages::Pages;
use crate::strategies::{
    Adaptive, Atomic, ByCachedNode, ByCpu, ByIndex, ByLibnuma, ByThread, Counting, Fuzzy, NodeAlloc, Own as OwnSet,
    Plan, PthreadMutex, Random, Sharded, StdMutex, Strategy, ThreadRow, node_count,
};
use std::collections::BTreeMap;
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};
use std::time::{Duration, Instant};
use tare_counters::cpus;

/// A thread of the workload needs little stack; hundreds of them should not reserve 8 MiB each.
const STACK_BYTES: usize = 512 * 1024;
const LOOKED_AT: usize = 4096;

fn run_with(config: &Config<'_>, plan: &Plan, mut counted: Box<dyn Counted>) -> Result<Outcome, Error> {
    let ((), not_interleaved) = config::under_policy(config, MemoryScope::Payload, || {
        allocate(config, &mut *counted);
        Ok(())
    })?;
    let counted = &*counted;
    let (start, end, shared) = (Gate::default(), Gate::default(), counted.shared(config.seed));
    let (shifts, seen) = scope(|scope| {
        let handles = start_threads(scope, config, counted, (&start, &end, &shared));
        let all_there = start.await_all(handles.as_ref().map_or(0, Vec::len));
        let able = handles.is_ok() && all_there;
        let ready = if able { (config.hooks.ready)() } else { Ok(()) };
        let go = able && ready.is_ok();
        let before = cpu_time();
        start.open(go);
        ready.map_err(Error::NotReady)?;
        let handles = handles?;
        let done = go && end.await_all(handles.len());
        let cpu_s = (cpu_time() - before).as_secs_f64();
        if done {
            (config.hooks.done)();
        }
        let seen = WhileRunning::look(config, counted, cpu_s);
        end.open(done);
        let shifts: Option<Vec<Shift>> =
            handles.into_iter().map(|handle| handle.join().ok().flatten()).collect::<Vec<_>>().into_iter().collect();
        shifts.map(|shifts| (shifts, seen)).ok_or(Error::Thread)
    })?;
    Ok(Outcome { not_interleaved, ..summarise(config, plan, counted, &shifts, seen) })
}

/// Allocates in the order of the original program: a counter block, its share of the data blocks, and so on; the
/// remainder of the data blocks comes last.
fn allocate(config: &Config<'_>, counted: &mut dyn Counted) {
    let share = config.data_blocks / config.counter_blocks;
    for _ in 0..config.counter_blocks {
        counted.push_counters();
        (0..share).for_each(|_| counted.push_data());
    }
    (share * config.counter_blocks..config.data_blocks).for_each(|_| counted.push_data());
}

type Handles<'scope> = Vec<ScopedJoinHandle<'scope, Option<Shift>>>;

fn start_threads<'scope, 'env: 'scope>(
    scope: &'scope Scope<'scope, 'env>,
    config: &'env Config<'_>,
    counted: &'env dyn Counted,
    (start, end, shared): (&'env Gate, &'env Gate, &'env Shared),
) -> Result<Handles<'scope>, Error> {
    let mut handles = Vec::with_capacity(config.threads);
    for thread in 0..config.threads {
        let spawned = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
            let gates = Gates { start: start.arrival(), end: end.arrival() };
            (config.hooks.bind)(thread);
            counted.work(config, thread, shared, gates)
        });
        match spawned {
            Ok(handle) => handles.push(handle),
            Err(source) => {
                start.open(false);
                return Err(Error::Spawn { thread, source });
            }
        }
    }
    Ok(handles)
}

/// Measured while the threads still hold their state.
struct WhileRunning {
    cpu_s: f64,
    full_read_ns: f64,
    counter_pages: BTreeMap<u32, u64>,
    data_pages: BTreeMap<u32, u64>,
}

impl WhileRunning {
    fn look(config: &Config<'_>, counted: &dyn Counted, cpu_s: f64) -> Self {
        let read = Instant::now();
        std::hint::black_box(counted.global_sum());
        let full_read_ns = read.elapsed().as_secs_f64() * 1e9;
        let (mut counters, mut data) = (Pages::new(), Pages::new());
        for counter in 0..config.counter_blocks * config.counters_per_block {
            counted.stored(counter, &mut |address, bytes| counters.add(address, bytes));
        }
        // All blocks, or a sample spread over the memory. Whole blocks, because every fourth page alone could always be
        // on the same one of four nodes.
        let one_in = config.data_blocks.div_ceil(LOOKED_AT).max(1);
        (0..config.data_blocks).step_by(one_in).for_each(|block| data.add(counted.data_at(block), DATA_BYTES));
        Self { cpu_s, full_read_ns, counter_pages: counters.by_node(), data_pages: data.by_node() }
    }
}

fn summarise(config: &Config<'_>, plan: &Plan, counted: &dyn Counted, shifts: &[Shift], seen: WhileRunning) -> Outcome {
    let first = shifts.iter().map(|shift| shift.start).min();
    let last = shifts.iter().map(|shift| shift.end).max();
    let elapsed_s = first.zip(last).map_or(0.0, |(first, last)| (last - first).as_secs_f64());
    let working_ns: f64 = shifts.iter().map(|shift| (shift.end - shift.start).as_secs_f64() * 1e9).sum();
    let generator_ns: Option<f64> = shifts.iter().map(|shift| shift.generator_ns).sum();
    let rounds = config.threads as u64 * config.rounds;
    let local_per_round = if config.data_work { config.steps * LOCAL_INCREMENTS } else { 0 };
    let global_per_round = config.increments_a_round();
    let globals = config.counter_blocks * config.counters_per_block;
    let bytes: u64 = (0..globals).map(|counter| counted.bytes_of(plan, counter)).sum();
    Outcome {
        elapsed_s,
        cpu_s: seen.cpu_s,
        rounds_per_s: rounds as f64 / elapsed_s,
        ns_per_increment: elapsed_s * 1e9 / (config.rounds * (global_per_round + local_per_round)) as f64,
        expected: rounds * global_per_round,
        counted: counted.global_sum(),
        local_expected: rounds * local_per_round,
        local_counted: counted.local_sum(),
        bytes_per_counter: bytes as f64 / globals as f64,
        full_read_ns: seen.full_read_ns,
        generator_share: generator_ns.map(|spent| (spent / working_ns).min(1.0)),
        counter_pages: seen.counter_pages,
        data_pages: seen.data_pages,
        not_interleaved: None,
    }
}

fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec as u32)
}

/// Runs the workload once.
///
/// # Errors
/// A run that is not possible is refused before memory is allocated: a setting of 0, more memory than available (with
/// the memory needed), a strategy that cannot work here. After that only threads, the memory policy and the hooks can
/// fail.
pub fn run(config: &Config<'_>) -> Result<Outcome, Error> {
    config.check()?;
    config.strategy.available()?;
    let (outcome, refused) = config::under_policy(config, MemoryScope::Process, || {
        let (plan, compiled) = (plan(config), Compiled::of(config));
        config::check_memory(config, (compiled.planned_bytes_per_counter)(&plan))?;
        run_with(config, &plan, (compiled.prepare)(config, &plan)?)
    })?;
    Ok(Outcome { not_interleaved: outcome.not_interleaved.clone().or(refused), ..outcome })
}

/// Bytes that the counters and data of a run take, without the overhead of the allocator.
pub fn memory_bytes(config: &Config<'_>) -> u128 {
    config::memory_needed(config, (Compiled::of(config).planned_bytes_per_counter)(&plan(config)))
}

fn plan(config: &Config<'_>) -> Plan {
    let counters = config.global_counters().and_then(|globals| globals.checked_add(config.data_blocks));
    Plan { counters: counters.unwrap_or(usize::MAX), threads: config.threads, seed: config.seed }
}

/// The functions compiled for a strategy, its shards and a generator.
struct Compiled {
    planned_bytes_per_counter: fn(&Plan) -> u64,
    prepare: Prepare,
}

/// Creates the strategy, without counters and data yet.
type Prepare = fn(&Config<'_>, &Plan) -> Result<Box<dyn Counted>, Error>;

impl Compiled {
    fn of(config: &Config<'_>) -> Self {
        match config.mode {
            // 24 shards, as in the original program.
            Mode::Faithful => by_padding::<Locked, 24, 2>(config),
            // The smallest of these that has a shard for each CPU (each node). Only a few sizes, because each is
            // separate code; on larger machines several CPUs share a shard.
            Mode::Corrected => match (cpus::possible(), node_count()) {
                (..=24, ..=2) => by_padding::<Own, 24, 2>(config),
                (..=128, ..=8) => by_padding::<Own, 128, 8>(config),
                _ => by_padding::<Own, 512, 32>(config),
            },
        }
    }

    fn with<S: Counting + 'static, G: Generator>() -> Self {
        Self { planned_bytes_per_counter: S::planned_bytes_per_counter, prepare: Kept::<S, G>::prepare }
    }
}

/// Turns the padding into the number of values per shard, of which one counts.
fn by_padding<G: Generator, const C: usize, const N: usize>(config: &Config<'_>) -> Compiled {
    match config.padding {
        Padding::Packed => by_strategy::<G, C, N, 1>(config.strategy),
        Padding::Line => by_strategy::<G, C, N, 8>(config.strategy),
        Padding::Pair => by_strategy::<G, C, N, 16>(config.strategy),
    }
}

fn by_strategy<G: Generator, const C: usize, const N: usize, const W: usize>(strategy: Strategy) -> Compiled {
    match strategy {
        Strategy::PthreadMutex => Compiled::with::<PthreadMutex, G>(),
        Strategy::StdMutex => Compiled::with::<StdMutex, G>(),
        Strategy::Atomic => Compiled::with::<Atomic, G>(),
        Strategy::Fuzzy => Compiled::with::<Fuzzy<C, W>, G>(),
        Strategy::ShardIndex => Compiled::with::<Sharded<ByIndex, C, W>, G>(),
        Strategy::ShardRandom => Compiled::with::<Sharded<Random, C, W>, G>(),
        Strategy::ShardThread => Compiled::with::<Sharded<ByThread, C, W>, G>(),
        Strategy::ShardCpu => Compiled::with::<Sharded<ByCpu, C, W>, G>(),
        Strategy::ShardNodeLibnuma => Compiled::with::<Sharded<ByLibnuma, N, W>, G>(),
        Strategy::ShardNodeCached => Compiled::with::<Sharded<ByCachedNode, N, W>, G>(),
        Strategy::NodeAlloc => Compiled::with::<NodeAlloc, G>(),
        Strategy::CounterSet => Compiled::with::<OwnSet, G>(),
        Strategy::ThreadRow => Compiled::with::<ThreadRow, G>(),
        Strategy::Adaptive => Compiled::with::<Adaptive, G>(),
    }
}

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
