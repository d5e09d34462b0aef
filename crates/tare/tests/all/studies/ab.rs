//! `tare ab`: pairs until it is settled, with its exit codes, what an interruption leaves, and how it goes on.

use crate::support::{World, json, trials, wait_for_trials};
use serde_json::Value;
use std::process::Stdio;

/// Trials of tests run next to other tests.
const QUIET: [&str; 4] = ["--set", "sampling.steal_limit=off", "--set", "sampling.foreign_cpu_limit=off"];

fn ab(world: &World, code: i32, a: &str, b: &str, more: &[&str]) -> (Value, String) {
    let all = [&["ab", "--json", "--out", "results", "--a", a, "--b", b], &QUIET[..], more].concat();
    let (out, err) = world.exits(code, &all);
    let document = json(&out);
    assert_eq!((&document["schema"], &document["version"]), (&"tare-ab".into(), &1.into()));
    (document, err)
}

#[test]
fn a_command_with_a_dialled_slowdown_is_slower_and_exits_with_1() {
    let world = World::new();
    let (a, b) = ("command=sleep 0.10", "command=sleep 0.15");
    let (found, err) = ab(&world, 1, a, b, &["--budget", "2min", "--minimum-effect", "10%", "--seed", "5"]);
    assert_eq!((&found["verdict"], &found["metric"]), (&"slower".into(), &"wall_s".into()), "{err}");
    let figure = |name: &str| found[name].as_f64().unwrap();
    assert!((1.2..1.6).contains(&figure("ratio")) && figure("ci_low") > 1.0 && figure("ci_high") < 2.5, "{found}");
    let pairs = found["pairs"].as_u64().unwrap() as usize;
    assert!((4..=18).contains(&pairs), "{found}");
    assert_eq!(found["pairs_to_go"], 0);
    assert!(found["slot"]["ratio"].as_f64().unwrap() > 0.0);
    // A line after each pair, and a first sentence of at most 25 words.
    assert_eq!(err.lines().filter(|line| line.starts_with("pair ")).count(), pairs, "{err}");
    assert!(found["text"].as_str().unwrap().starts_with("B is ") && words(&found) <= 25, "{found}");
    // Each pair holds both sides, and neither is always the first.
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 2 * pairs);
    let firsts: Vec<bool> = records.chunks(2).map(|pair| pair[0]["levels"]["side"] == "a").collect();
    assert!(firsts.contains(&true) && firsts.contains(&false), "{firsts:?}");
    world.exits(0, &["show", "results"]);
    world.assert_clean();
}

fn words(found: &Value) -> usize {
    found["text"].as_str().unwrap().split_whitespace().count()
}

#[test]
fn a_command_against_itself_is_equivalent_or_undecided() {
    let world = World::new();
    let side = "command=sleep 0.05";
    let all = ["ab", "--json", "--out", "results", "--a", side, "--b", side, "--minimum-effect", "40%", "--seed", "3"];
    let output = world.output(&[&all, &QUIET[..], &["--budget", "3min"]].concat());
    let found = json(&String::from_utf8(output.stdout).unwrap());
    let expected = match output.status.code() {
        Some(0) => "equivalent",
        Some(5) => "undecided",
        other => panic!("{other:?}: {found}"),
    };
    assert_eq!(found["verdict"], expected, "{found}");
}

#[test]
fn a_budget_that_is_spent_leaves_it_undecided_with_numbers() {
    let world = World::new();
    // Uniform from 20 to 100 ms: no 1% is seen in a few pairs.
    let side = "command=bash -c 'sleep 0.$((RANDOM % 80 + 20))'";
    let all = ["--minimum-effect", "1%", "--budget", "8s", "--seed", "9", "--set", "workload.shell=on"];
    let (found, err) = ab(&world, 5, side, side, &all);
    assert_eq!(found["verdict"], "undecided", "{err}");
    assert!(found["pairs_to_go"].as_u64().unwrap() > 0 && found["smallest_detectable"].as_f64().unwrap() > 0.01);
    assert!(
        found["pairs_to_go_at_most"].is_null() || found["pairs_to_go_at_most"].as_u64() > found["pairs_to_go"].as_u64()
    );
    assert!(found["text"].as_str().unwrap().contains("would have been seen") && words(&found) <= 25, "{found}");
}

#[test]
fn an_interrupted_comparison_shows_what_it_has_and_goes_on_by_the_same_rule() {
    let world = World::new();
    let side = "command=sleep 0.25";
    let results = world.path("results");
    let all = [&["ab", "--out", "results", "--a", side, "--b", side, "--minimum-effect", "20%"], &QUIET[..]].concat();
    let run = world.tare(&all).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    wait_for_trials(&results, 3);
    let id = rustix::process::Pid::from_raw(run.id().cast_signed()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    let output = run.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(130), "{out}{err}");
    assert!(out.starts_with("Undecided after ") && err.contains("tare ab --resume results"), "{out}{err}");
    let before = trials(&results);
    let rule = |results: &std::path::Path| {
        json(&std::fs::read_to_string(results.join("plan.json")).unwrap())["settle"].clone()
    };
    let began_with = rule(&results);
    let output = world.output(&["ab", "--resume", "results", "--json"]);
    assert!(matches!(output.status.code(), Some(0)), "{output:?}");
    let after = trials(&results);
    assert_eq!(after[..before.len()], before[..], "finished trials were touched");
    let found = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((&found["verdict"], &found["sessions"]), (&"equivalent".into(), &2.into()), "{found}");
    assert_eq!(found["pairs"].as_u64().unwrap() as usize * 2, after.len());
    let went_on = rule(&results);
    for key in ["seed", "rule", "alpha", "minimum_effect", "budget_s", "a", "b"] {
        assert_eq!(began_with[key], went_on[key], "{key}");
    }
    world.assert_clean();
}

#[test]
fn failing_trials_end_it_and_sides_that_are_none_are_refused() {
    let world = World::new();
    let (out, err) = world.exits(4, &["ab", "--a", "command=false", "--b", "command=false"]);
    assert!(!err.is_empty(), "{out}");
    let (_, err) = world.exits(2, &["ab", "--a", "command=true", "--b", "option.x=1"]);
    assert!(err.contains("one side is a command"), "{err}");
    let (_, err) = world.exits(2, &["ab", "--a", "build=old", "--b", "build=new"]);
    assert!(err.contains("build=old is no side") && err.contains("--a"), "{err}");
    let (_, err) = world.exits(2, &["ab", "--a", "nonsense", "--b", "command=true"]);
    assert!(err.contains("expected binary=PATH"), "{err}");
}
