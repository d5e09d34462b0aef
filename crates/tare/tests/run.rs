//! Runs from start to report on the embedded engine, and what interrupts them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod support;

use std::process::Stdio;
use std::time::Duration;
use support::{World, json, trials, wait_for_trials};

const STUDY: &str = r#"
name = "short"
[workload]
rows = 500
[sampling]
trials = 4
warmup_s = 0.1
sample_s = 0.4
seed = 11
[factors]
placement = ["float", "same-pu"]
[placements.float]
[placements.same-pu]
client = "all"
server = "all"
bind = "thread"
pairing = "same-pu"
"#;

#[test]
fn a_run_measures_proves_every_thread_and_leaves_nothing() {
    let world = World::new();
    let study = world.study(STUDY);
    let (out, err) = world.exits(0, &["run", &study, "--out", "results", "--json"]);
    let summary = json(&out);
    assert_eq!(summary["conditions"].as_array().unwrap().len(), 2, "{err}");
    let results = world.path("results");
    for file in ["study.toml", "plan.json", "environment.json", "trials.jsonl", "report.html"] {
        assert!(results.join(file).is_file(), "{file}");
    }
    let records = trials(&results);
    assert_eq!(records.len(), 8);
    for record in &records {
        assert_eq!(record["outcome"], "ok", "{record}");
        let sample = &record["samples"][0];
        assert!(sample["metrics"]["tps"].as_f64().unwrap() > 0.0);
        let threads = sample["threads"].as_array().unwrap();
        let of = |role: &str| threads.iter().find(|t| t["role"] == role && t["pair"] == 0).unwrap();
        if record["condition"] == "placement=same-pu" {
            assert_eq!(of("client")["allowed_cpus"], of("server")["allowed_cpus"]);
            for role in ["client", "server"] {
                let seen: Vec<&String> = of(role)["seen_cpus"].as_object().unwrap().keys().collect();
                assert_eq!(seen, [of(role)["allowed_cpus"].as_str().unwrap()], "{record}");
            }
        }
    }
    world.assert_clean();
}

#[test]
fn ctrl_c_leaves_a_usable_directory_and_resume_keeps_the_order() {
    let world = World::new();
    let study = world.study(STUDY);
    let results = world.path("results");
    let mut run =
        world.tare(&["run", &study, "--out", "results"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    wait_for_trials(&results, 2);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(run.id().cast_signed()).unwrap(),
        rustix::process::Signal::INT,
    )
    .unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(130));
    world.assert_clean();
    let before = trials(&results);
    assert!((2..8).contains(&before.len()), "{}", before.len());
    world.exits(0, &["show", "results"]);
    world.exits(0, &["run", "--resume", "results"]);
    let after = trials(&results);
    assert_eq!(after[..before.len()], before[..], "finished trials were touched");
    let order: Vec<u64> = after.iter().map(|r| r["trial"].as_u64().unwrap()).collect();
    assert_eq!(order, (0..8).collect::<Vec<u64>>());
    let plan = json(&std::fs::read_to_string(results.join("plan.json")).unwrap());
    for (record, planned) in after.iter().zip(plan["trials"].as_array().unwrap()) {
        assert_eq!(record["condition"], planned["condition"]);
    }
    world.assert_clean();
}

#[test]
fn after_kill_9_the_next_start_finds_no_server_and_completes_the_schedule() {
    let world = World::new();
    let study = world.study(STUDY);
    let results = world.path("results");
    let mut run =
        world.tare(&["run", &study, "--out", "results"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    wait_for_trials(&results, 1);
    std::thread::sleep(Duration::from_millis(350)); // into the next trial
    run.kill().unwrap();
    run.wait().unwrap();
    // Three more times, at other moments of a trial.
    for wait_ms in [30, 230, 480] {
        let mut run =
            world.tare(&["run", "--resume", "results"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait_ms));
        run.kill().unwrap();
        run.wait().unwrap();
        std::thread::sleep(Duration::from_millis(1500));
    }
    world.exits(0, &["run", "--resume", "results"]);
    let mut done: Vec<u64> =
        trials(&results).iter().filter(|r| r["outcome"] == "ok").map(|r| r["trial"].as_u64().unwrap()).collect();
    done.sort_unstable();
    assert_eq!(done, (0..8).collect::<Vec<u64>>());
    world.assert_clean();
}

#[test]
fn a_results_directory_that_cannot_be_used_is_a_clear_error() {
    let world = World::new();
    let study = world.study(STUDY);
    std::fs::create_dir(world.path("occupied")).unwrap();
    std::fs::write(world.path("occupied/file"), "mine").unwrap();
    let (_, err) = world.exits(2, &["run", &study, "--out", "occupied"]);
    assert!(err.contains("not empty"), "{err}");
    let (_, err) = world.exits(2, &["run", "--resume", "occupied"]);
    assert!(err.contains("not a results directory"), "{err}");
    let (_, err) = world.exits(2, &["show", "nowhere"]);
    assert!(err.contains("nowhere"), "{err}");

    world.exits(0, &["run", &study, "--out", "good", "--quick", "--set", "sampling.trials=1"]);
    let plan = world.path("good/plan.json");
    let text = std::fs::read_to_string(&plan).unwrap();
    std::fs::write(&plan, text.replacen("\"schema\": 2", "\"schema\": 999", 1)).unwrap();
    for args in [["show", "good"].as_slice(), &["run", "--resume", "good"]] {
        let (_, err) = world.exits(2, args);
        assert!(err.contains("999"), "{err}");
    }
}

#[test]
fn a_second_run_at_the_same_time_is_refused_and_the_first_goes_on() {
    let world = World::new();
    let study = world.study(STUDY);
    let results = world.path("results");
    let mut run =
        world.tare(&["run", &study, "--out", "results"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    wait_for_trials(&results, 1);
    for args in [["run", "--resume", "results"].as_slice(), &["run", &study, "--out", "other"]] {
        let (_, err) = world.exits(3, args);
        assert!(err.contains(&run.id().to_string()), "{err}");
    }
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert_eq!(trials(&results).len(), 8);
    world.assert_clean();
}
