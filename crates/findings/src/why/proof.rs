//! Suspects tried by experiment: which experiments separate them, and what came of each.

use super::model::{Cause, Why};
use super::prove::{Change, Expected};
use super::suspect::Suspect;
use crate::ab::{Ab, AbVerdict};
use serde::Serialize;
use tare_results::pairs::Stop;
use tare_stats::Interval;

/// Experiments that are made at most: what the largest suspects explain is decided by as many.
const MOST: usize = 3;
/// A suspect that explains so much of the slower side's time must change it by half of that; the least and the most
/// that is asked for, so that neither chance nor a part that overlaps with another decides.
const HALF: f64 = 0.5;
const LEAST: f64 = 0.02;
const GREATEST: f64 = 0.3;

/// One experiment: the slower condition as it is, against the same with something changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub suspect: Suspect,
    pub condition: String,
    pub changes: Vec<Change>,
    /// What is to be seen if the suspect is the reason.
    pub expected: Expected,
    /// By so much, as a fraction, the time of a transaction must then change, or must not.
    pub effect: f64,
}

/// The experiments that decide about the largest suspects, each suspect's own: the first ones of those that explain a
/// tenth of the difference, can be made without a person and would change something. Fewer where two have the same.
pub fn experiments(found: &Why) -> Vec<Trial> {
    let [a, b] = found.sides.each_ref().map(|side| side.us_per_transaction);
    let mut trials: Vec<Trial> = Vec::new();
    for cause in found.causes.iter().filter(|cause| found.is_worth_a_trial(cause) && can_be_made(cause)) {
        if trials.len() < MOST && trials.iter().all(|known| known.changes != cause.prove.changes) {
            trials.push(Trial {
                suspect: cause.suspect.clone(),
                condition: cause.condition.clone(),
                changes: cause.prove.changes.clone(),
                expected: cause.prove.expected,
                effect: (HALF * cause.us.abs() / a.max(b)).clamp(LEAST, GREATEST),
            });
        }
    }
    trials
}

fn can_be_made(cause: &Cause) -> bool {
    let prove = &cause.prove;
    let itself = prove.changes.iter().all(|change| change.value.is_some());
    prove.expected != Expected::Named && itself && !prove.same
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofVerdict {
    /// It came out as it must if the suspect is the reason.
    Stands,
    /// It did not: the suspect explains at most a small part.
    Refuted,
    Undecided,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The experiment, with the suspect that it decides about.
    pub trial: Trial,
    pub verdict: ProofVerdict,
    /// Time of a transaction with the change / without it.
    pub ratio: Option<f64>,
    /// Its 95% interval, valid over all looks.
    pub ci: Option<Interval>,
    pub pairs: usize,
    pub elapsed_s: f64,
}

impl Proof {
    /// Of the pairs of a comparison: the condition as it is against the changed one, by the time of a transaction.
    pub fn of(trial: Trial, ab: &Ab) -> Self {
        let claimed = ab.ci.filter(|_| ab.stop != Some(Stop::OneSided));
        let verdict = judge(trial.expected, trial.effect, ab.verdict, claimed);
        Self { verdict, ratio: ab.ratio, ci: ab.ci, pairs: ab.pairs, elapsed_s: ab.elapsed_s, trial }
    }
}

/// Whether the time fell as it must, by the interval of the ratio of times.
fn judge(expected: Expected, effect: f64, ab: AbVerdict, ci: Option<Interval>) -> ProofVerdict {
    let Some(ci) = ci else { return ProofVerdict::Undecided };
    // No fall as large as the one that is asked for is possible.
    let too_little = 1.0 - ci.low < effect;
    let fell = ab == AbVerdict::Faster && ci.high < 1.0 && !too_little;
    match (expected, fell, too_little) {
        (Expected::Faster, true, _) | (Expected::Unchanged, _, true) => ProofVerdict::Stands,
        (Expected::Faster, _, true) | (Expected::Unchanged, true, _) => ProofVerdict::Refuted,
        _ => ProofVerdict::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suspect_stands_by_what_must_happen_and_is_crossed_out_by_the_contrary() {
        use ProofVerdict::{Refuted, Stands, Undecided};
        let ci = |low: f64, high: f64| Some(Interval { low, high });
        let cases = [
            // A fall as large as asked for.
            (AbVerdict::Faster, ci(0.4, 0.5), Stands, Refuted),
            // Shown, and far too small to be the reason.
            (AbVerdict::Faster, ci(0.95, 0.99), Refuted, Stands),
            (AbVerdict::Equivalent, ci(0.99, 1.01), Refuted, Stands),
            (AbVerdict::Slower, ci(1.1, 1.3), Refuted, Stands),
            (AbVerdict::Undecided, ci(0.96, 1.2), Refuted, Stands),
            // It may be, or not.
            (AbVerdict::Undecided, ci(0.7, 1.1), Undecided, Undecided),
            (AbVerdict::Undecided, None, Undecided, Undecided),
        ];
        for (ab, ci, faster, unchanged) in cases {
            assert_eq!(judge(Expected::Faster, 0.2, ab, ci), faster, "{ab:?} {ci:?}");
            assert_eq!(judge(Expected::Unchanged, 0.2, ab, ci), unchanged, "{ab:?} {ci:?}");
        }
    }
}
