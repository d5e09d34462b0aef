//! Ratios, intervals and verdicts of paired metrics, and the gate.

use super::model::{CompareError, Gate};
use super::pairs::Pair;
use crate::analysis::summarize::CONFIDENCE;
use tare_results::metric::{self, Better};
use tare_stats::ratio::{self, Arms};

/// Marks the metrics that the gate looks at.
pub(super) fn judge(pairs: &mut [Pair], asked: &[String]) -> Result<(), CompareError> {
    let known: Vec<String> = pairs.iter().map(|pair| pair.comparison.name.clone()).collect();
    if known.is_empty() {
        return Err(CompareError::NoMetric);
    }
    if let Some(name) = asked.iter().find(|name| !known.contains(name)) {
        let mut known = known;
        known.sort_by_key(|name| metric::sort_key(name));
        known.dedup();
        return Err(CompareError::NoSuchMetric { name: name.clone(), known });
    }
    let any_primary = known.iter().any(|name| metric::describe(name).is_primary());
    for pair in pairs {
        let comparison = &mut pair.comparison;
        comparison.judged = if asked.is_empty() {
            !any_primary || metric::describe(&comparison.name).is_primary()
        } else {
            asked.contains(&comparison.name)
        };
    }
    Ok(())
}

fn arms(pair: &Pair) -> Arms<'_> {
    Arms { a: &pair.a, b: &pair.b, better: pair.comparison.better }
}

/// Fills ratios, intervals and verdicts in, the pairs given being one family.
pub(super) fn verdicts(mut pairs: Vec<Pair>, min_effect: f64) -> Vec<Pair> {
    // A metric that is zero in A has no ratio and stays inconclusive; it must not spoil the family.
    let usable: Vec<usize> =
        (0..pairs.len()).filter(|i| ratio::fieller(&pairs[*i].a, &pairs[*i].b, CONFIDENCE).is_ok()).collect();
    let family: Vec<Arms<'_>> = usable.iter().map(|i| arms(&pairs[*i])).collect();
    let outcomes = ratio::compare(&family, min_effect, CONFIDENCE).unwrap_or_default();
    for (index, outcome) in usable.into_iter().zip(outcomes) {
        let comparison = &mut pairs[index].comparison;
        comparison.ratio = Some(outcome.ratio.value);
        comparison.ci = outcome.ratio.ci;
        comparison.verdict = outcome.verdict;
    }
    pairs
}

/// Failed: some judged metric is shown to be slower by more than the margin, adjusted for their number. Passed: the
/// worse end of every judged interval lies within the margin; all must, so nothing needs adjusting. Else undecided.
pub(super) fn gate(judged: &[Pair], margin: f64) -> Gate {
    let family: Vec<Arms<'_>> = judged.iter().filter(|pair| pair.comparison.ratio.is_some()).map(arms).collect();
    let outcomes = ratio::compare(&family, margin, CONFIDENCE).unwrap_or_default();
    if outcomes.iter().any(|outcome| outcome.verdict == ratio::Verdict::Slower) {
        return Gate::Failed;
    }
    let within = |pair: &Pair| match pair.comparison.better {
        Better::Higher => pair.comparison.ci.is_some_and(|ci| ci.low >= 1.0 / (1.0 + margin)),
        Better::Lower => pair.comparison.ci.is_some_and(|ci| ci.high <= 1.0 + margin),
    };
    if judged.iter().all(within) { Gate::Passed } else { Gate::Inconclusive }
}
