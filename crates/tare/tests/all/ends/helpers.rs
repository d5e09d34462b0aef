//! Processes of a server must not outlive it, its trial, or a kill -9 of everything; ended ones are reported.

use crate::support::{World, script, send, text, trials, wait_until, words_of};
use rustix::process::Signal;
use std::process::Stdio;

/// A study with a server that starts these commands in the background.
fn with_helpers(world: &World, helpers: &[&str], sample_s: f64) -> String {
    let server = world.path("server");
    let started: String = helpers.iter().map(|command| format!("{command} >/dev/null 2>&1 &\n")).collect();
    script(&server, &format!("{started}exec {} \"$@\"", env!("CARGO_BIN_EXE_tare")));
    world.study(&format!(
        "name = \"helped\"\n[engine]\nname = \"sqlite\"\nbinary = \"{}\"\n[workload]\nrows = 20\n\
         rate = \"400 to 800 in 2 steps\"\n[sampling]\ntrials = 2\nwarmup_s = 0\nsample_s = {sample_s}\n",
        server.display()
    ))
}

/// The helper processes of this world; their working directory is in it.
fn helpers(world: &World) -> Vec<u32> {
    world.processes().into_iter().filter(|pid| words_of(*pid).first().is_some_and(|word| word == "sleep")).collect()
}

#[test]
fn a_helper_process_that_outlives_its_server_is_ended_and_reported() {
    let world = World::new();
    // Nothing in the environment of the second helper identifies its owner, nor in that of the last one, which has a
    // process group of its own and no session; the third one has the mark of no one.
    let helpers = [
        "setsid sleep 600",
        "env -i setsid sleep 600",
        "env TARE_SERVER=0123456789abcdef setsid sleep 600",
        "bash -c 'set -m; env -i sleep 600 &'",
    ];
    let study = with_helpers(&world, &helpers, 0.3);
    for group in ["on", "off"] {
        let out = format!("results-{group}");
        let output = world.tare(&["run", &study, "--out", &out]).env("TARE_CGROUP", group).output().unwrap();
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{err}");
        assert!(err.contains("(sleep), which the server had started and left running"), "{err}");
        for record in trials(&world.path(&out)) {
            let outlived = record["outlived"].as_array().unwrap();
            assert!(
                outlived.len() == 4 && outlived.iter().all(|one| one["name"] == "sleep" && one["pid"].is_u64()),
                "{record}"
            );
        }
        let (out, _) = world.exits(0, &["show", &out]);
        assert!(out.contains("a process sleep that the server had started outlived it in 2 trials"), "{out}");
        world.assert_clean();
    }
}

#[test]
fn a_kill_9_of_a_trial_or_of_all_processes_leaves_no_helper_process() {
    for (group, all) in [("on", true), ("on", false), ("off", true), ("off", false)] {
        let world = World::new();
        // With `all`, no trial may end normally while its processes are sought; otherwise the run must reach its end.
        let study = with_helpers(&world, &["setsid sleep 600"], if all { 600.0 } else { 2.0 });
        let mut run = world
            .tare(&["run", &study, "--out", "results"])
            .env("TARE_CGROUP", group)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let log = world.path("results/logs/server-00000-1.log");
        wait_until("a trial", 60, || log.exists() && !helpers(&world).is_empty());
        let kept = helpers(&world);
        let others: Vec<u32> = world.processes().into_iter().filter(|pid| !kept.contains(pid)).collect();
        // Stopped first: a process that sees another one die would start to clean up.
        for signal in [Signal::STOP, Signal::KILL] {
            for pid in others.iter().filter(|pid| all || **pid != run.id()) {
                send(*pid, signal);
            }
        }
        let status = run.wait().unwrap();
        if all {
            assert!(!helpers(&world).is_empty(), "nothing to end: this test proves nothing");
            let (out, _) = world.exits(0, &["restore"]);
            assert!(out.contains("removed files and processes of 1 killed servers or programs"), "{out}");
        } else {
            assert!(status.success(), "{status}");
            let first = trials(&world.path("results")).remove(0);
            assert!(first["trial"] == 0 && first["outcome"] != "ok", "the trial was not killed: {first}");
        }
        world.assert_clean();
    }
}
