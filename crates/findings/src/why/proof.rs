//! Tests suspects by experiment: selects the experiments that separate them, and judges each result.

use super::model::{Cause, Why};
use super::prove::{Change, Expected};
use super::suspect::Suspect;
use crate::ab::{Ab, AbVerdict};
use serde::Serialize;
use tare_results::pairs::Stop;
use tare_stats::Interval;

/// Maximum number of experiments, for the largest suspects.
const MOST: usize = 3;
/// The change required of an experiment: half of the share of the slower side's time that the suspect explains, limited
/// to this minimum and maximum, so that neither chance nor an overlap with another part decides.
const HALF: f64 = 0.5;
const LEAST: f64 = 0.02;
const GREATEST: f64 = 0.3;

/// One experiment: the slower condition unchanged, compared with the same condition after a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    pub suspect: Suspect,
    pub condition: String,
    pub changes: Vec<Change>,
    /// The expected result if the suspect is the reason.
    pub expected: Expected,
    /// The required change of the time of a transaction, as a fraction: it must occur, or must not.
    pub effect: f64,
}

/// The experiments that decide about the largest suspects, one per suspect: those that explain a tenth of the
/// difference, can be made without user input and would change something. Fewer if two suspects have the same
/// experiment.
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
    /// The result is as expected: the suspect is the reason.
    Stands,
    /// The result is not as expected: the suspect explains at most a small part.
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
    /// Judges the pairs of a comparison: the unchanged condition against the changed one, by the time of a transaction.
    pub fn of(trial: Trial, ab: &Ab) -> Self {
        let claimed = ab.ratio.zip(ab.ci).filter(|_| !ab.stop.is_some_and(Stop::withholds));
        let verdict = judge(trial.expected, trial.effect, ab.verdict, claimed);
        Self { verdict, ratio: ab.ratio, ci: ab.ci, pairs: ab.pairs, elapsed_s: ab.elapsed_s, trial }
    }
}

/// Whether the time fell as required, by the ratio of times and its interval.
fn judge(expected: Expected, effect: f64, ab: AbVerdict, claimed: Option<(f64, Interval)>) -> ProofVerdict {
    let Some((ratio, ci)) = claimed else { return ProofVerdict::Undecided };
    // A fall as large as required is excluded.
    let too_little = 1.0 - ci.low < effect;
    let fell = ab == AbVerdict::Faster && ci.high < 1.0 && 1.0 - ratio >= effect;
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
    fn a_suspect_is_confirmed_or_refuted_by_its_expected_outcome() {
        use ProofVerdict::{Refuted, Stands, Undecided};
        let ci = |low: f64, high: f64| Some((f64::midpoint(low, high), Interval { low, high }));
        let cases = [
            // A fall as large as required.
            (AbVerdict::Faster, ci(0.4, 0.5), Stands, Refuted),
            // Shown, but too small to be the reason.
            (AbVerdict::Faster, ci(0.95, 0.99), Refuted, Stands),
            (AbVerdict::Equivalent, ci(0.99, 1.01), Refuted, Stands),
            (AbVerdict::Slower, ci(1.1, 1.3), Refuted, Stands),
            (AbVerdict::Undecided, ci(0.96, 1.2), Refuted, Stands),
            // Shown, and as large a fall is possible, but it was smaller.
            (AbVerdict::Faster, ci(0.75, 0.99), Undecided, Undecided),
            // Undecided in both directions.
            (AbVerdict::Undecided, ci(0.7, 1.1), Undecided, Undecided),
            (AbVerdict::Undecided, None, Undecided, Undecided),
        ];
        for (ab, claimed, faster, unchanged) in cases {
            assert_eq!(judge(Expected::Faster, 0.2, ab, claimed), faster, "{ab:?} {claimed:?}");
            assert_eq!(judge(Expected::Unchanged, 0.2, ab, claimed), unchanged, "{ab:?} {claimed:?}");
        }
    }
}
