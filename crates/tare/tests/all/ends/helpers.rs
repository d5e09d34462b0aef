//! What a server starts outlives neither it, nor its trial, nor a kill -9 of all; what was left running is told.

use crate::support::{World, text, trials};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A server that starts a helper in a session of its own, and tells no one whose it is. Its study.
fn with_helper(world: &World, sample_s: f64) -> String {
    let server = world.path("server");
    let lines = format!("#!/bin/sh\nsetsid sleep 600 >/dev/null 2>&1 &\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_tare"));
    std::fs::write(&server, lines).unwrap();
    std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o755)).unwrap();
    world.study(&format!(
        "name = \"helped\"\n[engine]\nname = \"sqlite\"\nbinary = \"{}\"\n[workload]\nrows = 20\n\
         [sampling]\ntrials = 2\nwarmup_s = 0\nsample_s = {sample_s}\n",
        server.display()
    ))
}

/// The helpers of this world; they work in its directory.
fn helpers(world: &World) -> Vec<u32> {
    let line = |pid: &u32| text(&std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default());
    world.processes().into_iter().filter(|pid| line(pid).starts_with("sleep\0")).collect()
}

#[test]
fn a_helper_that_outlives_its_server_is_ended_and_told_about() {
    let world = World::new();
    let study = with_helper(&world, 0.3);
    for group in ["on", "off"] {
        let out = format!("results-{group}");
        let output = world.tare(&["run", &study, "--out", &out]).env("TARE_CGROUP", group).output().unwrap();
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{err}");
        assert!(err.contains("(sleep), which the server had started, outlived it and was ended"), "{err}");
        for record in trials(&world.path(&out)) {
            assert!(record["outlived"][0].as_str().unwrap().ends_with("(sleep)"), "{record}");
        }
        let (out, _) = world.exits(0, &["show", &out]);
        assert!(out.contains("a process sleep that the server had started outlived it in 2 trials"), "{out}");
        world.assert_clean();
    }
}

fn send(pid: u32, signal: Signal) {
    // It may have ended by itself.
    let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal);
}

#[test]
fn a_kill_9_of_trial_or_of_all_leaves_no_helper() {
    for (group, all) in [("on", true), ("on", false), ("off", true), ("off", false)] {
        let world = World::new();
        // Long enough that no trial ends in good order while its processes are looked for; a run that goes on has to
        // come to its end.
        let study = with_helper(&world, if all { 600.0 } else { 2.0 });
        let mut run = world
            .tare(&["run", &study, "--out", "results"])
            .env("TARE_CGROUP", group)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while !world.path("results/logs/server-00000-1.log").exists() || helpers(&world).is_empty() {
            assert!(Instant::now() < deadline, "no trial began");
            std::thread::sleep(Duration::from_millis(5));
        }
        let kept = helpers(&world);
        let others: Vec<u32> = world.processes().into_iter().filter(|pid| !kept.contains(pid)).collect();
        // Stopped first: one that sees another of them die would put things in order.
        for signal in [Signal::STOP, Signal::KILL] {
            others.iter().filter(|pid| all || **pid != run.id()).for_each(|pid| send(*pid, signal));
        }
        let status = run.wait().unwrap();
        if all {
            assert!(!helpers(&world).is_empty(), "nothing to end: this test proves nothing");
            let (out, _) = world.exits(0, &["restore"]);
            assert!(out.contains("removed what 1 killed servers or programs had left"), "{out}");
        } else {
            assert!(status.success(), "{status}");
            let first = trials(&world.path("results")).remove(0);
            assert!(first["trial"] == 0 && first["outcome"] != "ok", "the trial was not killed: {first}");
        }
        world.assert_clean();
    }
}
