//! Matches conditions of A and B.

use super::conclusion::Note;
use super::model::{CompareError, Side};
use crate::answer::headline_metric;
use crate::collect::{self, ConditionTrials};
use crate::{composite, residuals};
use std::collections::{BTreeMap, HashMap, HashSet};
use tare_results::schema::Levels;

/// The conditions of one side, and the order of its trials.
pub(crate) struct Run<'r> {
    pub conditions: Vec<ConditionTrials<'r>>,
    /// The levels that selected them; empty for all conditions, or for one selected by its full name.
    chosen: Levels,
    pub(super) order: Option<Order>,
}

/// The residuals of the trials of a run after the effects of conditions, in the order of the trials.
pub(super) struct Order {
    /// The trials of each machine as a series; without blocks, each condition as a series of its own, because nothing
    /// says in which order trials of different conditions ran.
    pub series: Vec<Vec<f64>>,
    /// Number of trials among which those of a condition ran; 0 if, as far as is known, they ran one after the other.
    pub among: usize,
}

pub(crate) fn run_of(side: Side<'_>) -> Result<Run<'_>, CompareError> {
    let all = collect::conditions(side.results);
    let order = order(&all);
    let Some(name) = side.condition else { return Ok(Run { conditions: all, chosen: Levels::new(), order }) };
    let known = all.iter().map(|condition| condition.name.to_owned()).collect();
    if let Some(whole) = all.iter().position(|condition| condition.name == name) {
        return Ok(Run { conditions: vec![all[whole].clone()], chosen: Levels::new(), order });
    }
    // Some of the levels select all conditions that have them.
    let chosen = tare_results::levels_of(name);
    let has = |condition: &ConditionTrials<'_>| {
        !chosen.is_empty() && chosen.iter().all(|(factor, level)| condition.levels.get(factor) == Some(level))
    };
    let conditions: Vec<ConditionTrials<'_>> = all.into_iter().filter(has).collect();
    if conditions.is_empty() {
        return Err(CompareError::NoCondition { name: name.to_owned(), known });
    }
    Ok(Run { conditions, chosen, order })
}

/// The levels of a condition without the factors that select either side.
fn others<'l>(condition: &'l ConditionTrials<'_>, a: &Levels, b: &Levels) -> Vec<(&'l String, &'l String)> {
    let levels = condition.levels.iter();
    levels.filter(|(factor, _)| !a.contains_key(*factor) && !b.contains_key(*factor)).collect()
}

/// None without a trial that has the headline metric.
fn order(conditions: &[ConditionTrials<'_>]) -> Option<Order> {
    let composite = composite::of(conditions, &headline_metric(&collect::all_metrics(conditions))?)?;
    let all = residuals::residuals_by_machine(conditions, &composite);
    if conditions.iter().all(|condition| condition.blocked) {
        let among = all.iter().map(Vec::len).sum();
        let values = |own: Vec<(usize, f64)>| own.into_iter().map(|(_, residual)| residual).collect();
        return Some(Order { among, series: all.into_iter().map(values).collect() });
    }
    let mut series = vec![Vec::new(); conditions.len()];
    all.into_iter().flatten().for_each(|(condition, residual)| series[condition].push(residual));
    Some(Order { series, among: 0 })
}

pub(crate) type Matched<'c, 'r> = Vec<(&'c ConditionTrials<'r>, &'c ConditionTrials<'r>)>;

/// Two single conditions match whatever their names. Several match by name, and if levels selected them, by all other
/// levels.
pub(crate) fn matched<'c, 'r>(a: &'c Run<'r>, b: &'c Run<'r>) -> Result<Matched<'c, 'r>, CompareError> {
    if let ([one], [other]) = (a.conditions.as_slice(), b.conditions.as_slice()) {
        return Ok(vec![(one, other)]);
    }
    let chosen = !(a.chosen.is_empty() && b.chosen.is_empty());
    let belong = |one: &ConditionTrials<'_>, other: &ConditionTrials<'_>| {
        let rest = |side| others(side, &a.chosen, &b.chosen);
        rest(one) == rest(other)
    };
    let by_name: HashMap<&str, &'c ConditionTrials<'r>> =
        b.conditions.iter().map(|other| (other.name, other)).collect();
    let partner = |one: &ConditionTrials<'_>| match by_name.get(one.name) {
        Some(same) => Some(*same),
        // With thousands of conditions a full scan is slow, so the other levels are compared only if levels selected
        // the sides.
        None => b.conditions.iter().find(|other| chosen && belong(one, other)),
    };
    let matched: Matched<'c, 'r> = a.conditions.iter().filter_map(|one| Some((one, partner(one)?))).collect();
    let names = |side: &Run<'_>| side.conditions.iter().map(|condition| condition.name.to_owned()).collect();
    if matched.is_empty() { Err(CompareError::NothingShared { a: names(a), b: names(b) }) } else { Ok(matched) }
}

pub(super) fn unmatched(a: &Run<'_>, b: &Run<'_>, matched: &Matched<'_, '_>, labels: [&str; 2]) -> Vec<Note> {
    let known: HashSet<&str> = matched.iter().flat_map(|(a, b)| [a.name, b.name]).collect();
    let only = |side: &Run<'_>, label: &str| -> Vec<Note> {
        side.conditions
            .iter()
            .filter(|condition| !known.contains(condition.name))
            .map(|condition| Note::OnlyIn { condition: condition.name.to_owned(), side: label.to_owned() })
            .collect()
    };
    [only(a, labels[0]), only(b, labels[1])].concat()
}

/// The headline metric of each side, if the other side lacks it. A side without a usable trial has its own note.
pub(super) fn lacking(matched: &Matched<'_, '_>, labels: [&str; 2]) -> Vec<Note> {
    let mut lacking: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for (a, b) in matched {
        let metrics = [a.metrics(), b.metrics()];
        for side in 0..2 {
            let (own, others) = (&metrics[side], &metrics[1 - side]);
            let lacks = |headline: &String| !own.is_empty() && !own.contains(headline);
            if let Some(headline) = headline_metric(others).filter(lacks) {
                *lacking.entry((side, headline)).or_default() += 1;
            }
        }
    }
    let note = |((side, metric), conditions): ((usize, String), usize)| Note::Lacks {
        side: labels[side].to_owned(),
        metric,
        of: labels[1 - side].to_owned(),
        conditions,
        compared: matched.len(),
    };
    lacking.into_iter().map(note).collect()
}
