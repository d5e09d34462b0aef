//! Searches for the highest rate under an objective whose figure is worth less than it looks.

use super::collect::ConditionTrials;
use serde::Serialize;
use tare_results::search::SearchRecord;

/// Transactions beyond a percentile, below which it is known too badly: rates found with 20 of them were 3.5% too high
/// on average, with 8 of them 8%.
pub const FEWEST_BEYOND: f64 = 100.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchNotes {
    pub condition: String,
    pub searches: usize,
    /// Of these, the ones whose step at that rate had fewer than 100 transactions beyond the objective's percentile.
    pub scarce: usize,
    /// The fewest of them; null where no search says how many there were.
    pub fewest_beyond: Option<f64>,
    /// Of these, the ones that came to no end: lower rates did not meet the objective and higher ones did.
    pub without_end: usize,
    /// Between which rates those lie, transactions a second; null where all came to an end.
    pub bracket_tps: Option<[f64; 2]>,
}

pub(super) fn find(conditions: &[ConditionTrials<'_>]) -> Vec<SearchNotes> {
    conditions.iter().map(of).filter(|notes| notes.scarce + notes.without_end > 0).collect()
}

fn of(condition: &ConditionTrials<'_>) -> SearchNotes {
    let all = || condition.ok.iter().flat_map(|trial| &trial.searches).filter(|search| search.found_tps.is_some());
    let beyond = || all().filter_map(|search: &SearchRecord| search.found_step()?.beyond);
    let brackets = || all().filter_map(|search| search.bracket_tps);
    SearchNotes {
        condition: condition.name.to_owned(),
        searches: all().count(),
        scarce: beyond().filter(|beyond| *beyond < FEWEST_BEYOND).count(),
        fewest_beyond: beyond().reduce(f64::min),
        without_end: brackets().count(),
        bracket_tps: brackets().reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]),
    }
}
