//! A shard of a plan on the machine that runs it.

use super::design::Condition;
use super::estimate;
use crate::language::spec::Study;
use std::collections::BTreeSet;
use tare_results::schema::Plan;
use thiserror::Error;

/// Why a machine cannot run a shard of a study.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("this machine cannot run {condition}, which is in the study's schedule: {reason}")]
pub struct ShardError {
    condition: String,
    reason: String,
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
            return Err(ShardError { condition: name.to_owned(), reason: reason.unwrap_or_else(unknown) });
        }
    }
    let share = trials.len() as f64 / whole.trials.len().max(1) as f64;
    Ok(Plan {
        trials,
        // Each machine makes the data for itself.
        estimated_s: here.data_s + whole.trials_s() * share,
        seed: whole.seed,
        rehearsal: whole.rehearsal,
        ..here.clone()
    })
}

/// Expected time of the largest of `count` shards, seconds, on a machine that has none of the data.
pub fn each_s(study: &Study, whole: &Plan, count: usize) -> f64 {
    let conditions: Vec<Condition> = whole.realizable().filter_map(estimate::condition).collect();
    let blocks = whole.blocks().len();
    let share = blocks.div_ceil(count.max(1)) as f64 / blocks.max(1) as f64;
    estimate::data_s(conditions.iter(), study) + whole.trials_s() * share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::builtin;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};
    use crate::plan::resolve::{Where, resolve};
    use tare_results::schema::{PlannedCondition, PlannedTrial, SCHEMA};
    use tare_topology::Machine;

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
        let whole = Plan { data_s: 20.0, ..plan(&[true, true], 5) };
        let part = part(&whole, &whole, &[1, 4].into()).unwrap();
        assert_eq!(part.trials.iter().map(|t| t.trial).collect::<Vec<_>>(), [2, 3, 8, 9]);
        // Two fifths of the trials, and all of the data.
        assert_eq!(part.estimated_s, 20.0 + 32.0);
    }

    /// Data that exist where the study is divided may have to be made elsewhere.
    #[test]
    fn every_shard_makes_all_of_the_data() {
        let text = builtin::find("first-look").unwrap().text;
        let study = parse(Source { origin: "first-look", text }, &Overrides::default()).unwrap();
        let machine = Machine::synthetic("package:2 [numa] core:4 pu:2").unwrap();
        let whole = resolve(&study, &machine, Where::Described).unwrap();
        let made = Plan { data_s: 0.0, estimated_s: whole.trials_s(), ..whole.clone() };
        let blocks = whole.blocks().len();
        for (count, blocks_each) in [(1, blocks), (2, blocks.div_ceil(2)), (blocks, 1)] {
            let expected_s = whole.data_s + whole.trials_s() * blocks_each as f64 / blocks as f64;
            for plan in [&whole, &made] {
                assert!((each_s(&study, plan, count) - expected_s).abs() < 1e-6, "{count}: {expected_s}");
            }
        }
        assert!(blocks > 2 && whole.data_s > 0.01, "{blocks} {}", whole.data_s);
    }

    #[test]
    fn a_machine_that_lacks_a_condition_is_refused_with_the_reason() {
        let error = part(&plan(&[true, true], 2), &plan(&[true, false], 2), &[0].into()).unwrap_err();
        assert!(error.to_string().contains("cannot run c1") && error.to_string().contains("no second node"), "{error}");
    }
}
