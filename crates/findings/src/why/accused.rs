//! A suspect with its time and its counts, before all suspects are tested together.

use super::suspect::Suspect;
use super::trials::{Counts, Trials};
use crate::time::{Part, TrialTime};
use tare_stats::ratio::Shift;

pub(super) struct Accused {
    pub suspect: Suspect,
    pub time: Shift,
    pub counts: Option<[f64; 2]>,
    /// P-value of the difference of the counts; none for a suspect that is identified by its time alone.
    pub counts_p: Option<f64>,
}

impl Accused {
    /// A suspect that is identified by the time of these parts alone.
    pub(crate) fn plain(trials: &Trials<'_, '_>, suspect: Suspect, of: &[Part]) -> Self {
        Self { suspect, time: sum(trials, of), counts: None, counts_p: None }
    }

    /// Adds the counts in A and in B, and the test of their difference.
    pub(crate) fn counted(self, (counts, found): Counts) -> Self {
        Self { counts: Some(counts), counts_p: Some(found.p_value), ..self }
    }
}

pub(super) fn sum(trials: &Trials<'_, '_>, of: &[Part]) -> Shift {
    trials.shift(&|time: &TrialTime<'_>| us_of(time, of))
}

pub(super) fn us_of(time: &TrialTime<'_>, of: &[Part]) -> f64 {
    of.iter().map(|part| time.part(part)).sum()
}
