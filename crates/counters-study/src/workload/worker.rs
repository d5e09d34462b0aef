//! Runs the workload: threads, gates, and the outcome.

use super::blocks::{DATA_BYTES, LOCAL_INCREMENTS};
use super::config::{Config, MemoryScope};
use super::counted::{Counted, Gates, Shift};
use super::error::Error;
use super::gate::Gate;
use super::generator::Shared;
use super::memory;
use super::outcome::Outcome;
use super::pages::Pages;
use crate::strategies::Plan;
use std::collections::BTreeMap;
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};
use std::time::{Duration, Instant};

/// A thread of the workload needs little stack; hundreds of them should not reserve 8 MiB each.
const STACK_BYTES: usize = 512 * 1024;
const LOOKED_AT: usize = 4096;

pub(super) fn run(config: &Config<'_>, plan: &Plan, mut counted: Box<dyn Counted>) -> Result<Outcome, Error> {
    let ((), not_interleaved) = memory::under(config, MemoryScope::Payload, || {
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
