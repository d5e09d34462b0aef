//! A shard of a plan on the machine that runs it.

use std::collections::BTreeSet;
use tare_results::schema::Plan;
use thiserror::Error;

/// Why a machine cannot run a shard of a study.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ShardError {
    #[error("this machine cannot run {condition}, which is in the study's schedule: {reason}")]
    CannotDo { condition: String, reason: String },
}

/// The plan of some blocks of `whole` on this machine. `here`, the plan made for this machine, gives the placements
/// and the fingerprint, and `whole` the numbers and the order.
///
/// # Errors
/// When this machine cannot run a condition of the schedule: a block without it would compare nothing with it.
pub fn part(whole: &Plan, here: &Plan, blocks: &BTreeSet<usize>) -> Result<Plan, ShardError> {
    let trials: Vec<_> = whole.trials.iter().filter(|trial| blocks.contains(&trial.block)).cloned().collect();
    for name in trials.iter().map(|trial| trial.condition.as_str()).collect::<BTreeSet<&str>>() {
        let found = here.conditions.iter().find(|condition| condition.name == name);
        if !found.is_some_and(|condition| condition.realizable) {
            let reason = found.and_then(|condition| condition.reason.clone());
            let unknown = || "on this machine it would be a different study".to_owned();
            return Err(ShardError::CannotDo { condition: name.to_owned(), reason: reason.unwrap_or_else(unknown) });
        }
    }
    let share = trials.len() as f64 / whole.trials.len().max(1) as f64;
    Ok(Plan {
        trials,
        estimated_s: whole.estimated_s * share,
        seed: whole.seed,
        rehearsal: whole.rehearsal,
        ..here.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_results::schema::{PlannedCondition, PlannedTrial, SCHEMA};

    fn plan(realizable: &[bool], blocks: usize) -> Plan {
        let condition = |(i, realizable): (usize, &bool)| PlannedCondition {
            name: format!("c{i}"),
            realizable: *realizable,
            reason: (!realizable).then(|| "no second node".to_owned()),
            ..PlannedCondition::default()
        };
        let count = realizable.len();
        let trial = |trial| PlannedTrial {
            trial,
            block: trial / count,
            condition: format!("c{}", trial % count),
            lifetime: None,
        };
        Plan {
            schema: SCHEMA,
            study: "s".into(),
            seed: 1,
            conditions: realizable.iter().enumerate().map(condition).collect(),
            trials: (0..count * blocks).map(trial).collect(),
            samples: 1,
            estimated_s: 100.0,
            ..Plan::default()
        }
    }

    #[test]
    fn a_shard_has_whole_blocks_under_their_own_numbers() {
        let whole = plan(&[true, true], 5);
        let part = part(&whole, &whole, &[1, 4].into()).unwrap();
        assert_eq!(part.trials.iter().map(|t| t.trial).collect::<Vec<_>>(), [2, 3, 8, 9]);
        assert_eq!(part.estimated_s, 40.0);
    }

    #[test]
    fn a_machine_that_lacks_a_condition_is_refused_with_the_reason() {
        let error = part(&plan(&[true, true], 2), &plan(&[true, false], 2), &[0].into()).unwrap_err();
        assert!(error.to_string().contains("cannot run c1") && error.to_string().contains("no second node"), "{error}");
    }
}
