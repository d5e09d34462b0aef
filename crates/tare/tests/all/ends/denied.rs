//! Systems that deny what a run needs: system calls refused by a container's filter, limits of files and threads. Each
//! must give an error that names the cause within seconds, and leave nothing.

use crate::support::{World, text, trials};
use std::path::Path;
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
    let world = World::new();
    // Blocks of 1 KiB or of 512 bytes: the description of the machine fits in neither.
    let (code, printed) = run_under(&world, &["sh", "-c", "ulimit -f 1; exec \"$@\"", "sh"], &[]);
    assert!(
        code == Some(3) && printed.contains("File too large") && printed.contains("ulimit -f"),
        "{code:?} {printed}"
    );
    world.assert_clean();
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
    // The clients have room for their sockets, the embedded server has not for its files; then no one has.
    for (limit, threads) in [("-n 100", "workload.threads=40"), ("-n 24", "workload.threads=3")] {
        let world = World::new();
        let (code, printed) =
            run_under(&world, &["bash", "-c", &format!("ulimit {limit}; exec \"$@\""), "bash"], &[threads]);
        let names = printed.contains("RLIMIT_NOFILE") && printed.contains("ulimit -n ");
        assert!(code == Some(3) && names, "{limit}: {code:?} {printed}");
        world.assert_clean();
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
