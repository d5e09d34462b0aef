//! Programs without a server: measured, placed, compared; and all the ways in which they can fail.

use crate::support::{World, json, kill_at_once, script, text, trials, wait_until};

#[test]
fn two_programs_are_compared_with_a_verdict() {
    let world = World::new();
    let (out, err) = world
        .exits(0, &["run", "--command", "sleep 0.02", "--command", "sleep 0.2", "--runs", "8", "--out", "r", "--json"]);
    let document = json(&out);
    let conditions = document["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 2, "{out}\n{err}");
    let wall = |number: usize| {
        let metrics = conditions[number]["metrics"].as_array().unwrap();
        metrics.iter().find(|m| m["name"] == "wall_s").unwrap()["mean"].as_f64().unwrap()
    };
    assert!((0.02..0.05).contains(&wall(0)) && (0.2..0.4).contains(&wall(1)), "{} {}", wall(0), wall(1));
    assert!(document["answer"]["text"].as_str().unwrap().contains("sleep 0.02"), "{}", document["answer"]);
    let trial = &trials(&world.path("r"))[0];
    let metrics = &trial["samples"][0]["metrics"];
    for name in ["user_s", "system_s", "minor_faults", "voluntary_switches"] {
        assert!(metrics[name].as_f64().is_some(), "{name}: {metrics}");
    }
    assert!(metrics["peak_memory_bytes"].is_null(), "sleep takes less memory than tare: {metrics}");
    world.assert_clean();
}

#[test]
fn cpu_time_of_a_program_and_its_children_is_counted_for_every_binding() {
    let world = World::new();
    let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
    let command = format!("sh -c '({work}) & ({work}) & wait'");
    let set = ["--set", "placement.client=pu:1", "--set", "factors.bind=set,thread"];
    let args = ["run", "--command", &command, "--runs", "2", "--out", "r"];
    world.exits(0, &[&args[..], &set].concat());
    let records = trials(&world.path("r"));
    assert_eq!(records.len(), 4);
    for record in records {
        let sample = &record["samples"][0];
        let of = |name: &str| sample["metrics"][name].as_f64().unwrap();
        let cpu_s = of("user_s") + of("system_s");
        // Both run on one PU, so their CPU time cannot exceed the wall-clock time.
        assert!(cpu_s > 0.05 && cpu_s < of("wall_s") * 1.05, "{sample}");
        let threads = sample["threads"].as_array().unwrap();
        assert!(!threads.is_empty() && threads.iter().all(|t| t["allowed_cpus"] == "1"), "{sample}");
    }
    world.assert_clean();
}

/// Runs a study of one command whose trials must fail, and returns the reason.
fn reason(world: &World, workload: &str) -> String {
    let _ = std::fs::remove_dir_all(world.path("r"));
    let study = world.study(&format!(
        "name = \"own\"\n[workload]\nname = \"command\"\n{workload}\n[sampling]\ntrials = 2\nattempts = 1\nwarmup_s = 0\n"
    ));
    let (_, err) = world.exits(4, &["run", &study, "--out", "r"]);
    let records = trials(&world.path("r"));
    assert_eq!(records.len(), 2, "the study goes on: {err}");
    world.assert_clean();
    records[1]["reason"].as_str().unwrap().to_owned()
}

#[test]
fn each_failure_of_a_program_has_its_own_reason_and_leaves_nothing() {
    let world = World::new();
    let printed = reason(&world, "command = [\"sh\", \"-c\", \"echo last words; echo and more >&2; exit 7\"]");
    assert!(
        printed.contains("exit status: 7") && printed.contains("last words") && printed.contains("and more"),
        "{printed}"
    );
    let here = world.path("").display().to_string();
    let printed = reason(
        &world,
        &format!("command = \"sh -c 'cd {here}; echo hanging; sleep 300 & sleep 300'\"\ntimeout_s = 0.5"),
    );
    assert!(printed.contains("had not ended after") && printed.contains("hanging"), "{printed}");
    // The second helper pretends to belong to another server.
    let helpers = "setsid sleep 300 & TARE_SERVER=0123456789abcdef setsid sleep 300 &";
    let printed = reason(&world, &format!("command = \"sh -c 'cd {here}; {helpers} sleep 0.2'\""));
    assert!(printed.contains("left processes running") && printed.matches("sleep (").count() == 2, "{printed}");
    // Chains of processes that start the next one and end, in the program's process group and in their own.
    script(&world.path("chain"), "exec python3 -c 'import os\nwhile os.path.exists(\"on\") and not os.fork(): pass'");
    std::fs::write(world.path("on"), "").unwrap();
    let chains = "for n in 1 2 3 4 5; do ./chain & setsid ./chain & done";
    let printed = reason(&world, &format!("command = \"sh -c 'cd {here}; {chains}; sleep 0.5'\""));
    assert!(printed.contains("left processes running") && !printed.contains("ever new processes"), "{printed}");
    std::fs::remove_file(world.path("on")).unwrap();
    let printed = reason(&world, "command = \"echo nothing here\"\nmetrics = \"sysbench\"");
    assert!(printed.contains("has no result") && printed.contains("nothing here"), "{printed}");
    let printed = reason(&world, "command = \"echo score NaN\"\nmetrics = \"regex 'score (.*)' as score\"");
    assert!(printed.contains("has no result") && printed.contains("score NaN"), "{printed}");
    let printed = reason(&world, "command = \"echo score 0\"\nmetrics = \"regex 'score (.*)' as tps\"");
    assert!(printed.contains("has no result: tps is 0"), "a throughput of nothing is no result: {printed}");
    let printed = reason(&world, "command = \"echo score 1e308\"\nmetrics = \"regex 'score (.*)' as tps\"");
    assert!(printed.contains("has no result: tps is 1e308"), "more than a transaction a nanosecond: {printed}");
    let printed = reason(&world, "command = \"echo score -2\"\nmetrics = \"regex 'score (.*)' as latency_ms_p99\"");
    assert!(printed.contains("has no result: latency_ms_p99 is -2.0"), "no time is less than none: {printed}");
    let printed = reason(&world, "command = \"yes\"");
    assert!(printed.contains("more than 64 MiB"), "{printed}");
    let logs = crate::support::names(&world.path("r/logs"));
    assert!(logs.iter().any(|name| name.starts_with("trial-00000")), "{logs:?}");
}

/// As in many containers: the leader of tare's session is outside, and the session's number is 0.
#[test]
fn in_a_pid_namespace_the_helpers_of_a_program_are_ended() {
    if !rustix::process::geteuid().is_root() {
        println!("not tried: only root may mount /proc");
        return;
    }
    let world = World::new();
    let study = world.study(
        "name = \"own\"\n[workload]\nname = \"command\"\ncommand = [\"sh\", \"-c\", \"setsid sleep 300 & sleep 0.2\"]\n\
         [sampling]\ntrials = 2\nattempts = 1\nwarmup_s = 0\n",
    );
    let namespace = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    let run = world.behind(&namespace, &["run", &study, "--out", "r"]).output();
    let run = run.expect("unshare (Debian package util-linux)");
    let records = trials(&world.path("r"));
    let reason = |record: &serde_json::Value| record["reason"].as_str().unwrap_or_default().to_owned();
    assert!(records.len() == 2 && run.status.code() == Some(4), "{}", text(&run.stderr));
    assert!(records.iter().all(|record| reason(record).contains("left processes running")), "{records:?}");
    world.assert_clean();
}

#[test]
fn after_kill_9_of_everything_the_helpers_of_a_program_are_ended_by_the_next_start() {
    let world = World::new();
    // A helper in a session of its own, whose parent has ended: only its mark in the environment identifies its owner.
    let script = "(setsid sleep 600 & echo $! >helper) ; : >ready ; exec sleep 600";
    let study = world.study(&format!(
        "name = \"own\"\n[workload]\nname = \"command\"\ncommand = [\"sh\", \"-c\", \"{script}\"]\n\
         [sampling]\ntrials = 1\nwarmup_s = 0\n"
    ));
    let mut run = world.begin(&["run", &study, "--out", "r"]);
    wait_until("the program", 30, || world.path("ready").exists());
    let helper: u32 = std::fs::read_to_string(world.path("helper")).unwrap().trim().parse().unwrap();
    // Kills the run, its trial and the rest of the program.
    kill_at_once(world.processes().into_iter().filter(|pid| *pid != helper));
    run.wait().unwrap();
    // Killed processes take a moment to disappear.
    wait_until("that it alone outlives all of them", 30, || world.processes() == [helper]);
    let (out, _) = world.exits(0, &["restore"]);
    assert!(out.contains("removed files and processes of 1 killed"), "{out}");
    world.assert_clean();
}

#[test]
fn user_defined_metrics_are_read_and_the_program_output_is_kept() {
    let world = World::new();
    let study = world.study(
        "name = \"own\"\n[workload]\nname = \"command\"\n\
         command = [\"sh\", \"-c\", \"test -f ready && echo '{\\\"rate\\\": {threads}5, \\\"seed\\\": {seed}}'\"]\n\
         environment = \"X=1\"\nprepare = \"touch ready\"\ncleanup = \"rm ready\"\nwarmup_runs = 1\nthreads = 2\n\
         metrics = [\"json /rate as rate_per_s\", \"regex 'seed.: ([0-9]+)' as seed\"]\n\
         [sampling]\ntrials = 2\nsamples = 2\nwarmup_s = 0\n",
    );
    world.exits(0, &["run", &study, "--out", "r"]);
    let records = trials(&world.path("r"));
    assert_eq!(records[1]["samples"][1]["metrics"]["rate_per_s"], 25.0);
    assert!(records[1]["samples"][1]["metrics"]["wall_s"].is_null());
    let log = std::fs::read_to_string(world.path("r/logs/client-1-00001-1.log")).unwrap();
    assert!(log.contains("\"rate\": 25"), "{log}");
    assert!(!world.path("ready").exists());
}
