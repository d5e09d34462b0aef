//! A plan belongs to its machine: on a machine where a condition would mean something else, nothing runs.

use crate::support::{World, text, trials};
use std::process::Output;

const STUDY: &str = r#"
name = "two-cpus"
[workload]
rows = 200
[sampling]
trials = 1
warmup_s = 0
sample_s = 0.1
attempts = 1
"#;

/// `tare` on CPU 0 only, as in a smaller cgroup, in a container or with SMT off.
fn on_one_cpu(world: &World, args: &[&str]) -> Output {
    world.behind(&["taskset", "-c", "0"], args).output().expect("taskset (util-linux) runs")
}

#[test]
fn a_run_begun_with_two_cpus_is_not_continued_on_one_cpu() {
    let world = World::new();
    let study = world.study(STUDY);
    world.exits(0, &["run", &study, "--out", "results"]);
    let results = world.path("results");
    let before = std::fs::read_to_string(results.join("trials.jsonl")).unwrap();

    let resumed = on_one_cpu(&world, &["run", "--resume", "results"]);
    let err = text(&resumed.stderr);
    assert_eq!(resumed.status.code(), Some(3), "{err}");
    let words = "allowed CPUs were";
    assert!(err.contains(words) && err.contains("and are 0") && err.contains("do now"), "{err}");
    assert_eq!(std::fs::read_to_string(results.join("trials.jsonl")).unwrap(), before, "nothing ran");

    // Started alone, as by a scheduler, it fails with the same message and a record.
    let trial = ["trial", "--directory", "results", "--trial", "0", "--attempt", "2"];
    on_one_cpu(&world, &trial);
    let records = trials(&results);
    assert_eq!(records.len(), 2);
    assert_eq!(records[1]["outcome"], "failed");
    let reason = records[1]["reason"].as_str().unwrap();
    assert!(err.contains(reason), "the same words: {reason}");

    // On the machine of the plan it measures, and records where.
    let (_, err) = world.exits(0, &["trial", "--directory", "results", "--trial", "0", "--attempt", "3"]);
    let last = trials(&results).pop().unwrap();
    assert_eq!((last["outcome"].as_str(), last["attempt"].as_u64()), (Some("ok"), Some(3)), "{err}");
    assert!(last["ran_on"]["host"].as_str().is_some_and(|host| !host.is_empty()), "{last}");

    // Each writer has a file of its own, and all files are read.
    let local = std::fs::read_to_string(results.join("trials.jsonl")).unwrap();
    world.exits(0, &["trial", "--directory", "results", "--trial", "0", "--attempt", "4", "--writer", "node-1.2"]);
    assert_eq!(std::fs::read_to_string(results.join("trials.jsonl")).unwrap(), local);
    let own = std::fs::read_to_string(results.join("trials-node-1.2.jsonl")).unwrap();
    assert_eq!((own.lines().count(), crate::support::json(&own)["attempt"].as_u64()), (1, Some(4)));
    world.exits(2, &["trial", "--directory", "results", "--trial", "0", "--attempt", "5", "--writer", "../x"]);
    world.assert_clean();
}

#[test]
fn results_of_schema_1_are_shown_but_not_resumed_and_newer_ones_are_refused() {
    let world = World::new();
    let study = world.study(STUDY);
    world.exits(0, &["run", &study, "--out", "results", "--set", "sampling.trials=2"]);
    let results = world.path("results");
    let mut plan: serde_json::Value =
        crate::support::json(&std::fs::read_to_string(results.join("plan.json")).unwrap());
    plan["schema"] = 1.into();
    plan.as_object_mut().unwrap().remove("machine");
    for condition in plan["conditions"].as_array_mut().unwrap() {
        condition.as_object_mut().unwrap().remove("settings");
    }
    std::fs::write(results.join("plan.json"), plan.to_string()).unwrap();
    let mut lines = String::new();
    for mut record in trials(&results) {
        record["schema"] = 1.into();
        record.as_object_mut().unwrap().remove("ran_on");
        for thread in record["samples"][0]["threads"].as_array_mut().unwrap() {
            thread.as_object_mut().unwrap().remove("pid");
        }
        lines.push_str(&format!("{record}\n"));
        if lines.lines().count() == 1 {
            break;
        }
    }
    std::fs::write(results.join("trials.jsonl"), lines).unwrap();
    world.exits(0, &["show", "results"]);
    world.exits(0, &["report", "results"]);
    let (_, err) = world.exits(2, &["run", "--resume", "results"]);
    assert!(err.contains("schema 1"), "{err}");
    plan["schema"] = 999.into();
    std::fs::write(results.join("plan.json"), plan.to_string()).unwrap();
    for args in [["show", "results"].as_slice(), &["run", "--resume", "results"]] {
        let (_, err) = world.exits(2, args);
        assert!(err.contains("999"), "{err}");
    }
}
