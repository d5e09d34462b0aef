//! Failed trials of each side: a server that crashes or does nothing is a result, not a missing value.

use super::model::{ConditionPair, Losses, Lost};
use super::pairs::Matched;
use crate::collect::ConditionTrials;
use crate::confidence::CONFIDENCE;
use std::collections::BTreeSet;
use tare_stats::counts::{Count, more_in_b};
use tare_stats::multiple::holm;

/// Failures of both sides, for every pair of conditions in which one side failed; not tested yet.
pub(super) fn of(matched: &Matched<'_, '_>, [first, side]: [&str; 2]) -> Vec<Losses> {
    let losses = matched.iter().map(|(a, b)| Losses {
        first: first.to_owned(),
        side: side.to_owned(),
        condition: ConditionPair { a: a.name.to_owned(), b: b.name.to_owned() },
        a: lost(a),
        b: lost(b),
        p_value: 1.0,
        b_fails_more: false,
    });
    losses.filter(|found| found.a.failed + found.b.failed > 0).collect()
}

/// Attempts that were spoiled by a disturbance do not count as failures of the side.
pub(super) fn lost(side: &ConditionTrials<'_>) -> Lost {
    let numbers = |trials: &[&tare_results::schema::TrialRecord]| trials.iter().map(|t| t.trial).collect();
    let (failed, ok): (BTreeSet<usize>, BTreeSet<usize>) = (numbers(&side.failed), numbers(&side.ok));
    Lost { failed: failed.len(), lost: side.lost(), trials: failed.union(&ok).count() }
}

/// Tests whether B fails more often; all pairs of conditions are one family of tests.
pub(super) fn tested(mut all: Vec<Losses>) -> Vec<Losses> {
    let count = |lost: &Lost| Count { hits: lost.failed, of: lost.trials };
    let p_values: Vec<f64> = all.iter().map(|found| more_in_b(count(&found.a), count(&found.b))).collect();
    for (found, p_value) in all.iter_mut().zip(holm(&p_values)) {
        (found.p_value, found.b_fails_more) = (p_value, p_value <= 1.0 - CONFIDENCE);
    }
    all
}
