//! The two sources of random numbers.

use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A source of numbers from 0 to 2^31 - 1, as `rand()`.
pub(super) trait Generator {
    fn enter(seed: u64, thread: usize) -> Self;
    fn draw(&mut self) -> usize;
    /// ns spent drawing, as far as it can be told.
    fn spent_ns(&self) -> Option<f64>;

    /// Below `bound`, by remainder, as the article.
    #[inline]
    fn below(&mut self, bound: usize) -> usize {
        self.draw() % bound
    }
}

/// One in this many calls is timed: the clock costs about as much as an uncontended call.
const TIMED_ONE_IN: u32 = 64;

/// libc's `rand()`. Seeded once a process, by [`seed`](Locked::seed).
pub(super) struct Locked {
    calls: u32,
    timed_ns: f64,
    /// What timing alone seems to take.
    clock_ns: f64,
}

impl Locked {
    /// Seeds the process's one generator.
    pub(super) fn seed(seed: u64) {
        // SAFETY: takes its own lock.
        unsafe { libc::srand(seed as u32) };
    }
}

impl Generator for Locked {
    fn enter(_: u64, _: usize) -> Self {
        let clock_ns = (0..64).map(|_| Instant::now().elapsed().as_nanos() as f64).fold(f64::INFINITY, f64::min);
        Self { calls: 0, timed_ns: 0.0, clock_ns }
    }

    #[inline]
    fn draw(&mut self) -> usize {
        self.calls = self.calls.wrapping_add(1);
        if !self.calls.is_multiple_of(TIMED_ONE_IN) {
            return rand();
        }
        let start = Instant::now();
        let drawn = rand();
        self.timed_ns += (start.elapsed().as_nanos() as f64 - self.clock_ns).max(0.0);
        drawn
    }

    fn spent_ns(&self) -> Option<f64> {
        Some(self.timed_ns * f64::from(TIMED_ONE_IN))
    }
}

#[inline]
fn rand() -> usize {
    // SAFETY: takes its own lock.
    unsafe { libc::rand() as usize }
}

/// A generator of the thread's own.
pub(super) struct Own(Xoshiro256PlusPlus);

impl Generator for Own {
    fn enter(seed: u64, thread: usize) -> Self {
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
