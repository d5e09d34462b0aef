//! Stable trials and their checks: properties of the server process, disturbed trials, numbers of trials from a pilot.

use crate::support::{Ended, World, json, one_line, script, trials, verified, wait_for_trials};
use std::process::Command;

const SHORT: &str = r#"
name = "short"
[workload]
rows = 200
[sampling]
trials = 1
warmup_s = 0
sample_s = 0.2
"#;

#[test]
fn properties_of_the_process_are_verified_and_missing_allocators_are_left_out() {
    let world = World::new();
    // A library that is part of every glibc stands in for an allocator: preloading it changes nothing.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let libc = maps.lines().filter_map(|l| l.split_whitespace().nth(5)).find(|p| p.ends_with("/libc.so.6")).unwrap();
    let library = libc.replace("libc.so.6", "libresolv.so.2");
    let study = format!(
        "{SHORT}[[conditions]]\naslr = [\"off\", \"layout:7\"]\n\
         allocator = [\"system\", \"jemalloc\", \"tcmalloc\", \"{library}\", \"/no/such.so\"]\n\
         environment_bytes = 5000\n"
    );
    let study = world.study(&study);
    let (out, _) = world.exits(0, &["run", &study, "--out", "results"]);
    assert!(out.contains("is left out: ") && out.contains("/no/such.so"), "{out}");
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 8, "sudo apt-get install libjemalloc2 libtcmalloc-minimal4");
    for record in &records {
        assert_eq!(record["outcome"], "ok", "{record}");
        assert!(verified(record, "aslr").contains("00040000"), "{record}");
        assert!(verified(record, "environment_bytes").starts_with("5000 bytes"), "{record}");
        let mapped = match record["levels"]["allocator"].as_str().unwrap() {
            "system" => "no other allocator",
            "jemalloc" => "libjemalloc",
            "tcmalloc" => "libtcmalloc",
            _ => "libresolv",
        };
        assert!(verified(record, "allocator").contains(mapped), "{record}");
        for name in [
            "layout_mmap_page",
            "layout_stack_offset",
            "foreign_cpu_fraction",
            "suspended_s",
            "stopped_processes",
            "stopped_s",
            "server_stopped_s",
        ] {
            assert!(record["samples"][0]["covariates"][name].is_number(), "{name} in {record}");
        }
    }
    let top = |layout: &str| {
        let of = |r: &&serde_json::Value| r["levels"]["aslr"] == layout && r["levels"]["allocator"] == "system";
        records.iter().find(of).unwrap()["samples"][0]["covariates"]["layout_mmap_page"].clone()
    };
    assert_ne!(top("off"), top("layout:7"));
    world.assert_clean();
}

#[test]
fn a_setting_survives_a_wrapper_script_or_the_trial_fails_with_the_reason() {
    let world = World::new();
    let study = world.study(SHORT);
    let wrapper = |name: &str, line: &str| {
        script(&world.path(name), &format!("{line} {} \"$@\"", env!("CARGO_BIN_EXE_tare")));
        format!("engine.binary={}", world.path(name).display())
    };
    // A script that starts a script: the process that answers is verified.
    wrapper("inner", "exec");
    let outer = world.path("outer");
    script(&outer, &format!("exec {} \"$@\"", world.path("inner").display()));
    let outer = format!("engine.binary={}", outer.display());
    world.exits(0, &["run", &study, "--out", "two", "--set", &outer, "--set", "process.aslr=layout:2"]);
    let records = trials(&world.path("two"));
    assert!(verified(&records[0], "aslr").contains("00040000"), "{}", records[0]);
    // A wrapper that does not exit: the server behind it is placed, verified and stopped.
    let stays = wrapper("stays", "");
    let placement = ["--set", "placement.server=pu:0", "--set", "placement.client=pu:0"];
    let run = ["run", &study, "--out", "three", "--set", &stays, "--set", "process.aslr=off"];
    world.exits(0, &[&run[..], &placement[..]].concat());
    let record = trials(&world.path("three")).remove(0);
    assert!(verified(&record, "aslr").contains("00040000"), "{record}");
    let threads = record["samples"][0]["threads"].as_array().unwrap();
    assert!(threads.iter().any(|thread| thread["role"] == "server"), "{record}");
    let undoes = wrapper("undoes", "exec setarch $(uname -m)");
    let (_, err) = world.exits(4, &["run", &study, "--out", "four", "--set", &undoes, "--set", "process.aslr=off"]);
    assert!(err.contains("aslr: requested off, but the running server has on"), "{err}");
    world.assert_clean();
}

/// A process that uses CPU 0 all the time.
fn busy() -> Ended {
    let child = Command::new("taskset").args(["-c", "0", "sh", "-c", "while :; do :; done"]).spawn();
    Ended(child.expect("sudo apt-get install util-linux"))
}

#[test]
fn a_trial_next_to_a_busy_process_is_disturbed_kept_and_repeated() {
    let world = World::new();
    let study = format!(
        "{SHORT}sample_s = 0.5\ntrials = 3\nattempts = 3\nforeign_cpu_limit = 0.2\n[placement]\nclient = \"cpus:0\"\n\
         server = \"cpus:0\"\n"
    );
    let study = world.study(&study.replace("trials = 1\n", "").replace("sample_s = 0.2\n", ""));
    let busy = busy();
    let results = world.path("results");
    let mut run = world.begin(&["run", &study, "--out", "results", "--set", "sampling.steal_limit=off"]);
    wait_for_trials(&results, 1);
    drop(busy);
    assert_eq!(run.wait().unwrap().code(), Some(0));
    let records = trials(&results);
    let first = &records[0];
    assert_eq!((first["trial"].as_u64(), first["outcome"].as_str()), (Some(0), Some("disturbed")), "{first}");
    let reason = first["reason"].as_str().unwrap();
    assert!(reason.contains("other processes took") && reason.contains("sh ("), "{reason}");
    assert!(!first["samples"].as_array().unwrap().is_empty(), "what was measured is kept");
    let order: Vec<u64> = records.iter().map(|r| r["trial"].as_u64().unwrap()).collect();
    assert_eq!(order[..4], [0, 1, 2, 0], "again at the end of the schedule");
    assert!(records.iter().any(|r| r["trial"] == 0 && r["attempt"] != 1 && r["outcome"] == "ok"), "{order:?}");

    let (out, _) = world.exits(0, &["show", "results", "--all"]);
    assert!(out.contains("was disturbed and set aside: sample 0: other processes took"), "{out}");
    let summary = json(&world.exits(0, &["show", "results", "--json"]).0);
    assert!(summary["conditions"][0]["put_aside_trials"].as_u64().unwrap() >= 1);
    assert_eq!(summary["conditions"][0]["trials"], 3);
    let report = std::fs::read_to_string(results.join("report.html")).unwrap();
    // One attempt is reported by its reason, several by the program that disturbed them.
    let printed = ["disturbed attempts", "other processes took"].into_iter().filter_map(|words| report.find(words));
    let (warning, table) = (printed.min().unwrap(), report.find("<table").unwrap());
    assert!(warning < table, "warnings are above the tables");
    world.assert_clean();
}

#[test]
fn a_trial_that_is_disturbed_in_every_attempt_counts_and_is_marked() {
    let world = World::new();
    let study = world.study(&format!("{SHORT}attempts = 2\n"));
    let _busy = busy();
    // With a limit of 0, the busy process alone exceeds it.
    let set =
        ["--set", "sampling.foreign_cpu_limit=0", "--set", "placement.client=cpus:0", "--set", "sampling.sample_s=0.4"];
    let mut args = vec!["run", &study, "--out", "results", "--set", "placement.server=cpus:0"];
    args.extend(set);
    world.exits(0, &args);
    let outcomes: Vec<String> = trials(&world.path("results")).iter().map(|r| r["outcome"].to_string()).collect();
    assert_eq!(outcomes, ["\"disturbed\"", "\"ok\""]);
    let (out, _) = world.exits(0, &["show", "results", "--json"]);
    assert!(out.contains("disturbed in every attempt, like trial "), "{out}");
}

#[test]
fn the_number_of_trials_is_chosen_from_a_pilot_and_kept_after_a_kill() {
    let world = World::new();
    let study = world.study(&format!(
        "{}target_half_width = 0.001\nbudget_s = 6\n[factors]\nthreads = [1, 2]\n",
        SHORT.replace("trials = 1", "trials = 2")
    ));
    let results = world.path("results");
    let (plan, _) = world.exits(0, &["run", &study, "--dry-run"]);
    assert!(plan.contains("these trials are a pilot") && plan.contains("within 6 s"), "{plan}");
    let mut run = world.begin(&["run", &study, "--out", "results"]);
    wait_for_trials(&results, 5); // the pilot has four
    run.kill().unwrap();
    run.wait().unwrap();
    let plan = || json(&std::fs::read_to_string(results.join("plan.json")).unwrap());
    let decided = plan();
    let trials_each = decided["decision"]["trials"].as_u64().unwrap();
    assert!(trials_each >= 3 && decided["decision"]["first_trial"] == 4, "{decided}");
    assert_eq!(decided["trials"].as_array().unwrap().len() as u64, 2 * trials_each);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    world.exits(0, &["run", "--resume", "results"]);
    assert_eq!(plan(), decided, "decided once");
    let mut done: Vec<u64> =
        trials(&results).iter().filter(|r| r["outcome"] == "ok").map(|r| r["trial"].as_u64().unwrap()).collect();
    done.sort_unstable();
    assert_eq!(done, (0..2 * trials_each).collect::<Vec<u64>>());
    let (out, _) = world.exits(0, &["show", "results"]);
    let out = one_line(&out);
    assert!(out.contains("A pilot of 2 trials per condition set the counts") && out.contains("fit into 6 s"), "{out}");
    let report = std::fs::read_to_string(results.join("report.html")).unwrap();
    assert!(report.contains("A pilot of 2 trials"));
    world.assert_clean();
}
