//! Which conditions and metrics of A and B belong together.

use super::model::{CompareError, MetricComparison, Side};
use crate::analysis::collect::{self, ConditionTrials};
use tare_results::metric;
use tare_stats::ratio::Verdict;

/// The trial means of one metric on both sides.
pub(super) struct Pair {
    pub comparison: MetricComparison,
    pub a: Vec<f64>,
    pub b: Vec<f64>,
}

pub(super) fn conditions(side: Side<'_>) -> Result<Vec<ConditionTrials<'_>>, CompareError> {
    let all = collect::conditions(side.results);
    let Some(name) = side.condition else { return Ok(all) };
    let known = all.iter().map(|condition| condition.name.to_owned()).collect();
    match all.into_iter().find(|condition| condition.name == name) {
        Some(condition) => Ok(vec![condition]),
        None => Err(CompareError::NoCondition { name: name.to_owned(), known }),
    }
}

pub(super) type Matched<'c, 'r> = Vec<(&'c ConditionTrials<'r>, &'c ConditionTrials<'r>)>;

/// One condition a side pairs whatever the names; several pair by name.
pub(super) fn matched<'c, 'r>(
    a: &'c [ConditionTrials<'r>],
    b: &'c [ConditionTrials<'r>],
) -> Result<Matched<'c, 'r>, CompareError> {
    if let ([one], [other]) = (a, b) {
        return Ok(vec![(one, other)]);
    }
    let matched: Matched<'c, 'r> =
        a.iter().filter_map(|one| Some((one, b.iter().find(|other| other.name == one.name)?))).collect();
    let names = |side: &[ConditionTrials<'_>]| side.iter().map(|condition| condition.name.to_owned()).collect();
    if matched.is_empty() { Err(CompareError::NothingShared { a: names(a), b: names(b) }) } else { Ok(matched) }
}

pub(super) fn unmatched(
    a: &[ConditionTrials<'_>],
    b: &[ConditionTrials<'_>],
    matched: &Matched<'_, '_>,
) -> Vec<String> {
    let only = |side: &[ConditionTrials<'_>], label: &str| -> Vec<String> {
        side.iter()
            .filter(|condition| !matched.iter().any(|(a, b)| a.name == condition.name || b.name == condition.name))
            .map(|condition| format!("{} is only in {label} and is not compared", condition.name))
            .collect()
    };
    [only(a, "A"), only(b, "B")].concat()
}

pub(super) fn metrics_of(a: &ConditionTrials<'_>, b: &ConditionTrials<'_>) -> Vec<Pair> {
    let condition = if a.name == b.name { a.name.to_owned() } else { format!("{} -> {}", a.name, b.name) };
    let in_b = b.metrics();
    let shared = a.metrics().into_iter().filter(|name| in_b.contains(name));
    shared
        .map(|name| {
            let means =
                |side: &ConditionTrials<'_>| side.with(&name).into_iter().map(|(_, mean)| mean).collect::<Vec<f64>>();
            let (a, b) = (means(a), means(b));
            let described = metric::describe(&name);
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
            let comparison = MetricComparison {
                condition: condition.clone(),
                unit: described.unit.to_owned(),
                better: described.better,
                mean_a: mean(&a),
                mean_b: mean(&b),
                trials_a: a.len(),
                trials_b: b.len(),
                ratio: None,
                ci: None,
                verdict: Verdict::Inconclusive,
                judged: false,
                name,
            };
            Pair { comparison, a, b }
        })
        .collect()
}
