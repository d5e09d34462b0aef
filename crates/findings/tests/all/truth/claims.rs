//! Synthetic results for which the first claim of some commands would be wrong, and these claims.

use super::made::Shape;
use crate::draws::Draws;
use crate::made_up::{results, trial};
use crate::modes::environment;
use tare_findings::find::{Find, Open};
use tare_findings::history::{self, History, Run, history};
use tare_findings::reproduce::{Reproduced, of_results};
use tare_findings::summarize;
use tare_results::Results;
use tare_results::claim::{Band, Claim, Measure, Published};
use tare_results::levels_of;
use tare_results::schema::{PlannedCondition, PlannedPlacement, PlannedTrial, Race};
use tare_stats::order::randomized_blocks;
use tare_stats::racing::Question;
use tare_topology::measure::Measured;

/// How far the best candidate of a race is ahead of all others, as ln: just more than the minimum effect.
const AHEAD: f64 = 0.021;

/// What makes a race hard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Hard {
    /// The best candidate is ahead by just more than the minimum effect.
    Close,
    /// The same, and the first one is disturbed in six of ten blocks, which takes a fifth of its time.
    Disturbed,
    /// Trials vary so much that the last look decides nothing.
    Spread,
}

/// A race of six candidates, of which the fifth is the best, and how far the others are behind it.
pub fn race(draws: &mut Draws, hard: Hard) -> (Find, usize) {
    let names: Vec<String> = (0..6).map(|i| format!("placement=p{i}")).collect();
    let best = 4;
    let spread = if hard == Hard::Spread { 0.1 } else { 0.015 };
    let mut plan = results("", Vec::new()).plan.unwrap();
    plan.conditions = names.iter().map(|name| condition(name, None)).collect();
    plan.race = Some(Race::of(names.clone(), Question { minimum_effect: 0.02, alpha: 0.05 }, 1));
    let mut records = Vec::new();
    let mut left: Vec<usize> = (0..names.len()).collect();
    for block in 0.. {
        let level = 0.01 * draws.normal();
        for i in &left {
            let gain = if *i == best { AHEAD } else { 0.0 };
            let is_disturbed = hard == Hard::Disturbed && *i == 0 && draws.uniform() < 0.6;
            let taken: f64 = if is_disturbed { 0.2 } else { 0.0 };
            let number = records.len();
            let tps = (1.0 - taken) * (gain + level + spread * draws.normal()).exp();
            plan.trials.push(PlannedTrial { trial: number, block, condition: names[*i].clone(), lifetime: None });
            records.push(trial(number, block, &names[*i], tps, is_disturbed));
        }
        let found = Find::of(&plan, &records).unwrap();
        if found.stop.is_some() {
            return (found, best);
        }
        left.retain(|i| found.candidates[*i].after.is_none());
    }
    unreachable!("a race ends with its last look")
}

/// Whether the reason why a race is undecided claims something wrong about its leader.
pub fn leads_wrongly(found: &Find, best: usize, of: impl Fn(Open) -> bool) -> bool {
    let behind = if found.leader == Some(best) { 0.0 } else { AHEAD };
    match found.open().filter(|open| of(*open)) {
        // It says nothing about how good the leader is.
        None | Some(Open::FailsMore) => false,
        Some(Open::BestOfOthers) => behind > 0.02_f64.ln_1p() && !found.candidates[best].disturbed_alone,
        Some(Open::DisturbedAlone) => found.known_behind().is_some_and(|ratio| behind > ratio.ln()),
        Some(Open::Behind(ratio)) => behind > ratio.ln(),
    }
}

fn condition(name: &str, placement: Option<PlannedPlacement>) -> PlannedCondition {
    PlannedCondition {
        name: name.to_owned(),
        levels: levels_of(name),
        realizable: true,
        placement,
        ..PlannedCondition::default()
    }
}

/// A verdict on a claim that holds from a ratio of 1.05 on, with a true ratio of exactly 1.05. What is measured second,
/// B and the repetition of A, is faster by `slot`, with which trials vary by a quarter as much.
pub fn claim_at_its_end(draws: &mut Draws, blocks: usize, slot: f64) -> Reproduced {
    let claim = Claim {
        name: "faster".into(),
        text: String::new(),
        source: String::new(),
        published: Published::Ratio(1.1),
        measure: Measure::Ratio,
        metric: Some("tps".into()),
        a: levels_of("aslr=off"),
        b: Some(levels_of("aslr=on")),
        holds: Band { from: 1.05, to: 2.0 },
    };
    let mut trials = Vec::new();
    for block in 0..blocks {
        let level = 0.03 * draws.normal();
        let spread = if slot > 0.0 { 0.005 } else { 0.02 };
        let second = slot.exp();
        for (name, ratio) in [("aslr=off", 1.0), ("aslr=on", 1.05 * second), ("aslr=off side=b", second)] {
            let tps = 1000.0 * ratio * (level + spread * draws.normal()).exp();
            trials.push(trial(trials.len(), block, name, tps, false));
        }
    }
    of_results(&claim, &results("", trials))
}

/// A history of 24 runs without changes, with correlation `alike` between neighbours.
pub fn unchanged(draws: &mut Draws, shape: Shape, alike: f64) -> History {
    let mut state = draws.normal();
    let one = |number: usize, draws: &mut Draws, state: f64| {
        let own = 0.01 * (shape.draw(draws) + state);
        Run::of(format!("run {number}"), &results("", vec![trial(0, 0, "aslr=on", 1000.0 * own.exp(), false)]))
    };
    let runs: Vec<Run> = (0..24)
        .map(|number| {
            state = alike * state + (1.0 - alike * alike).sqrt() * draws.normal();
            one(number, draws, if alike > 0.0 { state } else { 0.0 })
        })
        .collect();
    history(&runs, false, &history::Options { minimum_effect: 0.01, ..history::Options::default() }).unwrap()
}

/// Whether a cost of distance is claimed under some load, for placements whose distances have no effect: each placement
/// has its own random speed under a load, whatever its memory node.
pub fn cost_of_distance_by_chance(draws: &mut Draws, memories: usize, loads: usize) -> bool {
    const CPUS: usize = 8;
    let blocks = 5_usize.div_ceil(memories);
    let clients = 1..CPUS;
    let of_client = |client| (0..memories).flat_map(move |memory| (0..loads).map(move |load| [client, memory, load]));
    let places: Vec<[usize; 3]> = clients.flat_map(of_client).collect();
    let name = |[client, memory, load]: &[usize; 3]| {
        let of_load = if loads > 1 { format!(" workload=w{load}") } else { String::new() };
        format!("client=pu:{client} memory=bind:{memory}{of_load}")
    };
    let names: Vec<String> = places.iter().map(name).collect();
    let own: Vec<f64> = (0..loads * CPUS).map(|_| 0.02 * draws.normal()).collect();
    let (mut line_ns, mut trials) = (vec![vec![None; CPUS]; CPUS], Vec::new());
    for to_the_server in line_ns.iter_mut().skip(1) {
        to_the_server[0] = Some(100.0 + 400.0 * draws.uniform());
    }
    for (block, order) in randomized_blocks(names.len(), blocks, draws.uniform().to_bits()).into_iter().enumerate() {
        let level = 0.02 * draws.normal();
        for place in order {
            let [client, _, load] = places[place];
            let tps = 1000.0 * (level + own[load * CPUS + client] + 0.02 * draws.normal()).exp();
            trials.push(trial(trials.len(), block, &names[place], tps, false));
        }
    }
    let placed = |client: usize| PlannedPlacement {
        client: vec![(client as u32).into()],
        server: vec![0.into()],
        ..PlannedPlacement::default()
    };
    let mut made = results("best", trials);
    let plan = made.plan.as_mut().unwrap();
    plan.conditions =
        names.iter().zip(&places).map(|(name, [client, ..])| condition(name, Some(placed(*client)))).collect();
    made.distances = Some(Measured {
        cpus: (0..CPUS as u32).collect(),
        line_ns,
        from_nodes: vec![0],
        to_nodes: vec![0],
        latency_ns: vec![vec![None]],
        bandwidth_bytes_per_s: vec![vec![None]],
        readers: vec![1],
        working_set_bytes: 0,
        notes: Vec::new(),
        elapsed_s: 0.0,
    });
    let found = summarize(&Results { environment: Some(environment("core:8 pu:1")), ..made });
    assert_eq!(found.distance.len(), loads, "costs of distance that were looked for");
    found.distance.iter().any(|cost| cost.line.is_some_and(|line| line.shown))
}
