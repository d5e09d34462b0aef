//! Known work: dependent loads, and a spin that accesses no memory.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Memory of the chain, bytes: more than a PU's share of the last-level cache.
const BYTES: usize = 128 << 20;
/// The chain takes at most one part in this many of the machine's memory.
const OF_MEMORY: u64 = 32;
/// Loads per reading of the clock: about 50 to 300 us.
const LOADS: usize = 1_000;
/// Steps of the spin per reading of the clock: about 100 us.
const STEPS: u64 = 100_000;

/// A cache line with the number of the next one.
#[repr(align(64))]
struct Line(u32);

/// A ring through all lines, in an order that a prefetcher cannot predict.
pub(super) struct Chain {
    lines: Vec<Line>,
}

impl Chain {
    /// Allocates it on the NUMA node of the calling thread's PU.
    pub(super) fn new() -> Self {
        let memory = (rustix::system::sysinfo().totalram as u64) / OF_MEMORY;
        let bytes = BYTES.min(usize::try_from(memory).unwrap_or(BYTES)).max(1 << 20);
        let count = (bytes / size_of::<Line>()).next_power_of_two() as u32;
        // A congruential generator of full period (Hull & Dobell 1962: an odd increment, a multiplier of 1 modulo 4)
        // visits every number below a power of two once.
        let next = |i: u32| i.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & (count - 1);
        Self { lines: (0..count).map(|i| Line(next(i))).collect() }
    }

    /// The line at which reader `part` of `of` begins, so that readers begin at different places.
    pub(super) fn at(&self, part: usize, of: usize) -> u32 {
        (self.lines.len() / of.max(1) * part) as u32
    }

    /// Nanoseconds per load, measured for about `time`; `from` is set to the line where it ended.
    pub(super) fn ns(&self, from: &mut u32, time: Duration) -> f64 {
        steady(time, LOADS as f64, || {
            let mut at = *from;
            for _ in 0..LOADS {
                at = self.lines[at as usize].0;
            }
            *from = black_box(at);
        })
    }
}

/// Nanoseconds of a hundred dependent steps in registers, measured for about `time`.
pub(super) fn spin_ns(time: Duration) -> f64 {
    steady(time, STEPS as f64 / 100.0, || {
        let mut x = black_box(1u64);
        for _ in 0..STEPS {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        black_box(x);
    })
}

/// Repeats a piece of work for about `time` and returns nanoseconds per unit, as the mean of the middle half of all
/// pieces, so that preemptions of the thread do not affect the result.
pub(super) fn steady(time: Duration, units: f64, mut piece: impl FnMut()) -> f64 {
    let began = Instant::now();
    let mut took = Vec::with_capacity(64);
    let mut last = began;
    while took.is_empty() || last - began < time {
        piece();
        let now = Instant::now();
        took.push((now - last).as_nanos() as f64 / units);
        last = now;
    }
    middle(took)
}

/// Mean of the middle half of the values.
pub(super) fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let cut = values.len() / 4;
    let kept = &values[cut..values.len() - cut];
    kept.iter().sum::<f64>() / kept.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_goes_through_every_line_once() {
        let chain = Chain::new();
        let mut seen = vec![false; chain.lines.len()];
        let mut at = 0u32;
        for _ in 0..chain.lines.len() {
            assert!(!std::mem::replace(&mut seen[at as usize], true), "line {at} twice");
            at = chain.lines[at as usize].0;
        }
        assert_eq!(at, 0);
    }

    #[test]
    fn the_middle_half_ignores_what_stands_out() {
        assert_eq!(middle(vec![1.0, 2.0, 4.0, 1e9]), 3.0);
        assert_eq!((middle(vec![7.0]), middle(vec![1.0, 3.0])), (7.0, 2.0));
    }

    #[test]
    fn loads_from_memory_take_longer_than_a_step_in_registers() {
        let (chain, mut from) = (Chain::new(), 0);
        let load = chain.ns(&mut from, Duration::from_millis(20));
        let step = spin_ns(Duration::from_millis(20)) / 100.0;
        assert!(load > step && step > 0.0 && from > 0, "{load} ns a load, {step} ns a step");
    }
}
