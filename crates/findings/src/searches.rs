//! Searches for the highest rate that meets an SLO, if their result is less reliable than usual.

use super::collect::ConditionTrials;
use serde::Serialize;
use tare_results::search::SearchRecord;

/// Minimum number of transactions beyond a percentile for a reliable value: rates found with 20 of them were 3.5% too
/// high on average, with 8 of them 8%.
pub const FEWEST_BEYOND: f64 = 100.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchNotes {
    pub condition: String,
    pub searches: usize,
    /// How many searches had fewer than 100 transactions beyond the percentile of the SLO, in the step at the found
    /// rate.
    pub scarce: usize,
    /// The smallest number of transactions beyond the percentile; null if no search recorded it.
    pub fewest_beyond: Option<f64>,
    /// How many searches did not converge: lower rates did not meet the SLO and higher ones did.
    pub without_end: usize,
    /// The range of rates in which these searches did not converge, transactions per second; null if all converged.
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
