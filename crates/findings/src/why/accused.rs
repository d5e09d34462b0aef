//! A suspect with its time and its counts, before all are tested together.

use super::suspect::Suspect;
use super::trials::Trials;
use crate::time::{Part, TrialTime};
use tare_stats::ratio::Shift;

pub(super) struct Accused {
    pub suspect: Suspect,
    pub time: Shift,
    pub counts: Option<[f64; 2]>,
    /// Chance of such counts where there is no difference; none of what is told by its time alone.
    pub counts_p: Option<f64>,
}

impl Accused {
    /// One that is told by the time of these parts alone.
    pub fn plain(trials: &Trials<'_, '_>, suspect: Suspect, of: &[Part]) -> Self {
        Self { suspect, time: sum(trials, of), counts: None, counts_p: None }
    }

    /// With what is counted of it in A and in B, and the difference of that.
    pub fn counted(self, (counts, found): ([f64; 2], Shift)) -> Self {
        Self { counts: Some(counts), counts_p: Some(found.p_value), ..self }
    }
}

pub(super) fn sum(trials: &Trials<'_, '_>, of: &[Part]) -> Shift {
    trials.shift(&|time: &TrialTime<'_>| us_of(time, of))
}

pub(super) fn us_of(time: &TrialTime<'_>, of: &[Part]) -> f64 {
    of.iter().map(|part| time.part(part)).sum()
}
