//! Failed trials of each side: a server that crashes or does nothing is a result, not a missing value.

use super::model::{ConditionPair, Losses, Lost, Note, Side};
use super::pairs::Matched;
use crate::collect::ConditionTrials;
use crate::confidence::CONFIDENCE;
use std::collections::BTreeSet;
use tare_results::schema::PlannedTrial;
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

/// Planned trials of a side that were not run, of the compared conditions or, without a selection, of all. Rounds end
/// by a rule, not by a plan.
pub(super) fn unfinished(side: Side<'_>, compared: &[&str], label: &str) -> Option<Note> {
    let plan = side.results.plan.as_ref().filter(|plan| !plan.goes_in_rounds())?;
    let realizable =
        |name: &str| plan.conditions.iter().all(|condition| condition.realizable || condition.name != name);
    let is_compared = |name: &str| side.condition.is_none() || compared.contains(&name);
    let made: BTreeSet<usize> = side.results.trials.iter().map(|trial| trial.trial).collect();
    let mine = |trial: &&PlannedTrial| is_compared(&trial.condition) && realizable(&trial.condition);
    let planned: Vec<usize> = plan.trials.iter().filter(mine).map(|trial| trial.trial).collect();
    let missing = planned.iter().filter(|trial| !made.contains(trial)).count();
    (missing > 0).then(|| Note::Unfinished { side: label.to_owned(), missing, planned: planned.len() })
}

/// Whether a comparison lacks something that the first side should have been compared with.
pub(super) fn is_incomplete(notes: &[Note], first: &str) -> bool {
    notes.iter().any(|note| match note {
        Note::Unfinished { .. } => true,
        Note::OnlyIn { side, .. } => side == first,
        _ => false,
    })
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
