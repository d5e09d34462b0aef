//! Causes of modes, as shares of pairs and threads by placement: trials with the figures of the published articles.

use crate::draws::Draws;
use crate::made_up::{results, trial};
use std::collections::BTreeMap;
use tare_findings::mode::InCommon;
use tare_findings::places::{Category, Feature, Property, Shared, features, threads_table};
use tare_findings::summarize;
use tare_findings::summary::Summary;
use tare_results::Results;
use tare_results::schema::{
    Environment, PlannedCondition, PlannedPlacement, SCHEMA, ThreadClass, ThreadRecord, TrialRecord,
};
use tare_text::Value;
use tare_topology::Machine;

fn thread(class: ThreadClass, pair: usize, cpu: u32) -> ThreadRecord {
    ThreadRecord {
        class,
        pair: Some(pair),
        pid: 1,
        tid: 100 + pair as u32,
        name: "x".into(),
        allowed_cpus: cpu.into(),
        seen_cpus: BTreeMap::from([(cpu as usize, 10)]),
        user_s: 1.0,
        ..ThreadRecord::default()
    }
}

/// A trial with this throughput whose pairs ran on these (client, server) CPUs.
pub fn seated(number: usize, tps: f64, pairs: &[(u32, u32)]) -> TrialRecord {
    let mut record = trial(number, number, "placement=balanced", tps, false);
    let both = |(pair, (client, server)): (usize, &(u32, u32))| {
        [thread(ThreadClass::Client, pair, *client), thread(ThreadClass::Connection, pair, *server)]
    };
    record.samples[0].threads = pairs.iter().enumerate().flat_map(both).collect();
    record
}

/// The environment record of a machine with this description.
pub fn environment(machine: &str) -> Environment {
    let [tare_version, command, kernel, cpu_model, os] = [const { String::new() }; 5];
    let (hypervisor, settings, machine) = (None, BTreeMap::new(), Machine::synthetic(machine).unwrap());
    Environment { schema: SCHEMA, tare_version, command, kernel, cpu_model, hypervisor, os, settings, machine }
}

#[test]
fn counts_of_any_size_are_added() {
    let mut record = seated(0, 1000.0, &[(0, 1)]);
    record.samples[0].threads[0].seen_cpus = BTreeMap::from([(0, u64::MAX), (1, u64::MAX)]);
    record.samples.push(record.samples[0].clone());
    let rows = threads_table(&[&record]);
    assert_eq!(rows[0].seen, BTreeMap::from([(0, 0.5), (1, 0.5)]));
    let cpu = &features(&record, None)[&Property::MainCpu(ThreadClass::Client, 0)];
    assert_eq!(*cpu, Feature::Category(Category::Cpu(0)));
}

pub fn summary(machine: &str, trials: Vec<TrialRecord>) -> Summary {
    summarize(&Results { environment: Some(environment(machine)), ..results("spread", trials) })
}

/// The same for a study that binds every thread and pairs none, so that tare drew the seats.
pub fn summary_of_drawn_seats(machine: &str, trials: Vec<TrialRecord>) -> Summary {
    let sets = || vec![0_u32.into(), 1_u32.into()];
    let words = [("placement.bind", "thread"), ("placement.pairing", "none")];
    let planned = PlannedCondition {
        name: "placement=balanced".to_owned(),
        realizable: true,
        placement: Some(PlannedPlacement { client: sets(), server: sets(), ..PlannedPlacement::default() }),
        settings: words.map(|(key, word)| (key.to_owned(), Value::from(word))).into(),
        ..PlannedCondition::default()
    };
    let mut made = results("spread", trials);
    made.plan.as_mut().unwrap().conditions = vec![planned];
    summarize(&Results { environment: Some(environment(machine)), ..made })
}

/// What the trials of the lower and the upper mode have in common, with the two centres.
fn sides(summary: &Summary) -> [(InCommon, f64); 2] {
    let metric = summary.conditions[0].metrics.iter().find(|metric| metric.name == "tps").unwrap();
    let cause = metric.mode_cause.as_ref().unwrap_or_else(|| panic!("no cause: {metric:?}"));
    let [low, high] = cause.sides.as_slice() else { panic!("{cause:?}") };
    [(low.in_common.clone(), low.mean), (high.in_common.clone(), high.mean)]
}

pub const ARTICLE_A: &str = "package:2 node:1 l3:1 core:6 pu:2";

/// "Mind your core", clients on 0 and 12, server on 4 and 16: its 24K, both clients on one node and both server threads
/// on the other, and its 36 to 37K, one of each on each node. Twelve trials of either have the mean and the CoV of its
/// four and three runs; the eighth, 30,001, is a mixture.
#[test]
fn the_articles_24k_and_37k_are_pairs_on_two_nodes_and_on_one() {
    let mut draws = Draws::new(24);
    let mut of = |mean: f64, cov: f64| mean * (cov * draws.normal()).exp();
    let trials = (0..24).map(|i| match i % 4 {
        0 => seated(i, of(24_453.5, 0.004), &[(0, 16), (0, 16)]),
        2 => seated(i, of(24_453.5, 0.004), &[(12, 4), (12, 4)]),
        _ => seated(i, of(36_730.0, 0.023), &[(0, 4), (12, 16)]),
    });
    let [(low, slow), (high, fast)] = sides(&summary(ARTICLE_A, trials.collect()));
    assert!((slow / 24_453.5 - 1.0).abs() < 0.01 && (fast / 36_730.0 - 1.0).abs() < 0.02, "{slow} and {fast}");
    assert_eq!(low, InCommon::Pairs { relation: Shared::Node, share: 0.0 });
    assert_eq!(high, InCommon::Pairs { relation: Shared::Cache, share: 1.0 });
}

/// 16 pairs, and the number of near pairs differs in every trial: as words each trial would be its own group.
#[test]
fn the_share_of_pairs_on_one_node_distinguishes_the_modes() {
    let seats = |near: usize| -> Vec<(u32, u32)> {
        (0..16)
            .map(|pair| if pair < near { (pair % 12, (pair + 2) % 12) } else { (pair % 12, 12 + pair % 12) })
            .map(|(client, server)| (client as u32, server as u32))
            .collect()
    };
    let trials = (0..14).map(|i| match i % 2 {
        0 => seated(i, 24_000.0 + 90.0 * (i as f64 % 5.0), &seats(i / 2)),
        _ => seated(i, 37_000.0 + 90.0 * (i as f64 % 5.0), &seats(9 + i / 2)),
    });
    let [(low, _), (high, _)] = sides(&summary(ARTICLE_A, trials.collect()));
    let share = |of: &InCommon| match of {
        InCommon::Pairs { relation, share } => (*relation, *share),
        other => panic!("{other:?}"),
    };
    let ((relation, few), (_, many)) = (share(&low), share(&high));
    assert_eq!(relation, Shared::Cache);
    // Numbers 0 to 6 and 9 to 15 of 16.
    assert!((few - 3.0 / 16.0).abs() < 1e-9 && (many - 12.0 / 16.0).abs() < 1e-9, "{few} and {many}");
}

/// The system fills one node first: every pair is on one node in all trials, and the modes differ by the number of
/// threads on the node with most of them.
#[test]
fn a_system_that_fills_one_node_first_is_found_by_the_threads_of_the_fullest_node() {
    let seats = |on_first: usize| -> Vec<(u32, u32)> {
        (0..8).map(|pair| if pair < on_first { (0, 4) } else { (12, 16) }).collect()
    };
    let trials = (0..12).map(|i| match i % 2 {
        0 => seated(i, 20_000.0 + 50.0 * (i as f64 % 5.0), &seats(8)),
        _ => seated(i, 35_000.0 + 50.0 * (i as f64 % 5.0), &seats(4)),
    });
    let summary = summary(ARTICLE_A, trials.collect());
    let metric = summary.conditions[0].metrics.iter().find(|metric| metric.name == "tps").unwrap();
    assert_eq!(metric.mode_cause.as_ref().unwrap().covariate, Property::FullestNode);
    let [(low, _), (high, _)] = sides(&summary);
    assert_eq!((low, high), (InCommon::Number(1.0), InCommon::Number(0.5)));
}

/// Three slow trials, three fast ones and so on: neighbours resemble each other, and eight of twelve pairs of them are
/// of one mode. Seats that tare drew are the cause all the same; those that the system chose may have followed whatever
/// made trials slow.
#[test]
fn drawn_seats_are_the_cause_of_modes_although_neighbouring_trials_resemble_each_other() {
    let seats = |i: usize| -> Vec<(u32, u32)> {
        let server = |pair: usize| match i / 3 % 2 {
            // No pair on one PU.
            0 => (pair + 1 + i % 5) % 7,
            // Five of seven pairs.
            _ if pair == i % 6 => pair + 1,
            _ if pair == i % 6 + 1 => pair - 1,
            _ => pair,
        };
        (0..7).map(|pair| (pair as u32, server(pair) as u32)).collect()
    };
    let trials = || -> Vec<TrialRecord> {
        let tps = |i: usize| [24_000.0, 37_000.0][i / 3 % 2] + 90.0 * (i as f64 % 5.0);
        (0..24).map(|i| seated(i, tps(i), &seats(i))).collect()
    };
    let cause = |summary: Summary| {
        let metric = summary.conditions[0].metrics.iter().find(|metric| metric.name == "tps").unwrap().clone();
        assert_eq!(metric.modes.len(), 2, "{metric:?}");
        metric.mode_cause.map(|cause| cause.covariate)
    };
    assert_eq!(cause(summary_of_drawn_seats(ARTICLE_A, trials())), Some(Property::Pairs(Shared::Pu)));
    assert_eq!(cause(summary(ARTICLE_A, trials())), None);
}

#[test]
fn modes_that_one_condition_has_alone_are_none_of_all_conditions() {
    let of = |trials: Vec<TrialRecord>| {
        let summary = summarize(&results("spread", trials));
        let (tested, conditions) = (summary.modes_tested.unwrap(), summary.conditions);
        let modes = |metric: &tare_findings::condition::MetricSummary| metric.modes.len();
        (conditions.iter().map(|of| modes(&of.metrics[0])).collect::<Vec<_>>(), tested.together.len())
    };
    let value = |place: usize, values: &[f64]| values[place % values.len()] + (place % 5) as f64 / 10.0;
    let both = |a: &[f64], b: &[f64]| {
        let of_block = |block: usize| {
            [("c=a", a), ("c=b", b)].into_iter().enumerate().map(move |(at, (name, values))| {
                trial(2 * block + at, block, name, value(block / (1 + at), values), false)
            })
        };
        (0..24).flat_map(of_block).collect::<Vec<_>>()
    };
    assert_eq!(of(both(&[100.0, 150.0, 200.0], &[150.0])), (vec![3, 0], 0));
    assert_eq!(of(both(&[100.0, 150.0], &[125.0])), (vec![2, 0], 0));
}

#[test]
fn modes_of_all_conditions_are_no_harder_to_detect_than_those_of_one() {
    let mut draws = Draws::new(4);
    let of = |i: usize| trial(i, i / 2, ["x=a", "x=b"][i % 2], 1000.0 * (0.01 * draws.normal()).exp(), false);
    let trials: Vec<TrialRecord> = (0..120).map(of).collect();
    let found = summarize(&results("best", trials)).modes_tested.unwrap();
    assert!(found.power_together.unwrap() >= found.power_in_one.unwrap(), "{found:?}");
}
