//! A strategy with its counters and data, behind a trait object. The code behind this trait is compiled for each
//! strategy and generator, about a hundred times in all, so it holds as little as possible besides what is measured.

use super::blocks::Payload;
use super::config::Config;
use super::error::Error;
use super::generator::{Generator, Shared};
use crate::strategies::{Counting, Plan};
use std::marker::PhantomData;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Rounds after which a thread looks whether the run is to end: in short rounds, the call would be measured.
const LOOK_EVERY: u64 = 16;

/// A strategy with its counters and data. Called about ten times per run and thread, never for an increment.
pub(super) trait Counted: Send + Sync {
    /// The state that the generators of all threads share.
    fn shared(&self, seed: u64) -> Shared;
    fn push_counters(&mut self);
    fn push_data(&mut self);
    /// The work of a thread; threads are numbered from 0.
    fn work(&self, config: &Config<'_>, thread: usize, shared: &Shared, gates: Gates<'_>) -> Option<Shift>;
    fn global_sum(&self) -> u64;
    fn local_sum(&self) -> u64;
    /// Bytes that a global counter takes now.
    fn bytes_of(&self, plan: &Plan, counter: usize) -> u64;
    /// Calls `each` with the address and the length in bytes of every place where a global counter is stored.
    fn stored(&self, counter: usize, each: &mut dyn FnMut(usize, usize));
    fn data_at(&self, block: usize) -> usize;
}

/// Where a thread waits before its first round and after its last. (A barrier would wait for ever for a thread that
/// could not be started, or that failed before.)
pub(super) struct Gates<'a> {
    pub(super) start: Arrival<'a>,
    pub(super) end: Arrival<'a>,
}

pub(super) struct Shift {
    pub(super) start: Instant,
    pub(super) end: Instant,
    pub(super) generator_ns: Option<f64>,
}

/// The counters of one strategy, incremented in the order that generator `G` determines.
pub(super) struct Kept<S: Counting, G> {
    strategy: S,
    payload: Payload<S::Cell>,
    generator: PhantomData<fn() -> G>,
}

impl<S: Counting + 'static, G: Generator> Kept<S, G> {
    pub(super) fn prepare(config: &Config<'_>, plan: &Plan) -> Result<Box<dyn Counted>, Error> {
        let payload = Payload::new(config.counters_per_block);
        Ok(Box::new(Self { strategy: S::new(plan)?, payload, generator: PhantomData }))
    }
}

impl<S: Counting, G: Generator> Counted for Kept<S, G> {
    fn shared(&self, seed: u64) -> Shared {
        G::prepare(seed)
    }

    fn push_counters(&mut self) {
        self.payload.push_counters(&|| self.strategy.cell());
    }

    fn push_data(&mut self) {
        self.payload.push_data(self.strategy.cell());
    }

    fn work(&self, config: &Config<'_>, thread: usize, shared: &Shared, gates: Gates<'_>) -> Option<Shift> {
        let mut local = self.strategy.enter(thread);
        let mut random = G::enter(shared, thread);
        if !gates.start.wait() {
            return None;
        }
        let start = Instant::now();
        for round in 0..config.rounds {
            if round.is_multiple_of(LOOK_EVERY) && (config.hooks.stopped)() {
                break;
            }
            if config.data_work {
                for _ in 0..config.steps {
                    self.payload.data_step(&self.strategy, &mut local, &mut random);
                }
            }
            for _ in 0..config.increments_a_round() {
                self.payload.count(&self.strategy, &mut local, &mut random);
            }
        }
        let shift = Shift { start, end: Instant::now(), generator_ns: random.spent_ns() };
        // The thread stays until the counters were read once while every thread still has its state.
        gates.end.wait();
        self.strategy.leave(local);
        Some(shift)
    }

    fn global_sum(&self) -> u64 {
        self.payload.global_sum(&self.strategy)
    }

    fn local_sum(&self) -> u64 {
        self.payload.local_sum(&self.strategy)
    }

    fn bytes_of(&self, plan: &Plan, counter: usize) -> u64 {
        self.strategy.bytes_of(plan, self.payload.global(counter))
    }

    fn stored(&self, counter: usize, each: &mut dyn FnMut(usize, usize)) {
        self.strategy.stored(self.payload.global(counter), counter, each);
    }

    fn data_at(&self, block: usize) -> usize {
        self.payload.data_at(block)
    }
}

#[derive(Default)]
struct GateState {
    arrived: usize,
    failed: usize,
    opened: Option<bool>,
}

#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

/// A thread that will arrive at the gate; one that is dropped before it arrives counts as failed.
pub(super) struct Arrival<'a> {
    gate: &'a Gate,
    there: bool,
}

impl Gate {
    pub(super) fn arrival(&self) -> Arrival<'_> {
        Arrival { gate: self, there: false }
    }

    /// Waits for `threads` threads; true when all of them arrived and none failed.
    pub(super) fn await_all(&self, threads: usize) -> bool {
        let waiting = |state: &mut GateState| state.arrived + state.failed < threads;
        let state = self.changed.wait_while(self.lock(), waiting).unwrap_or_else(PoisonError::into_inner);
        state.failed == 0
    }

    /// Opens the gate: with `go` the threads continue, else they give up.
    pub(super) fn open(&self, go: bool) {
        self.lock().opened.get_or_insert(go);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arrival<'_> {
    /// Waits until the gate opens; false means to give up.
    #[inline(never)]
    pub(super) fn wait(mut self) -> bool {
        self.there = true;
        self.gate.lock().arrived += 1;
        self.gate.changed.notify_all();
        let state = self.gate.changed.wait_while(self.gate.lock(), |state| state.opened.is_none());
        state.unwrap_or_else(PoisonError::into_inner).opened == Some(true)
    }
}

impl Drop for Arrival<'_> {
    fn drop(&mut self) {
        if !self.there {
            self.gate.lock().failed += 1;
            self.gate.changed.notify_all();
        }
    }
}
