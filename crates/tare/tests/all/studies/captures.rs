//! Captures in addition to the metrics, on the embedded engine: the cause is known, because the test adds it.

use crate::support::{World, json, script, send, trials, verified, wait_until, words_of};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;

const LADDER: &str = r#"
name = "planted"
[workload]
rows = 500
[engine.options]
tare_planted_lock_us = 2
[capture]
profile = "on"
locks = "on"
[sampling]
trials = 1
warmup_s = 0.1
sample_s = 0.6
[factors]
threads = [1, 2, 4]
"#;

const SHORT: &str = r#"
name = "short"
[workload]
rows = 100
[capture]
profile = "on"
locks = "on"
status = "on"
[sampling]
trials = 1
warmup_s = 0
sample_s = 0.3
"#;

pub fn document(results: &Path, record: &Value, capture: &str) -> Value {
    let path = record["captures"][capture].as_str().unwrap_or_else(|| panic!("no {capture}: {record}"));
    json(&std::fs::read_to_string(results.join(path)).unwrap())
}

/// Whether this user may profile other programs here; otherwise the record must say how to allow it.
fn may_profile(record: &Value) -> bool {
    match record["captures_missing"]["profile"].as_str() {
        None => true,
        Some(reason) => {
            assert!(reason.contains("sysctl kernel.perf_event_paranoid"), "sudo apt-get install linux-perf\n{reason}");
            false
        }
    }
}

#[test]
fn a_planted_lock_is_ranked_first_by_its_growth() {
    let world = World::new();
    let study = world.study(LADDER);
    let (out, err) = world.exits(0, &["run", &study, "--out", "results", "--json"]);
    let summary = json(&out);
    let results = world.path("results");
    let records = trials(&results);
    let ranking = |what: &str| {
        let all = summary["growth"].as_array().unwrap_or_else(|| panic!("{out}\n{err}"));
        let found = all.iter().find(|ranking| ranking["what"] == what && ranking["over"] == "threads");
        found.unwrap_or_else(|| panic!("no {what}\n{out}"))["grown"].clone()
    };
    let locks = ranking("locks");
    assert_eq!(locks[0]["name"], "tare_planted_lock", "{locks}");
    assert!(locks[0]["last"].as_f64().unwrap() > locks[0]["first"].as_f64().unwrap(), "{locks}");
    if may_profile(&records[0]) {
        let symbols = ranking("symbols");
        assert!(symbols[0]["name"].as_str().unwrap().contains("tare_planted_lock"), "{symbols}");
        // It is not inlined, and its only caller grows equally; with few samples a common caller may seem to grow more.
        let calls = ranking("calls");
        let grown = |call: &Value| call["name"].as_str().unwrap().contains("planted::");
        assert!(calls.as_array().unwrap().iter().take(3).any(grown), "{calls}");
        for record in &records {
            let profile = document(&results, record, "profile");
            assert!(profile["samples"].as_u64().unwrap() > 10, "{record}");
            assert!(!profile["event"].as_str().unwrap().is_empty());
            let kernel = &record["captures_missing"]["profile.kernel"];
            match profile["kernel"].as_bool().unwrap() {
                true => assert!(kernel.is_null(), "{kernel}"),
                false => assert!(kernel.as_str().unwrap().contains("sysctl kernel.perf_event_paranoid=1"), "{kernel}"),
            }
            for capture in ["profile.folded", "profile.flame_graph"] {
                let path = results.join(record["captures"][capture].as_str().unwrap());
                let text = std::fs::read_to_string(path).unwrap();
                // Alone, a thread is in the lock for a quarter of its time: a few samples may have none of it.
                let few = record["condition"] == "threads=1" && profile["samples"].as_u64().unwrap() < 100;
                assert!(text.contains("tare_planted_lock") || few, "{capture}");
            }
        }
    }
    for record in &records {
        assert_eq!(record["samples"].as_array().unwrap().len(), 1, "the capture sample is none of the measured ones");
        let sample = &record["capture_sample"];
        let measured = record["samples"][0]["metrics"]["tps"].as_f64().unwrap();
        let ratio = sample["tps"].as_f64().unwrap() / measured;
        assert!((sample["tps_ratio"].as_f64().unwrap() - ratio).abs() < 1e-9, "{record}");
        let server =
            record["samples"][0]["threads"].as_array().unwrap().iter().find(|t| t["role"] == "server").unwrap();
        let schedule = &server["schedule"];
        let spent: f64 = ["ran_s", "waited_s", "slept_s"].iter().map(|key| schedule[key].as_f64().unwrap()).sum();
        let elapsed = record["samples"][0]["elapsed_s"].as_f64().unwrap();
        assert!((spent / elapsed - 1.0).abs() < 0.25, "{schedule} of {elapsed} s");
        assert!(schedule["ran_s"].as_f64().unwrap() > 0.0);
        assert!(record["samples"][0]["covariates"]["server_memory_bytes_node0"].as_f64().unwrap() > 0.0);
        let covariate = |name: &str| record["samples"][0]["covariates"][name].as_f64().unwrap();
        let recording_s = covariate("recording_cpu_s");
        assert!(recording_s > 0.0 && recording_s < elapsed, "{recording_s} of {elapsed}");
        // The number of the benchmark's CPUs, without which no gate bounds what a hypervisor's steal time explains.
        let cpus = covariate("bound_busy_s") / covariate("bound_busy_fraction") / elapsed;
        assert!(cpus > 0.5, "{cpus}");
    }
    let (shown, _) = world.exits(0, &["show", "results"]);
    assert!(shown.contains("locks whose share of the connections' time grows over threads"), "{shown}");
    world.assert_clean();
}

#[test]
fn what_cannot_be_captured_is_reported_and_other_captures_continue() {
    let world = World::new();
    let study = world.study(SHORT);
    let run = |path: &str, out: &str| {
        let output = world.tare(&["run", &study, "--out", out]).env("PATH", path).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", crate::support::text(&output.stderr));
        trials(&world.path(out)).remove(0)
    };
    // perf is not installed.
    let record = run("/nonexistent", "without");
    assert_eq!(record["outcome"], "ok", "{record}");
    let missing = &record["captures_missing"];
    assert!(missing["profile"].as_str().unwrap().contains("apt-get install linux-perf"), "{missing}");
    assert!(missing["status"].as_str().unwrap().contains("no counters of the whole server"), "{missing}");
    assert_eq!(document(&world.path("without"), &record, "locks")["waits"][0]["name"], "sqlite/busy");
    let (shown, _) = world.exits(0, &["show", "without"]);
    assert!(shown.contains("profile was not captured in 1 trial: perf is not installed"), "{shown}");
    // A perf without permission, with the kernel's own message.
    let fake = world.path("bin");
    std::fs::create_dir(&fake).unwrap();
    let refusal = "echo 'Error: Access to performance monitoring and observability operations is limited.' >&2\n\
                   echo 'Consider adjusting /proc/sys/kernel/perf_event_paranoid setting' >&2\nexit 255";
    script(&fake.join("perf"), refusal);
    let record = run(&format!("{}:/usr/bin:/bin", fake.display()), "refused");
    let reason = record["captures_missing"]["profile"].as_str().unwrap();
    assert!(reason.contains("sudo sysctl kernel.perf_event_paranoid=1"), "{reason}");
    assert!(record["captures"]["locks"].is_string(), "{record}");
    world.assert_clean();
}

#[test]
fn nothing_is_captured_unless_requested() {
    let world = World::new();
    let study = world.study(&SHORT.replace("\"on\"", "\"off\""));
    world.exits(0, &["run", &study, "--out", "results"]);
    let record = &trials(&world.path("results"))[0];
    assert!(record.get("capture_sample").is_none() && record.get("captures_missing").is_none(), "{record}");
    assert_eq!(record["captures"], serde_json::json!({}));
    assert!(!world.path("results/captures").exists());
    let off = world.study(
        &SHORT.replace("\"on\"", "\"off\"").replace("[sampling]", "schedule = \"off\"\nmemory = \"off\"\n[sampling]"),
    );
    world.exits(0, &["run", &off, "--out", "bare"]);
    let sample = &trials(&world.path("bare"))[0]["samples"][0];
    assert!(sample["threads"].as_array().unwrap().iter().all(|thread| thread.get("schedule").is_none()));
    assert!(sample["covariates"].get("server_memory_bytes_node0").is_none());
    // A capture cannot be a factor: it must not change what is measured.
    let factor = world.study("name = \"x\"\n[factors]\nprofile = [\"on\", \"off\"]\n");
    let (_, err) = world.exits(2, &["run", &factor, "--out", "never"]);
    assert!(err.contains("profile"), "{err}");
}

const MARIADB: &str = r#"
name = "mariadb"
[engine]
name = "mariadb"
[workload]
name = "read_write"
threads = 2
rows = 1000
[capture]
profile = "on"
locks = "on"
status = "on"
[sampling]
trials = 1
warmup_s = 0.2
sample_s = 0.7
"#;

#[test]
fn lock_waits_counters_and_innodb_status_of_mariadb_are_captured() {
    let world = World::sharing();
    let study = world.study(MARIADB);
    let (_, err) = world.exits(0, &["run", &study, "--out", "results"]);
    let results = world.path("results");
    let record = &trials(&results)[0];
    assert_eq!(record["outcome"], "ok", "sudo apt-get install mariadb-server\n{record}\n{err}");
    let locks = document(&results, record, "locks");
    assert!(locks["source"].as_str().unwrap().contains("for this sample only"), "{locks}");
    let waits = locks["waits"].as_array().unwrap();
    let innodb = waits.iter().find(|wait| wait["name"].as_str().unwrap().contains("/innodb/")).unwrap();
    assert!(innodb["count"].as_u64().unwrap() > 0 && innodb["wait_ms"].as_f64().unwrap() > 0.0, "{innodb}");
    assert!(
        waits.iter().all(|wait| !wait["name"].as_str().unwrap().contains("/cond/")),
        "idle threads are no contention"
    );
    assert!(verified(record, "capture.locks").contains("ON"), "{record}");
    // The transactions of the capture sample must match the server's counters.
    let commits = document(&results, record, "status")["differences"]["Com_commit"].as_f64().unwrap();
    let sample = &record["capture_sample"];
    let transactions = sample["tps"].as_f64().unwrap() * sample["elapsed_s"].as_f64().unwrap();
    assert!((commits / transactions - 1.0).abs() < 0.5, "{commits} of {transactions}");
    let report = std::fs::read_to_string(results.join(record["captures"]["status.report"].as_str().unwrap())).unwrap();
    assert!(report.contains("INNODB MONITOR OUTPUT"), "{report}");
    if may_profile(record) {
        let symbols = document(&results, record, "profile")["symbols"].to_string();
        assert!(symbols.contains("handle_one_connection") || symbols.contains("do_handle_one_connection"), "{symbols}");
        assert!(!symbols.contains("_ZN"), "names are not demangled: {symbols}");
    }
    // Disabled by the study: the record says so, and the other captures exist.
    let off = [
        "run",
        &study,
        "--out",
        "off",
        "--set",
        "engine.options.performance_schema=OFF",
        "--set",
        "sampling.sample_s=0.2",
        "--set",
        "capture.profile=off",
    ];
    world.exits(0, &off);
    let record = &trials(&world.path("off"))[0];
    let reason = record["captures_missing"]["locks"].as_str().unwrap();
    assert!(reason.contains("performance_schema is OFF"), "{reason}");
    assert!(record["captures"]["status"].is_string(), "{record}");
    world.assert_clean();
}

#[test]
fn the_profile_of_postgresql_covers_its_processes_and_the_flame_graph_those_of_connections() {
    let world = World::sharing();
    let study = world.study(&MARIADB.replace("mariadb", "postgresql"));
    let study = study.as_str();
    let mut args =
        vec!["run", study, "--out", "results", "--option", "wal_writer_delay=1ms", "--option", "bgwriter_delay=10ms"];
    for set in ["capture.locks=off", "capture.status=off", "capture.waits=on"] {
        args.extend(["--set", set]);
    }
    world.exits(0, &args);
    let results = world.path("results");
    let record = &trials(&results)[0];
    if may_profile(record) {
        let profile = document(&results, record, "profile");
        let symbols = profile["symbols"].as_array().unwrap().iter();
        let of =
            |name: &str| symbols.clone().find(|one| one["symbol"] == name).map(|one| one["total_fraction"].as_f64());
        assert!(profile["samples"].as_u64().unwrap() > 20, "{profile}");
        assert!(of("PostgresMain").flatten().is_some_and(|share| share > 0.5), "{profile}");
        // The processes that write the log and pages serve no connection. A busy machine may not sample them.
        let chains = |capture: &str| {
            std::fs::read_to_string(results.join(record["captures"][capture].as_str().unwrap())).unwrap()
        };
        let background = |line: &str| ["WalWriterMain", "BackgroundWriterMain"].iter().any(|main| line.contains(main));
        let (all, wall) = (chains("profile.folded"), chains("waits.wall"));
        let ran: Vec<&str> = wall.lines().filter(|line| line.starts_with("ran;")).collect();
        assert!(all.lines().any(background) || profile["samples"].as_u64().unwrap() < 200, "{all}");
        assert!(ran.iter().any(|line| line.contains("PostgresMain")), "{ran:#?}");
        assert!(!ran.iter().any(|line| background(line)), "{ran:#?}");
    }
}

#[test]
fn a_killed_trial_leaves_no_perf_and_its_recording_is_removed() {
    let world = World::new();
    let study =
        world.study(&SHORT.replace("sample_s = 0.3", "sample_s = 1").replace("trials = 1", "trials = 1\nattempts = 2"));
    let mut run = world.begin(&["run", &study, "--out", "results"]);
    let find = |words: &str| world.processes().into_iter().find(|pid| words_of(*pid).join(" ").contains(words));
    let captures = world.path("results/captures/trial-00000-1");
    // If this user may not profile, perf ends by itself and cannot be observed.
    wait_until("a recording", 60, || find("perf record").is_some() || !trials(&world.path("results")).is_empty());
    let found = (find("perf record"), find("tare trial"));
    if let (Some(perf), Some(trial)) = found {
        send(trial, Signal::KILL);
        wait_until("the end of perf", 60, || find("perf record") != Some(perf));
    }
    assert_eq!(run.wait().unwrap().code(), Some(0), "the second attempt");
    assert!(!captures.join("perf.data").exists());
    let records = trials(&world.path("results"));
    assert!(found.0.is_some() || !may_profile(records.last().unwrap()), "no perf was seen");
    // The next start removes everything else that a killed trial left.
    world.exits(0, &["run", "--resume", "results"]);
    world.assert_clean();
}
