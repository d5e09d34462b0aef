//! Differences that occur by chance alone: the condition with identical settings whose trials differ most.

use super::collect::{self, ConditionTrials};
use super::mode::Mode;
use super::modes;
use super::spread_from::ByChance;
use tare_results::metric;

/// The condition with the largest ratio between the means of its modes, or, without modes, between its trials; none
/// if no condition has two trials with positive means.
pub(super) fn of(conditions: &[ConditionTrials<'_>], name: &str) -> Option<ByChance> {
    let all: Vec<&ConditionTrials<'_>> = conditions.iter().collect();
    let seen = modes::StudyModes::of(&all, &collect::all_metrics(conditions), Some(name));
    let of_modes = |condition: &ConditionTrials<'_>| means(&seen.modes(condition, name));
    let of_trials = |condition: &ConditionTrials<'_>| ends(condition, name);
    let (are_modes, (condition, means)) = widest(conditions, of_modes)
        .map(|found| (true, found))
        .or_else(|| widest(conditions, of_trials).map(|found| (false, found)))?;
    Some(ByChance { condition: condition.to_owned(), means, are_modes, unit: metric::describe(name).unit })
}

/// The name and values of the condition with the largest ratio of last to first value.
fn widest<'c, 'r>(
    conditions: &'c [ConditionTrials<'r>],
    values: impl Fn(&'c ConditionTrials<'r>) -> Vec<f64>,
) -> Option<(&'r str, Vec<f64>)> {
    let all = conditions.iter().filter_map(|condition| {
        let values = values(condition);
        let (first, last) = (*values.first()?, *values.last()?);
        (values.len() > 1 && first > 0.0).then_some((last / first, condition.name, values))
    });
    all.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, name, values)| (name, values))
}

fn means(modes: &[Mode]) -> Vec<f64> {
    modes.iter().map(|mode| mode.mean).collect()
}

fn ends(condition: &ConditionTrials<'_>, name: &str) -> Vec<f64> {
    let mut means: Vec<f64> = condition.means(name);
    means.sort_by(f64::total_cmp);
    match means.as_slice() {
        [first, .., last] => vec![*first, *last],
        _ => Vec::new(),
    }
}
