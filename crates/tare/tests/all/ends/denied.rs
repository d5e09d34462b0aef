//! Systems that deny what a run needs: system calls refused by a container's filter, limits of files and threads. Each
//! must give an error that names the cause within seconds, and leave nothing.

use crate::support::{ControlGroup, World, names, send, text, trials, wait_until, words_of};
use rustix::process::{Pid, Resource, Rlimit, Signal};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const STUDY: &str = "name = \"denied\"\n[workload]\nname = \"point_select\"\nrows = 20\n[placement]\nserver = \
                     \"cpus:0\"\n[sampling]\ntrials = 1\nwarmup_s = 0\nsample_s = 0.1\nsteal_limit = \"off\"\n\
                     foreign_cpu_limit = \"off\"\n";

/// Runs `wrapper`, followed by this world's `tare run`, which must end within seconds; returns exit code and output.
fn run_under(world: &World, wrapper: &[&str], sets: &[&str]) -> (Option<i32>, String) {
    let study = world.study(STUDY);
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", *set]).collect();
    let mut wrapped = world.behind(wrapper, &[&["run", &study, "--out", "results"], &sets[..]].concat());
    let began = Instant::now();
    let output = wrapped.output().unwrap();
    let printed = text(&output.stderr);
    assert!(began.elapsed() < Duration::from_secs(25), "{wrapper:?} took {:?}: {printed}", began.elapsed());
    assert!(!printed.contains("panicked"), "{wrapper:?}: {printed}");
    (output.status.code(), printed)
}

fn denied(calls: &str, sets: &[&str]) -> (Option<i32>, String) {
    let world = World::new();
    let filter = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/ends/denied.py");
    let result = run_under(&world, &["python3", filter.to_str().unwrap(), calls], sets);
    world.assert_clean();
    result
}

#[test]
fn a_denied_system_call_is_reported_as_an_error_within_seconds() {
    let (code, printed) = denied("sched_getaffinity", &[]);
    assert!(
        code == Some(3) && printed.contains("CPU affinity") && printed.contains("not permitted"),
        "{code:?} {printed}"
    );
    let (code, printed) = denied("kill,pidfd_send_signal", &[]);
    assert!(code == Some(3) && printed.contains("sending it a signal failed"), "{code:?} {printed}");
    let (code, printed) = denied("threads", &[]);
    assert!(code == Some(3) && printed.contains("cannot handle signals"), "{code:?} {printed}");
}

#[test]
fn under_dockers_default_filter_a_study_runs_and_what_is_denied_is_named() {
    let (code, printed) = denied("docker", &[]);
    assert_eq!(code, Some(0), "{printed}");
    let refused = |set: &str, reason: &str| {
        let (code, printed) = denied("docker", &[set]);
        assert!(code == Some(3) && printed.contains(reason), "{set}: {code:?} {printed}");
    };
    refused("process.aslr=off", "personality(2) is not permitted");
    refused("placement.memory=bind:all", "--cap-add SYS_NICE");
    if rustix::process::geteuid().is_root() {
        refused("engine.name=postgresql", "docker run --user");
    }
}

#[test]
fn another_namespaces_proc_and_a_read_only_cache_are_refused_with_what_to_do() {
    if !rustix::process::geteuid().is_root() {
        return; // Only root makes such namespaces everywhere.
    }
    let world = World::new();
    let (code, printed) = run_under(&world, &["unshare", "--pid", "--fork", "--kill-child"], &[]);
    assert!(code == Some(3) && printed.contains("belongs to another PID namespace"), "{code:?} {printed}");
    let read_only = "mount --bind cache cache && mount -o remount,ro,bind cache && exec \"$@\"";
    let (code, printed) = run_under(&world, &["unshare", "--mount", "sh", "-c", read_only, "sh"], &[]);
    let what_to_do = ["Read-only file system", "TARE_CACHE_DIR"];
    assert!(code == Some(3) && what_to_do.iter().all(|words| printed.contains(words)), "{code:?} {printed}");
    // With its own /proc all runs but what names threads by the numbers of the first namespace.
    let contained = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"];
    let (code, printed) = run_under(&world, &contained, &["capture.wakes=on"]);
    let record = trials(&world.path("results")).remove(0);
    let why = record["captures_missing"]["wakes"].as_str().unwrap_or_default();
    assert!(code == Some(0) && why.contains("--pid host"), "{code:?} {record} {printed}");
    world.assert_clean();
}

#[test]
fn a_file_size_limit_causes_an_error_instead_of_a_signal() {
    // The description of the machine, a server's data, the report.
    for (kib, words) in [(1, "File too large"), (20, "died during start"), (100, "cannot write the report")] {
        let world = World::new();
        let limited = format!("ulimit -f {kib}; exec \"$@\"");
        let (code, printed) = run_under(&world, &["bash", "-c", &limited, "bash"], &[]);
        assert!(code == Some(3) && printed.contains(words), "{code:?} {printed}");
        assert!(printed.contains("do now: RLIMIT_FSIZE") && printed.contains("ulimit -f"), "{printed}");
        world.assert_clean();
    }
}

#[test]
fn a_stack_limit_that_is_too_low_is_refused_with_the_limit_to_raise() {
    let world = World::new();
    let (code, printed) = run_under(&world, &["sh", "-c", "ulimit -s 64; exec \"$@\"", "sh"], &[]);
    assert!(
        code == Some(3) && printed.contains("stack is 64 KiB") && printed.contains("ulimit -s"),
        "{code:?} {printed}"
    );
    world.assert_clean();
}

#[test]
fn threads_beyond_the_open_file_limit_are_refused_with_the_limit_to_raise() {
    let world = World::new();
    let limited = ["sh", "-c", "ulimit -n 300; exec \"$@\"", "sh"];
    let (code, printed) = run_under(&world, &limited, &["workload.threads=400"]);
    assert!(
        code == Some(3) && printed.contains("RLIMIT_NOFILE") && printed.contains("ulimit -n "),
        "{code:?} {printed}"
    );
    world.assert_clean();
}

#[test]
fn a_few_threads_beyond_a_low_limit_are_refused_with_the_limit_to_raise() {
    // The clients have room for their sockets, the embedded server has not for its files; then no one has. Other
    // servers, or what makes their data, have none.
    for (limit, set) in [
        ("-n 100", "workload.threads=40"),
        ("-n 24", "workload.threads=3"),
        ("-n 40", "engine.name=mariadb"),
        ("-n 40", "engine.name=postgresql"),
    ] {
        let world = World::new();
        let (code, printed) =
            run_under(&world, &["bash", "-c", &format!("ulimit {limit}; exec \"$@\""), "bash"], &[set]);
        let names = printed.contains("RLIMIT_NOFILE") && printed.contains("ulimit -n ");
        assert!(code == Some(3) && names, "{limit}, {set}: {code:?} {printed}");
        world.assert_clean();
    }
}

/// Starts a run of three trials and calls `lower` with its process before the second trial has a server. The run must
/// stop with an error that names the limit, and without it be resumed as if nothing had been tried.
fn limited_later(world: &World, mut run: Command, limit: &str, lower: impl FnOnce(Pid)) {
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let is_second = |pid: u32| words_of(pid).windows(2).any(|words| words == ["--trial", "1"]);
    wait_until("the second trial", 60, || world.processes().into_iter().any(is_second));
    lower(Pid::from_raw(run.id().cast_signed()).unwrap());
    let ended = run.wait_with_output().unwrap();
    let printed = text(&ended.stderr);
    let named = printed.contains(limit) && printed.contains("then: tare run --resume results");
    assert!(ended.status.code() == Some(3) && named, "{limit}: {printed}");
    let records = trials(&world.path("results"));
    assert!(records.len() < 3 && records.iter().all(|record| record["outcome"] == "ok"), "{records:?}");
    let log = |name: String| text(&std::fs::read(world.path("results/logs").join(name)).unwrap());
    assert!(names(&world.path("results/logs")).into_iter().all(|name| !log(name).contains("panicked")));
    world.assert_clean();
    world.exits(0, &["run", "--resume", "results"]);
    let records = trials(&world.path("results"));
    assert!(records.len() == 3 && records.iter().all(|r| r["outcome"] == "ok" && r["attempt"] == 1), "{records:?}");
    world.assert_clean();
}

/// The pause before each trial is the time in which the limit is lowered.
const LATER: [&str; 4] = ["--set", "sampling.trials=3", "--set", "sampling.pause_s=2"];

#[test]
fn descriptors_that_run_out_during_a_run_are_named_and_the_run_is_resumed() {
    let lowered = |process: Pid, most: u64| {
        let now = rustix::process::getrlimit(Resource::Nofile);
        rustix::process::prlimit(Some(process), Resource::Nofile, Rlimit { current: Some(most), ..now }).unwrap();
    };
    // The run cannot open a file; it cannot start a trial.
    for (engine, most) in [("sqlite", 4), ("mariadb", 12)] {
        let world = World::new();
        let study = world.study(STUDY);
        let run = world.tare(&[&["run", &study, "--out", "results", "--engine", engine], &LATER[..]].concat());
        limited_later(&world, run, "RLIMIT_NOFILE", |run| lowered(run, most));
    }
}

#[test]
fn processes_that_run_out_during_a_run_are_named_and_the_run_is_resumed() {
    // No trial; no program of a server; no thread of a server; a server that ends for lack of threads or processes.
    let cases = [("sqlite", "1"), ("mariadb", "4"), ("sqlite", "5"), ("mariadb", "12"), ("postgresql", "9")];
    for (engine, most) in cases {
        let Some(group) = ControlGroup::new("pids", &[], &[("pids.max", "max")]) else { return };
        let world = World::new();
        let study = world.study(STUDY);
        let args = [&["run", &study, "--out", "results", "--engine", engine], &LATER[..]].concat();
        let set = || std::fs::write(Path::new(group.enter()[3]).join("pids.max"), most).unwrap();
        limited_later(&world, world.behind(&group.enter(), &args), "pids.max", |_| set());
    }
}

#[test]
fn a_run_started_with_ignored_signals_sees_its_trials_end_and_outlives_its_terminal() {
    let world = World::new();
    // As nohup and some supervisors start programs. The loop ends with the run.
    let script = "trap '' HUP CHLD; (while kill -HUP $$; do sleep 0.05; done) >/dev/null 2>&1 & exec \"$@\"";
    let (code, printed) = run_under(&world, &["sh", "-c", script, "sh"], &[]);
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(trials(&world.path("results"))[0]["outcome"], "ok", "{printed}");
}

#[test]
fn a_run_started_with_blocked_signals_ends_with_ctrl_c_and_its_trial_with_the_run() {
    // As some supervisors start programs.
    let script = "import os, signal, sys\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\n\
                  os.execv(sys.argv[1], sys.argv[1:])";
    for signal in [Signal::INT, Signal::KILL] {
        let world = World::new();
        let study = world.study(STUDY);
        let args = ["run", &study, "--out", "results", "--set", "sampling.sample_s=300"];
        let mut run = world.behind(&["python3", "-c", script], &args).stderr(Stdio::null()).spawn().unwrap();
        wait_until("a server", 60, || !names(&world.path("run")).is_empty());
        let began = Instant::now();
        send(run.id(), signal);
        run.wait().unwrap();
        wait_until("the end of its trial", 20, || world.processes().is_empty());
        assert!(began.elapsed() < Duration::from_secs(3), "{signal:?}: {:?}", began.elapsed());
        world.exits(0, &["restore"]);
        world.assert_clean();
    }
}

#[test]
fn a_cpu_time_limit_that_ended_a_server_or_its_trial_is_named() {
    let world = World::new();
    let limited = ["sh", "-c", "ulimit -t 1; exec \"$@\"", "sh"];
    let (code, printed) = run_under(&world, &limited, &["sampling.sample_s=20", "sampling.attempts=1"]);
    let reason = trials(&world.path("results")).remove(0)["reason"].to_string();
    assert_eq!(code, Some(4), "{printed}");
    assert!(reason.contains("1 s of CPU time is ended (ulimit -t)") || reason.contains("SIGXCPU"), "{reason}");
    world.assert_clean();
}
