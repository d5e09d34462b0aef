//! What rounds are expected to take: this machine's own step, timed once, and the lock that some of them wait for.

use super::CountersSettings;
use crate::workload::{Load, TrialSize};
use std::sync::OnceLock;
use tare_counters_study::workload::{Hooks, Mode, run};

/// Steps a second of all threads together that libc's locked generator lets through: with 24 CPUs (article C: 4,650
/// rounds of 16), and how it falls with the CPUs that ask for the lock (2 of an AMD EPYC: 9,200 rounds).
const LOCKED_ON_24: f64 = 4600.0 * 16.0;
const LOCKED_FALLS: f64 = 0.28;
/// Bytes a second of memory that is touched for the first time: 1.5e9 on a Xeon of 2.1 GHz, 3e9 on an EPYC.
const TOUCHED: f64 = 2.2e9;
/// A trial's process until its first round, and a sample's threads and the look at its pages, seconds.
const TRIAL_S: f64 = 0.02;
const SAMPLE_S: f64 = 0.005;

/// Data blocks of the timing, which is not to take long: what fits no cache takes a tenth to a sixth longer.
const TIMED_BLOCKS: usize = 300;
const TIMINGS: usize = 3;

/// What is timed: rounds with data work or without, and CPU seconds of a step where that fails: 16 take 0.38 ms on a
/// Xeon, 0.17 ms on an EPYC.
struct Timed {
    data_work: bool,
    rounds: u64,
    usual_s: f64,
    found: OnceLock<f64>,
}

static WITH_DATA: Timed = Timed { data_work: true, rounds: 20, usual_s: 2.6e-4 / 16.0, found: OnceLock::new() };
static BARE: Timed = Timed { data_work: false, rounds: 200, usual_s: 1e-5 / 16.0, found: OnceLock::new() };

impl Timed {
    /// CPU seconds of a step here: machines differ by more than an estimate may. The least of a few, as others may use
    /// the CPU; once a process, so that all conditions are estimated alike.
    fn step_s(&self) -> f64 {
        *self.found.get_or_init(|| {
            let settings = CountersSettings {
                data_work: self.data_work,
                rounds: self.rounds,
                data_blocks: TIMED_BLOCKS,
                ..CountersSettings::default()
            };
            let config = settings.config(1, 1, Hooks::NONE);
            let taken = (0..TIMINGS).filter_map(|_| Some(run(&config).ok()?.elapsed_s)).fold(f64::INFINITY, f64::min);
            let step_s = taken / (config.rounds * config.steps) as f64;
            if step_s.is_finite() && step_s > 0.0 { step_s } else { self.usual_s }
        })
    }
}

impl CountersSettings {
    pub(super) fn trial_s(&self, counts: &TrialSize) -> f64 {
        let touched_s = self.memory_bytes(counts.threads) as f64 / TOUCHED;
        TRIAL_S + counts.samples as f64 * (SAMPLE_S + touched_s + self.rounds_s(counts))
    }

    /// Expected seconds of all rounds of a sample.
    fn rounds_s(&self, counts: &TrialSize) -> f64 {
        let steps = self.rounds as f64 * self.steps as f64 * counts.threads as f64;
        let timed = if self.data_work { &WITH_DATA } else { &BARE };
        let at_once = counts.threads.min(counts.cpus).max(1) as f64;
        let locked = LOCKED_ON_24 * (24.0 / at_once).powf(LOCKED_FALLS);
        let least = if self.generator == Mode::Faithful && at_once > 1.0 { steps / locked } else { 0.0 };
        (steps * timed.step_s() / at_once).max(least)
    }
}
