//! Pairs that are added until it is decided whether two conditions differ. Which of them runs first in a pair, or on
//! the first half of the machine if both run at the same time, is drawn from a separate seed, so that the data, which
//! depend on the study's seed, are the same in every run.

use super::design::Condition;
use super::estimate;
use crate::language::spec::Study;
use tare_results::pairs::{Pairs, Rule, Stop};
use tare_results::schema::{Plan, Session, Settle, TrialRecord, Turns};

/// Replaces the schedule by the plan's first pair.
pub fn begun(mut plan: Plan, rule: Settle) -> Plan {
    plan.trials.clear();
    plan.settle = Some(rule.clone());
    with_pairs(plan, &rule, 1)
}

/// The plan with this many pairs of the rule's conditions, and no further ones; existing pairs stay.
pub fn scheduled(mut plan: Plan, rule: &Settle, pairs: usize) -> Plan {
    plan.settle = None;
    with_pairs(plan, rule, pairs)
}

/// Replaces the schedule by this many pairs of the first condition with each other one; their samples alternate. The
/// machine has `cpus` CPUs.
pub fn against_first(mut plan: Plan, pairs: usize, study: &Study, cpus: usize) -> Plan {
    let conditions: Vec<Condition> = plan.conditions.iter().filter_map(estimate::condition).collect();
    let trials_s = |plan: &Plan| estimate::trials_s(&plan.trials, &conditions, &study.sampling, cpus);
    // The rest is the time for making the data, however many trials there are.
    plan.estimated_s -= trials_s(&plan);
    let names: Vec<String> = plan.realizable().map(|c| c.name.clone()).collect();
    plan.trials.clear();
    plan.turns = Some(Turns { seed: plan.seed });
    if let Some((first, others)) = names.split_first() {
        let blocks = pairs * others.len();
        let orders = tare_stats::order::randomized_blocks(2, blocks, plan.seed);
        for (block, (order, other)) in orders.into_iter().zip(others.iter().cycle()).enumerate() {
            let sides = [first, other];
            for side in order {
                plan.push(block, sides[side], None);
            }
        }
    }
    plan.estimated_s += trials_s(&plan);
    plan
}

/// The plan with one more pair, if all trials have ended without a decision. The same records give the same plan.
pub fn extended(plan: &Plan, records: &[TrialRecord]) -> Option<Plan> {
    let rule = plan.settle.as_ref()?;
    let pairs = Pairs::of(plan, rule, records);
    let planned = plan.trials.len() / 2;
    let goes_on = pairs.ended() == planned && pairs.decided(rule)?.stop.is_none();
    let next = Settle { rule: pairs.rule_in_time(rule), ..rule.clone() };
    goes_on.then(|| with_pairs(Plan { settle: Some(next), ..plan.clone() }, rule, planned + 1))
}

/// Gives a comparison another budget: only one that looks after every pair, whose error includes every moment
/// at which it may end or go on. Its rule is fixed from then on, although it was chosen by another budget.
pub fn give_budget(plan: &mut Plan, budget_s: f64) {
    if let Some(rule) = plan.settle.as_mut().filter(|rule| rule.rule == Rule::Anytime) {
        (rule.budget_s, rule.by_time) = (Some(budget_s), false);
    }
}

/// The plan of a comparison that continues. If the machine was restarted since, or a session has all its pairs and
/// others are to follow, a new session begins with the first pair that has not ended. A comparison that has ended stays
/// as it is: another session would be another look.
pub fn resumed(mut plan: Plan, records: &[TrialRecord], boot_id: Option<String>) -> Plan {
    let Some(rule) = &plan.settle else { return plan };
    let pairs = Pairs::of(&plan, rule, records);
    let stop = pairs.decided(rule).and_then(|look| look.stop);
    let over = stop == Some(Stop::Session);
    if stop.is_some() && !over && pairs.ended() == plan.trials.len() / 2 {
        return plan;
    }
    let restarted = rule.begun.last().is_none_or(|session| session.boot_id != boot_id);
    let first_block = pairs.ended();
    if let Some(rule) = plan.settle.as_mut().filter(|_| over || restarted) {
        // A session without a pair is dropped.
        rule.begun.retain(|session| session.first_block < first_block);
        rule.begun.push(Session { first_block, boot_id });
    }
    plan
}

/// Which trial of a pair, the plan's first or second, measures first in each of `rounds` rounds of alternating
/// samples: in the first round the pair's first trial, which was chosen at random, then at random for each round.
pub fn drawn(turns: Turns, first_trial: usize, rounds: usize) -> Vec<usize> {
    let seed = turns.seed.wrapping_add(1).wrapping_add(first_trial as u64);
    let drawn = tare_stats::order::randomized_blocks(2, rounds.saturating_sub(1), seed);
    std::iter::once(0).chain(drawn.into_iter().map(|order| order[0])).collect()
}

fn with_pairs(mut plan: Plan, rule: &Settle, pairs: usize) -> Plan {
    let orders = tare_stats::sequential::orders(pairs, rule.seed);
    for (block, b_first) in orders.into_iter().enumerate().skip(plan.trials.len() / 2) {
        for condition in rule.pair(b_first) {
            plan.push(block, condition, None);
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::builtin;
    use crate::language::document::Source;
    use crate::language::parse::{Overrides, parse};
    use crate::plan::design;
    use crate::plan::resolve::{Where, resolve};
    use std::collections::BTreeMap;
    use tare_results::schema::PlannedTrial;
    use tare_results::schema::SampleRecord;
    use tare_topology::Machine;

    /// Sessions of six pairs on one boot, of a comparison over five sessions. A and B are first in turn.
    fn measured(sessions: usize) -> (Plan, Vec<TrialRecord>) {
        let begun = (0..sessions).map(|session| Session { first_block: 6 * session, boot_id: None }).collect();
        let between = Settle::between(["a", "b"].map(str::to_owned), Rule::Sessions, 1);
        let rule = Settle { minimum_effect: 0.02, sessions: 5, begun, ..between };
        let mut plan = Plan { settle: Some(rule), ..Plan::default() };
        for block in 0..6 * sessions {
            for condition in if block % 2 == 0 { ["a", "b"] } else { ["b", "a"] } {
                plan.push(block, condition, None);
            }
        }
        let record = |planned: &PlannedTrial| {
            // B is worse in one session and better in the next, so there is no verdict.
            let worse = match (planned.condition.as_str(), planned.block / 6 % 2) {
                ("b", 0) => 0.03,
                ("b", _) => -0.03,
                _ => 0.0,
            };
            let tps = 1000.0 * (1.0 - worse) + (planned.trial % 5) as f64;
            let metrics = [("tps".to_owned(), tps)].into();
            let samples = vec![SampleRecord { elapsed_s: 1.0, metrics, ..SampleRecord::default() }];
            TrialRecord { samples, ..TrialRecord::new(planned, 1, BTreeMap::new(), String::new()) }
        };
        let records = plan.trials.iter().map(record).collect();
        (plan, records)
    }

    #[test]
    fn a_comparison_that_has_ended_gets_no_further_session_after_a_restart() {
        let after_restart = |sessions: usize, left: usize| {
            let (plan, mut records) = measured(sessions);
            records.truncate(records.len() - left);
            let rule = resumed(plan, &records, Some("another boot".to_owned())).settle.unwrap();
            rule.begun.iter().map(|session| session.first_block).collect::<Vec<_>>()
        };
        assert_eq!(after_restart(5, 0), [0, 6, 12, 18, 24]);
        // One session is still to follow, or a pair has not ended.
        assert_eq!(after_restart(4, 0), [0, 6, 12, 18, 24]);
        assert_eq!(after_restart(5, 1), [0, 6, 12, 18, 24, 29]);
    }

    #[test]
    fn more_time_extends_a_comparison_that_looks_after_every_pair_by_the_same_rule() {
        let (mut plan, mut records) = measured(2);
        records.iter_mut().for_each(|record| record.elapsed_s = 1.0);
        let of = |rule: Rule| {
            let between = Settle::between(["a", "b"].map(str::to_owned), rule, 1);
            let begun = vec![Session { first_block: 0, boot_id: None }];
            Settle { minimum_effect: 0.001, by_time: true, budget_s: Some(5.0), begun, ..between }
        };
        let with_budget = |plan: &Plan| {
            let mut plan = plan.clone();
            give_budget(&mut plan, 30.0);
            plan
        };
        plan.settle = Some(of(Rule::Looks));
        assert_eq!(with_budget(&plan), plan, "its looks are for its budget");
        plan.settle = Some(of(Rule::Anytime));
        assert_eq!(extended(&plan, &records), None, "its time is over");
        let longer = resumed(with_budget(&plan), &records, None);
        let rule = Settle { budget_s: Some(30.0), by_time: false, ..of(Rule::Anytime) };
        assert_eq!(longer, Plan { settle: Some(rule.clone()), ..plan.clone() });
        let next = extended(&longer, &records).unwrap();
        assert_eq!((next.trials.len(), next.settle), (plan.trials.len() + 2, Some(rule)));
        // After a restart, its next pair begins another session.
        let restarted = resumed(with_budget(&plan), &records, Some("another boot".to_owned()));
        assert_eq!(restarted.settle.unwrap().begun.last().map(|session| session.first_block), Some(12));
    }

    #[test]
    fn the_time_for_making_the_data_does_not_grow_with_the_pairs() {
        let text = builtin::find("first-look").unwrap().text;
        let study = parse(Source { origin: "first-look", text }, &Overrides::default()).unwrap();
        let machine = Machine::synthetic("package:2 [numa] core:4 pu:2").unwrap();
        let plan = resolve(&study, &machine, Where::Described).unwrap();
        let conditions = design::conditions(&study).unwrap();
        let done = conditions.iter().zip(&plan.conditions).filter(|(_, planned)| planned.realizable).map(|(c, _)| c);
        assert!(done.clone().count() > 2);
        let paired_s = |pairs| against_first(plan.clone(), pairs, &study, machine.pus.len()).estimated_s;
        let data_s = estimate::data_s(done, &study);
        let left_s = 2.0 * paired_s(4) - paired_s(8);
        assert!(data_s > 0.01 && (left_s - data_s).abs() < 1e-6, "{left_s} {data_s}");
    }
}
