//! Conditions beside the main ones: those with a number of client threads of their own, where the others name none.
//! Their throughput is of another load, so no comparison with the others says anything.

use super::collect::ConditionTrials;
use super::figures::{count, figure, list, percent};
use super::summary::{ConditionSummary, MetricSummary, Summary};
use tare_results::schema::Levels;

/// The factor that makes a load another one.
const THREADS: &str = "threads";

/// The number of client threads that is a condition's own where others name none.
pub fn threads<'a>(levels: &'a Levels, all: impl Iterator<Item = &'a Levels>) -> Option<&'a str> {
    let mut all = all;
    let own = levels.get(THREADS)?;
    all.any(|levels| !levels.contains_key(THREADS)).then_some(own.as_str())
}

/// The main conditions, and those beside them.
pub(super) fn split<'a>(conditions: Vec<ConditionTrials<'a>>) -> (Vec<ConditionTrials<'a>>, Vec<ConditionTrials<'a>>) {
    let (main, aside): (Vec<_>, Vec<_>) =
        conditions.into_iter().partition(|condition| !condition.levels.contains_key(THREADS));
    if main.is_empty() { (aside, main) } else { (main, aside) }
}

/// What the conditions beside the main ones came to: how far their trials lie apart.
pub(super) fn sentence(summary: &Summary) -> Option<String> {
    let metric = summary.headline_metric.as_deref()?;
    let all = || summary.conditions.iter().map(|condition| &condition.levels);
    let beside: Vec<(&ConditionSummary, &MetricSummary)> = summary
        .conditions
        .iter()
        .filter(|condition| threads(&condition.levels, all()).is_some())
        .filter_map(|condition| Some((condition, condition.metrics.iter().find(|m| m.name == metric)?)))
        .collect();
    let words: Vec<String> = beside
        .iter()
        .map(|(condition, found)| {
            let (low, high) = (figure(found.min, &found.unit), figure(found.max, &found.unit));
            let spread = found.between_cov.map_or(String::new(), |cov| format!(", CoV {}", percent(cov)));
            format!("{} from {low} to {high} ({}{spread})", condition.name, count(found.trials, "trial"))
        })
        .collect();
    (!words.is_empty())
        .then(|| format!("Another load beside these, from its worst trial to its best: {}.", list(&words)))
}
