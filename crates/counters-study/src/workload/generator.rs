//! The two random number generators.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::hint::black_box;
use std::time::Instant;

/// A generator of numbers from 0 to 2^31 - 1, like `rand()`.
pub(super) trait Generator: 'static {
    fn prepare(seed: u64) -> Shared;
    fn enter(shared: &Shared, thread: usize) -> Self;
    fn draw(&mut self) -> usize;
    /// Estimated time spent drawing numbers, in ns; `None` where it is too short to measure.
    fn spent_ns(&self) -> Option<f64>;

    /// A number below `bound`, by remainder, as in the original program.
    #[inline]
    fn below(&mut self, bound: usize) -> usize {
        self.draw() % bound
    }
}

pub(super) struct Shared {
    seed: u64,
    /// The time that timing adds to a call; see [`Locked`].
    timing_ns: f64,
}

/// Every 64th call is timed, because reading the clock costs about as much as an uncontended call.
const TIMED_ONE_IN: u32 = 64;

/// libc's generator, `rand()`, which takes a lock.
pub(super) struct Locked {
    calls: u32,
    timed_ns: f64,
    /// The time that timing adds to a call: that of the clock itself, and the overlap with other work that it prevents.
    timing_ns: f64,
}

/// Measured by timing uncontended calls, one by one and all together.
fn timing_ns() -> f64 {
    const CALLS: u32 = 10_000;
    let start = Instant::now();
    for _ in 0..CALLS {
        black_box(rand());
    }
    let together_ns = start.elapsed().as_nanos() as f64;
    let mut single = Locked { calls: 0, timed_ns: 0.0, timing_ns: 0.0 };
    for _ in 0..CALLS {
        black_box(single.timed());
    }
    (single.timed_ns - together_ns) / f64::from(CALLS)
}

impl Locked {
    #[inline(never)]
    fn timed(&mut self) -> usize {
        let start = Instant::now();
        let drawn = rand();
        self.timed_ns += start.elapsed().as_nanos() as f64 - self.timing_ns;
        drawn
    }
}

impl Generator for Locked {
    fn prepare(seed: u64) -> Shared {
        let timing_ns = timing_ns();
        // SAFETY: takes its own lock.
        unsafe { libc::srand(seed as u32) };
        Shared { seed, timing_ns }
    }

    fn enter(&Shared { timing_ns, .. }: &Shared, _: usize) -> Self {
        Self { calls: 0, timed_ns: 0.0, timing_ns }
    }

    #[inline]
    fn draw(&mut self) -> usize {
        self.calls = self.calls.wrapping_add(1);
        if !self.calls.is_multiple_of(TIMED_ONE_IN) {
            return rand();
        }
        self.timed()
    }

    fn spent_ns(&self) -> Option<f64> {
        Some(self.timed_ns.max(0.0) * f64::from(TIMED_ONE_IN))
    }
}

#[inline]
fn rand() -> usize {
    // SAFETY: takes its own lock.
    unsafe { libc::rand() as usize }
}

pub(super) struct Own(Xoshiro256PlusPlus);

impl Generator for Own {
    fn prepare(seed: u64) -> Shared {
        Shared { seed, timing_ns: 0.0 }
    }

    fn enter(&Shared { seed, .. }: &Shared, thread: usize) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed ^ thread as u64))
    }

    #[inline]
    fn draw(&mut self) -> usize {
        (self.0.next_u64() >> 33) as usize
    }

    fn spent_ns(&self) -> Option<f64> {
        None
    }
}
