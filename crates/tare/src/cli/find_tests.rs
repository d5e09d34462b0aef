//! A race from the command line to the printed result, on a described machine with planted figures.

use super::*;
use clap::Parser;
use std::collections::BTreeMap;
use tare_results::schema::{PlannedCondition, SampleRecord};

#[allow(dead_code, reason = "some draws are only for the tests of findings")]
#[path = "../../../findings/tests/all/draws.rs"]
mod draws;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    find: FindArgs,
}

/// Throughput when everything but these factors is the best.
fn planted(condition: &PlannedCondition) -> f64 {
    let level = |factor: &str| condition.levels[factor].as_str();
    let placed = if level("placement") == BEST { 1.0 } else { 1.05 };
    let spread = if level("memory") == "default" { 1.0 } else { 1.04 };
    let hashed = if level("option.innodb_adaptive_hash_index") == "OFF" { 1.0 } else { 1.06 };
    1000.0 / (placed * spread * hashed)
}

/// Of the equivalent ones, the first.
const BEST: &str = "clients-0-server-1";

/// The candidates are those of the program on a described machine; their figures are planted, at a CoV of 1.5%.
#[test]
fn a_race_of_real_placements_names_the_planted_one_with_its_factors_and_lines() {
    let words = "find placements memory --option innodb_adaptive_hash_index=ON,OFF --engine mariadb --seed";
    let machine = Machine::synthetic("node:4 core:4 pu:2").unwrap();
    let (mut right, mut trials, races) = (0, 0, 20);
    for seed in 1..=races {
        let args = Line::parse_from(words.split(' ').map(str::to_owned).chain([seed.to_string()])).find;
        let (_, mut plan) = planned(&args, &machine, Where::Described).unwrap().unwrap();
        let (mut records, mut noise) = (Vec::new(), draws::Draws::new(seed));
        loop {
            for planned in &plan.trials[records.len()..] {
                let own = plan.conditions.iter().find(|condition| condition.name == planned.condition).unwrap();
                let tps = planted(own) * (0.015 * noise.normal()).exp();
                let metrics = [("tps".to_owned(), tps)].into();
                let samples = vec![SampleRecord { metrics, ..SampleRecord::default() }];
                let record = TrialRecord::new(planned, 1, BTreeMap::new(), String::new());
                records.push(TrialRecord { elapsed_s: 1.0, samples, ..record });
            }
            let Some(more) = race::extended(&plan, &records) else { break };
            plan = more;
        }
        let found = Find::of(&plan, &records).unwrap();
        let ahead = found.ahead().filter(|_| found.decided).unwrap();
        let best = format!("placement={BEST} memory=default option.innodb_adaptive_hash_index=OFF");
        right += usize::from(ahead.name == best);
        trials += found.trials;
        let text = terminal::find(&found, &plan, Style::default());
        if ahead.name == best {
            for line in [
                "numactl --physcpubind=8-15 mariadbd ...",
                "CPUAffinity=8-15",
                "[mariadbd]",
                "innodb_adaptive_hash_index = OFF",
            ] {
                assert!(text.contains(&format!("  {line}\n")), "{text}");
            }
            for factor in [
                "memory: interleave:all in place of default is 0.9",
                "option.innodb_adaptive_hash_index: ON in place of OFF is 0.9",
            ] {
                assert!(text.contains(&format!("  {factor}")), "{text}");
            }
        }
    }
    println!("right in {right} of {races}, {} trials in the mean", trials / races as usize);
    assert!(right >= 19, "{right} of {races}");
}
