//! Failures of a run or a load: timeouts, full disks, moved threads, unreadable results, kill -9.

use crate::support::{World, script, send, server_beside, text, trials, wait_for_trials, words_of};
use rustix::process::Signal;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tare_engine::Sqlite;

const STUDY: &str = r#"
name = "failing"
[workload]
rows = 200
[sampling]
trials = 8
warmup_s = 0.05
sample_s = 0.3
seed = 5
[placement]
client = "all"
server = "all"
bind = "thread"
pairing = "same-pu"
"#;

#[test]
fn a_trial_that_takes_too_long_is_ended_and_recorded() {
    let world = World::new();
    let study = world.study(STUDY);
    let long = ["sampling.trials=1", "sampling.sample_s=30", "sampling.trial_timeout_s=1.5", "sampling.attempts=2"];
    let mut args = vec!["run", &study, "--out", "results"];
    args.extend(long.iter().flat_map(|set| ["--set", set]));
    let began = Instant::now();
    let (_, err) = world.exits(4, &args);
    assert!(began.elapsed() < Duration::from_secs(25), "the samples were waited for");
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 2, "both attempts are in the record: {err}");
    for record in records {
        assert_eq!(record["outcome"], "failed");
        assert!(record["reason"].as_str().unwrap().contains("longer than 2 s"), "{record}");
    }
    world.assert_clean();
}

#[test]
fn a_run_whose_trials_all_fail_for_one_reason_ends_early_and_can_be_resumed() {
    let world = World::new();
    let study = world.study(STUDY);
    let sets = ["--set", "sampling.sample_s=30", "--set", "sampling.trial_timeout_s=0.5"];
    let (_, err) = world.exits(4, &[&["run", &study, "--out", "results"], sets.as_slice()].concat());
    assert_eq!(trials(&world.path("results")).len(), 3, "of eight trials: {err}");
    assert!(err.contains("all 3 trials so far failed for the same reason") && err.contains("longer than"), "{err}");
    assert!(err.contains("tare run --resume results"), "{err}");
    world.assert_clean();
}

#[test]
fn results_that_are_moved_away_during_a_run_stop_it_and_can_be_resumed() {
    let world = World::new();
    let study = world.study(STUDY);
    let (results, away) = (world.path("results"), world.path("away"));
    for replaced in [false, true] {
        let begin: [&str; 4] =
            if replaced { ["run", "--resume", "results", "--yes"] } else { ["run", &study, "--out", "results"] };
        let run = world.tare(&begin).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for_trials(&results, if replaced { 4 } else { 1 });
        std::fs::rename(&results, &away).unwrap();
        if replaced {
            std::fs::create_dir(&results).unwrap();
        }
        let output = run.wait_with_output().unwrap();
        let err = text(&output.stderr);
        assert!(output.status.code() == Some(3) && err.contains("was replaced or removed"), "{err}");
        if replaced {
            std::fs::remove_dir(&results).unwrap();
        }
        std::fs::rename(&away, &results).unwrap();
        assert!(trials(&results).iter().all(|record| record["outcome"] == "ok"), "a trial failed for this");
    }
    world.exits(0, &["run", "--resume", "results"]);
    assert_eq!(trials(&results).len(), 8);
    world.assert_clean();
}

/// As when its file system becomes read-only: working copies cannot be removed at the end.
#[test]
fn a_cache_that_is_lost_during_a_run_does_not_hide_its_results() {
    let world = World::new();
    let command = "sh -c 'sleep 0.02; rm -rf cache; touch cache'";
    let (out, err) = world.exits(0, &["run", "--command", command, "--runs", "1", "--out", "results"]);
    assert!(out.contains("wall_s") && err.contains("note: ") && err.contains("results/report.html"), "{out}{err}");
}

#[test]
fn a_server_thread_whose_cpu_affinity_is_changed_fails_its_trial() {
    assert!(std::thread::available_parallelism().unwrap().get() > 1, "this test needs two CPUs to stray between");
    let world = World::new();
    let study = world.study(STUDY);
    let args = ["run", &study, "--out", "results", "--set", "sampling.trials=1", "--set", "sampling.attempts=1"];
    let mut run = world.begin(&[args.as_slice(), &["--set", "sampling.sample_s=2"]].concat());
    // Another process widens the affinity of all of the server's threads, as an administrator's script may.
    while run.try_wait().unwrap().is_none() {
        for pid in world.processes().into_iter().filter(|pid| words_of(*pid).contains(&"sqlite-server".to_owned())) {
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
            for tid in tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok()) {
                let tid = rustix::process::Pid::from_raw(tid);
                let all = rustix::thread::sched_getaffinity(None).unwrap();
                let _ = rustix::thread::sched_setaffinity(tid, &all); // it may have ended
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(run.wait().unwrap().code(), Some(4));
    let records = trials(&world.path("results"));
    assert_eq!(records.len(), 1);
    let reason = records[0]["reason"].as_str().unwrap();
    assert!(reason.contains("placement not kept") && reason.contains("server thread"), "{reason}");
    world.assert_clean();
}

#[test]
fn a_full_disk_ends_the_run_and_loses_no_finished_trial() {
    let world = World::new();
    let study = world.study(STUDY);
    std::fs::create_dir(world.path("small")).unwrap();
    // A file system for the results, in a mount namespace that ends with the shell. Another process takes its room.
    let script = r#"mount -t tmpfs -o size=3m none small || exit 77
        { until [ -s small/results/trials.jsonl ]; do sleep 0.05; done
          head -c $(($(df -k --output=avail small | tail -n 1) * 1024 - 150000)) /dev/zero > small/others; } &
        "$0" run "$1" --out small/results --set sampling.sample_s=0.05 --set sampling.trials=200; code=$?
        wait; cp -r small/results kept; exit $code"#;
    let mut shell = world.behind(&["unshare", "-rm", "sh", "-c", script], &[&study]);
    let output = shell.output().expect("unshare (Debian package util-linux)");
    let err = text(&output.stderr);
    assert_ne!(output.status.code(), Some(77), "no mount in a user name space of our own: {err}");
    assert_eq!(output.status.code(), Some(3), "{err}");
    // A trial that cannot fit is not started; the error names the path, the needed and the free space.
    assert!(err.contains("small/results: the record of a trial with its logs needs"), "{err}");
    assert!(err.contains(" bytes), and ") && err.contains("are free") && err.contains("--resume"), "{err}");
    let kept = trials(&world.path("kept"));
    assert!(!kept.is_empty() && kept.len() < 200, "{} trials", kept.len());
    let (_, err) = world.exits(0, &["show", "kept"]);
    assert!(!err.contains("panicked"), "{err}");
    world.assert_clean();
    // With room again, the same schedule goes on after the existing records.
    let mut resumed = world.begin(&["run", "--resume", "kept"]);
    wait_for_trials(&world.path("kept"), kept.len() + 2);
    send(resumed.id(), Signal::INT);
    assert_eq!(resumed.wait().unwrap().code(), Some(130));
    assert_eq!(trials(&world.path("kept"))[..kept.len()], kept[..]);
    world.assert_clean();
}

#[test]
fn a_read_only_sys_excludes_conditions_and_changes_no_setting() {
    let world = World::new();
    let study = world.study(&format!("{STUDY}\n[factors]\nthp = [\"as-found\", \"always\", \"never\"]\n"));
    let path = "/sys/kernel/mm/transparent_hugepage/enabled";
    let before = std::fs::read_to_string(path).expect("this test needs a kernel with transparent huge pages");
    let short = ["--set", "sampling.trials=1", "--set", "sampling.sample_s=0.05"];
    let args = [&["run", &study, "--out", "results"], &short[..]].concat();
    // Root gets a read-only /sys, as in a container; other users cannot write to it anyway.
    let read_only = ["unshare", "--mount", "sh", "-c", "mount -o remount,bind,ro /sys && exec \"$@\"", "sh"];
    let (mut tare, reason) = match rustix::process::geteuid().is_root() {
        true => (world.behind(&read_only, &args), "is mounted read-only here"),
        false => (world.tare(&args), "needs root"),
    };
    let output = tare.output().unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    let plan: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(world.path("results/plan.json")).unwrap()).unwrap();
    let conditions = plan["conditions"].as_array().unwrap();
    let found = conditions.iter().map(|c| c["reason"].as_str().unwrap_or_default());
    // The level that is in effect already needs no write.
    let refused = found.filter(|found| found.contains(reason)).count();
    assert!(
        refused >= 1 && refused == conditions.iter().filter(|c| c["realizable"] == false).count(),
        "{conditions:?}"
    );
    assert_eq!(std::fs::read_to_string(path).unwrap(), before);
    world.assert_clean();
}

#[test]
fn a_damaged_line_is_skipped_and_unreadable_results_are_a_clear_error() {
    let world = World::new();
    let study = world.study(STUDY);
    world.exits(
        0,
        &[
            &["run", &study, "--out", "results", "--set", "sampling.trials=2", "--set", "sampling.sample_s=0.05"][..],
            &["--set", "capture.locks=on"],
        ]
        .concat(),
    );
    let records = world.path("results/trials.jsonl");
    let good = std::fs::read_to_string(&records).unwrap();
    let broken = good.replacen("{\"schema\":", "{\"schema:", 1);
    assert_ne!(broken, good);
    std::fs::write(&records, &broken).unwrap();
    let [of_time, again] = [["why", "results"].as_slice(), &["run", "--resume", "results"]];
    for args in [["show", "results"].as_slice(), of_time, &["report", "results"], again] {
        let (_, err) = world.exits(0, args);
        let damaged = err.matches("line 1 of results/trials.jsonl is damaged and set aside").count();
        assert!(damaged == 1 || damaged > 0 && args != of_time, "{args:?}: {err}");
    }
    let resumed = std::fs::read_to_string(&records).unwrap();
    assert!(resumed.starts_with(&broken), "nothing of the records is cut");
    assert_eq!(resumed.lines().count(), 3, "the trial of the damaged line ran again: {resumed}");
    let (_, err) = world.exits(0, &["run", "--resume", "results"]);
    assert!(err.contains("is damaged and set aside"), "{err}");
    assert_eq!(std::fs::read_to_string(&records).unwrap(), resumed);
    std::fs::write(&records, &good).unwrap();
    std::fs::write(world.path("results/captures/trial-00001-1/locks.json"), "{").unwrap();
    let (_, err) = world.exits(0, of_time);
    assert!(err.contains("note: the locks of trial 1 cannot be read: "), "{err}");

    // Permissions do not restrict root; the suite also runs as an ordinary user.
    if !rustix::process::geteuid().is_root() {
        let directory = world.path("results");
        std::fs::set_permissions(&directory, PermissionsExt::from_mode(0o000)).unwrap();
        for args in [["show", "results"].as_slice(), &["run", "--resume", "results"], &["report", "results"]] {
            let (_, err) = world.exits(2, args);
            assert!(err.contains("Permission denied"), "{args:?}: {err}");
        }
        std::fs::set_permissions(&directory, PermissionsExt::from_mode(0o555)).unwrap();
        world.exits(0, &["show", "results"]);
        std::fs::set_permissions(&directory, PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::write(world.path("file"), "").unwrap();
    let (_, err) = world.exits(2, &["run", &study, "--out", "file"]);
    assert!(err.contains("file"), "{err}");
}

/// A server that prepares its data and then, in the trial, writes a line of 300 KiB that would rename the terminal.
#[test]
fn server_output_is_truncated_in_the_record_and_cannot_control_the_terminal() {
    let world = World::new();
    let (hostile, made) = (world.path("hostile"), world.path("made"));
    let lines = format!(
        "[ \"$1\" != --version ] || exec {1} --version\nif [ -e {0} ]; then\n\
         printf '\\033]0;mine\\007'; head -c 300000 /dev/zero | tr '\\0' x; echo; exit 1\n\
         fi\n: >{0}; exec {1} \"$@\"",
        made.display(),
        env!("CARGO_BIN_EXE_tare")
    );
    script(&hostile, &lines);
    let study = world.study(&format!("{STUDY}[engine]\nname = \"sqlite\"\nbinary = \"{}\"\n", hostile.display()));
    let one = ["--set", "sampling.trials=1", "--set", "sampling.attempts=1"];
    let (out, err) = world.exits(4, &[&["run", &study, "--out", "results"], one.as_slice()].concat());
    let records = std::fs::read_to_string(world.path("results/trials.jsonl")).unwrap();
    assert!(records.len() < 40 << 10 && records.contains(" bytes in all ..."), "{} bytes", records.len());
    assert!(trials(&world.path("results"))[0]["reason"].as_str().unwrap().contains("died during start"));
    let (shown, reported) = world.exits(0, &["show", "results"]);
    for text in [out, err, shown, reported] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    }
    world.assert_clean();
}

/// A load of the user's own, without a run.
#[test]
fn a_load_that_misses_its_rate_or_finds_no_rows_fails_with_the_reason() {
    let world = World::new();
    let server = server_beside(&world, &Sqlite);
    let socket = server.address().to_string();
    let base = ["load", "point_select", "--engine", "sqlite", "--socket", &socket, "--rows", "1000"];
    let exits = |code: i32, more: &[&str]| world.exits(code, &[&base[..], more].concat());
    exits(0, &["--prepare"]);
    exits(0, &["--time", "200ms", "--warmup", "0s"]);
    let (_, err) = exits(4, &["--time", "500ms", "--warmup", "0s", "--rate", "5000000"]);
    assert!(err.contains("the rate was not met") && err.contains("5000000"), "{err}");
    assert!(err.contains("request a lower rate, or use more client threads"), "{err}");

    // One transaction in a hundred seconds: none is due in so short a time.
    let (_, err) = exits(4, &["--time", "300ms", "--warmup", "0s", "--rate", "0.01"]);
    assert!(err.contains("no transaction was finished") && err.contains("make samples longer"), "{err}");

    // Rows that vanish under load: a select that finds none is not a completed transaction.
    let mut running = world.tare(&[&base[..], &["--time", "60s", "--warmup", "0s"]].concat());
    let running = running.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    server.connect().unwrap().run("DELETE FROM sbtest1").unwrap();
    let ended = running.wait_with_output().unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(ended.status.code(), Some(4));
    let err = text(&ended.stderr);
    assert!(err.contains("answered with 0 rows: expected 1 to 1"), "{err}");
}
