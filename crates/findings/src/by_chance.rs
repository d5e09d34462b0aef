//! What chance alone makes of a condition: the one whose trials, nothing being set differently, differ most.

use super::collect::ConditionTrials;
use super::modes;
use super::verdict::ByChance;
use tare_results::metric;

/// The condition with the largest ratio between the means of its modes, or, without modes, of its trials; none where
/// no condition has two trials with positive means.
pub(super) fn of(conditions: &[ConditionTrials<'_>], name: &str) -> Option<ByChance> {
    let widest = |are_modes: bool| {
        let all = conditions.iter().filter_map(|condition| {
            let means = if are_modes { mode_means(condition, name) } else { ends(condition, name) };
            let (first, last) = (*means.first()?, *means.last()?);
            (means.len() > 1 && first > 0.0).then_some((last / first, condition, means))
        });
        let (_, condition, means) = all.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let unit = metric::describe(name).unit;
        Some(ByChance { condition: condition.name.to_owned(), means, are_modes, unit })
    };
    widest(true).or_else(|| widest(false))
}

fn mode_means(condition: &ConditionTrials<'_>, name: &str) -> Vec<f64> {
    modes::find(condition, name).iter().map(|mode| mode.mean).collect()
}

fn ends(condition: &ConditionTrials<'_>, name: &str) -> Vec<f64> {
    let mut means: Vec<f64> = condition.with(name).iter().map(|(_, mean)| *mean).collect();
    means.sort_by(f64::total_cmp);
    match means.as_slice() {
        [first, .., last] => vec![*first, *last],
        _ => Vec::new(),
    }
}
