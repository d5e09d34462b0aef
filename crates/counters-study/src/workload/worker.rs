//! A run of one strategy with one generator.

use std::collections::BTreeMap;
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};
use std::time::{Duration, Instant};

use super::blocks::{LOCAL_INCREMENTS, Payload};
use super::config::{Config, MemoryScope};
use super::error::Error;
use super::gate::Gate;
use super::generator::Generator;
use super::outcome::Outcome;
use super::policy;
use crate::strategies::{Counting, Plan};

/// A thread of the workload needs little; hundreds of them should not ask for 8 MiB each.
const STACK_BYTES: usize = 512 * 1024;

/// Counts and times of one thread.
struct Shift {
    start: Instant,
    end: Instant,
    generator_ns: Option<f64>,
}

/// One whole run: allocates, lets all threads count, reads the counters.
pub(super) fn run<S: Counting, G: Generator>(config: &Config<'_>, plan: &Plan) -> Result<Outcome, Error> {
    let strategy = S::new(plan)?;
    let (payload, not_interleaved) =
        policy::under(config, MemoryScope::Payload, || Ok(Payload::allocate(config, &strategy)))?;
    let (start, end, shared) = (Gate::default(), Gate::default(), G::prepare(config.seed));
    let (shifts, seen) = scope(|scope| {
        let handles = start_threads::<S, G>(scope, config, &strategy, &payload, (&start, &end, &shared));
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
        let seen = Seen::look(&strategy, &payload, cpu_s);
        end.open(done);
        let shifts: Option<Vec<Shift>> =
            handles.into_iter().map(|handle| handle.join().ok().flatten()).collect::<Vec<_>>().into_iter().collect();
        shifts.map(|shifts| (shifts, seen)).ok_or(Error::Thread)
    })?;
    Ok(Outcome { not_interleaved, ..summarise(config, plan, &strategy, &payload, &shifts, seen) })
}

type Handles<'scope> = Vec<ScopedJoinHandle<'scope, Option<Shift>>>;

fn start_threads<'scope, 'env: 'scope, S: Counting, G: Generator>(
    scope: &'scope Scope<'scope, 'env>,
    config: &'env Config<'_>,
    strategy: &'env S,
    payload: &'env Payload<S>,
    (start, end, shared): (&'env Gate, &'env Gate, &'env G::Shared),
) -> Result<Handles<'scope>, Error> {
    let mut handles = Vec::with_capacity(config.threads);
    for thread in 0..config.threads {
        let spawned = Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, move || {
            let (arrival, finish) = (start.arrival(), end.arrival());
            (config.hooks.bind)(thread);
            let mut local = strategy.enter(thread);
            let mut random = G::enter(shared, thread);
            if !arrival.wait() {
                return None;
            }
            let begin = Instant::now();
            (0..config.rounds).for_each(|_| round(config, strategy, payload, &mut local, &mut random));
            let shift = Shift { start: begin, end: Instant::now(), generator_ns: random.spent_ns() };
            // Stays until the counters were read once with all threads' state in place.
            finish.wait();
            strategy.leave(local);
            Some(shift)
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

#[inline]
fn round<S: Counting, G: Generator>(
    config: &Config<'_>,
    strategy: &S,
    payload: &Payload<S>,
    local: &mut S::Local,
    random: &mut G,
) {
    if config.data_work {
        (0..config.steps).for_each(|_| payload.data_step(strategy, local, random));
    }
    (0..config.increments_a_round()).for_each(|_| payload.count(strategy, local, random));
}

/// What was seen while the threads still held what they hold.
struct Seen {
    cpu_s: f64,
    full_read_ns: f64,
    counter_pages: BTreeMap<u32, u64>,
    data_pages: BTreeMap<u32, u64>,
}

impl Seen {
    fn look<S: Counting>(strategy: &S, payload: &Payload<S>, cpu_s: f64) -> Self {
        let read = Instant::now();
        std::hint::black_box(payload.global_sum(strategy));
        let full_read_ns = read.elapsed().as_secs_f64() * 1e9;
        Self { cpu_s, full_read_ns, counter_pages: payload.counter_pages(strategy), data_pages: payload.data_pages() }
    }
}

fn summarise<S: Counting>(
    config: &Config<'_>,
    plan: &Plan,
    strategy: &S,
    payload: &Payload<S>,
    shifts: &[Shift],
    seen: Seen,
) -> Outcome {
    let first = shifts.iter().map(|shift| shift.start).min();
    let last = shifts.iter().map(|shift| shift.end).max();
    let elapsed_s = first.zip(last).map_or(0.0, |(first, last)| (last - first).as_secs_f64());
    let working_ns: f64 = shifts.iter().map(|shift| (shift.end - shift.start).as_secs_f64() * 1e9).sum();
    let generator_ns: Option<f64> = shifts.iter().map(|shift| shift.generator_ns).sum();
    let rounds = config.threads as u64 * config.rounds;
    let local_per_round = if config.data_work { config.steps * LOCAL_INCREMENTS } else { 0 };
    let global_per_round = config.increments_a_round();
    let bytes: u64 = payload.cells().map(|(_, cell)| strategy.bytes_of(plan, cell)).sum();
    Outcome {
        elapsed_s,
        cpu_s: seen.cpu_s,
        rounds_per_s: rounds as f64 / elapsed_s,
        ns_per_increment: elapsed_s * 1e9 / (config.rounds * (global_per_round + local_per_round)) as f64,
        expected: rounds * global_per_round,
        counted: payload.global_sum(strategy),
        local_expected: rounds * local_per_round,
        local_counted: payload.local_sum(strategy),
        bytes_per_counter: bytes as f64 / payload.cells().count() as f64,
        full_read_ns: seen.full_read_ns,
        generator_share: generator_ns.map(|spent| (spent / working_ns).min(1.0)),
        counter_pages: seen.counter_pages,
        data_pages: seen.data_pages,
        not_interleaved: None,
    }
}

/// CPU time of the process.
fn cpu_time() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), used.tv_nsec as u32)
}
