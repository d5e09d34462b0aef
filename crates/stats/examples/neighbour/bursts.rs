//! Another program, which takes CPU time of trials in bursts of three attempts on average.

use rand::RngExt;
use rand::rngs::StdRng;

/// What is taken above this marks a trial, as `sampling.foreign_cpu_limit` has it.
const FOREIGN_LIMIT: f64 = 0.05;
/// What a burst takes of a trial's time at most, which is all that it lasts.
const MOST_TAKEN: std::ops::Range<f64> = 0.1..0.6;
/// Repeats in a row that were disturbed, after which a disturbed trial counts at once.
const IN_VAIN: usize = 5;

/// Where it takes CPU time, by the measured side and not only by the clock.
#[derive(Debug, Clone, Copy)]
pub enum Runs {
    /// In this part of all attempts, whatever these measure.
    Anywhere(f64),
    /// In this part of the blocks, and then during all attempts at one side alone.
    AtOne(f64),
    /// The same, and it takes as much of every attempt.
    Steadily { blocks: f64, takes: f64 },
}

/// It, as it goes on from attempt to attempt.
pub struct Bursts {
    runs: Runs,
    /// The share of a trial's time that this burst takes at most; 0 between two.
    takes: f64,
    in_vain: usize,
}

impl Bursts {
    pub fn new(runs: Runs, rng: &mut StdRng) -> Self {
        let mut bursts = Self { runs, takes: 0.0, in_vain: 0 };
        // Long enough for any start to be forgotten.
        (0..30).for_each(|_| bursts.go_on(rng));
        bursts
    }

    /// Whether it is at its side in the block that begins.
    pub fn is_at_one(&self, rng: &mut StdRng) -> bool {
        match self.runs {
            Runs::Anywhere(_) => false,
            Runs::AtOne(blocks) | Runs::Steadily { blocks, .. } => rng.random_bool(blocks),
        }
    }

    /// What is added to the log of a trial's value, and whether the trial is disturbed. `hit`: it is at this side now.
    pub fn attempt(&mut self, hit: bool, rng: &mut StdRng) -> (f64, bool) {
        self.go_on(rng);
        let takes = match self.runs {
            Runs::Anywhere(_) => self.takes,
            _ if !hit => 0.0,
            Runs::AtOne(_) => rng.random_range(MOST_TAKEN),
            Runs::Steadily { .. } => 0.0,
        };
        let taken = match self.runs {
            Runs::Steadily { takes, .. } if hit => takes,
            _ => takes * rng.random_range(0.1..1.0),
        };
        if taken <= FOREIGN_LIMIT {
            self.in_vain = 0;
        }
        ((1.0 - taken).ln(), taken > FOREIGN_LIMIT)
    }

    /// Whether a disturbed trial runs once more.
    pub fn repeats(&self) -> bool {
        self.in_vain < IN_VAIN
    }

    /// Tells it what came of a repeat.
    pub fn repeated(&mut self, is_disturbed: bool) {
        self.in_vain += usize::from(is_disturbed);
    }

    fn go_on(&mut self, rng: &mut StdRng) {
        let Runs::Anywhere(busy) = self.runs else { return };
        let ends = if busy < 1.0 { 1.0 / 3.0 } else { 0.0 };
        let begins = if busy < 1.0 { (ends * busy / (1.0 - busy)).min(1.0) } else { 1.0 };
        if self.takes > 0.0 && rng.random_bool(ends) {
            self.takes = 0.0;
        } else if self.takes == 0.0 && rng.random_bool(begins) {
            self.takes = rng.random_range(MOST_TAKEN);
        }
    }
}
