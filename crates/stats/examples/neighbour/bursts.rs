//! Simulates another program that takes CPU time of trials in bursts of three attempts on average.

use rand::RngExt;
use rand::rngs::StdRng;

/// A trial is marked as disturbed when more than this share is taken, as with `sampling.foreign_cpu_limit`.
const FOREIGN_LIMIT: f64 = 0.05;
/// The maximum share of a trial's time that a burst takes; it takes this when it lasts for the whole trial.
const MOST_TAKEN: std::ops::Range<f64> = 0.1..0.6;
/// After this many successive disturbed repeats, a disturbed trial counts without a repeat.
const IN_VAIN: usize = 5;

/// When the other program takes CPU time.
#[derive(Debug, Clone, Copy)]
pub enum Runs {
    /// In this share of all attempts, whatever they measure.
    Anywhere(f64),
    /// In this share of the blocks, during all attempts at one side only.
    AtOne(f64),
    /// The same, and it takes the same share of every attempt.
    Steadily { blocks: f64, takes: f64 },
}

/// The state of the other program from attempt to attempt.
pub struct Bursts {
    runs: Runs,
    /// The maximum share of a trial's time that this burst takes; 0 between bursts.
    takes: f64,
    in_vain: usize,
}

impl Bursts {
    pub fn new(runs: Runs, rng: &mut StdRng) -> Self {
        let mut bursts = Self { runs, takes: 0.0, in_vain: 0 };
        // Enough steps to be independent of the initial state.
        (0..30).for_each(|_| bursts.go_on(rng));
        bursts
    }

    /// Whether it disturbs its side in the block that begins.
    pub fn is_at_one(&self, rng: &mut StdRng) -> bool {
        match self.runs {
            Runs::Anywhere(_) => false,
            Runs::AtOne(blocks) | Runs::Steadily { blocks, .. } => rng.random_bool(blocks),
        }
    }

    /// The change of the log of a trial's value, and whether the trial is disturbed. `hit` says whether the program
    /// disturbs this side now.
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

    /// Whether a disturbed trial is repeated once more.
    pub fn repeats(&self) -> bool {
        self.in_vain < IN_VAIN
    }

    /// Records the outcome of a repeat.
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
