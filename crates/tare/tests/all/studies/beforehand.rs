//! Output before anything runs: how much, how long, what is not possible here; and refusals at that point.

use crate::support::{World, json, kill_at_once, send, text, wait_until};
use rustix::process::Signal;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

#[test]
fn a_run_of_hours_needs_confirmation_and_suggests_a_shorter_one() {
    let world = World::new();
    let (_, err) = world.exits(2, &["run", "single-thread-stability", "--out", "results"]);
    let first = err.lines().next().unwrap();
    assert!(first.starts_with("single-thread-stability: 8 conditions, 80 trials of 10 samples; about "), "{err}");
    assert!(first.contains(" h ") && first.contains(" if disturbed; needs about "), "{err}");
    assert!(err.contains("add --yes") && err.contains("with --quick"), "{err}");
    assert!(!world.path("results").exists(), "nothing was started");
}

#[test]
fn comparisons_races_and_claims_begin_with_their_time_and_ask_above_an_hour() {
    let world = World::new();
    let sides = ["ab", "--a", "command=true", "--b", "command=false"];
    let ab = "2 conditions, pairs of 2 trials of";
    let certify = ["ab", "--certify", "--a", "command=true"];
    let race = ["find", "command=true", "command=false"];
    let line = ["bisect", "--builds", "/bin/true,/bin/false", "--command", "{binary}"];
    let long = ["--sessions", "5", "--set", "sampling.sample_s=400"];
    let with_budget = [&long[..], &["--budget", "10h"]].concat();
    let servers = ["ab", "--engine", "sqlite", "--a", "option.cache_size=-100", "--b", "option.cache_size=-200"];
    let cases: [(&[&str], &[&str], &[&str]); 6] = [
        (&sides, &["--budget", "2h"], &[ab, "; the first look is after 6 pairs, about ", "; at most 2 h"]),
        (&certify, &["--budget", "2h"], &["ab-certify: comparisons of A with itself", "; at most 2 h"]),
        (&race, &["--within", "2h"], &["blocks of 2 trials", "; the first candidates are dropped", "; at most 2 h"]),
        (&servers, &long, &["; a session has 6 pairs, about "]),
        // The share of one session.
        (&servers, &with_budget, &["; at most 2 h"]),
        (&line, &["--budget", "2h"], &["bisect: 1 build, ", " in 8 of 10 bisections", "; at most 2 h"]),
    ];
    for (command, time, expected) in cases {
        let (_, err) = world.exits(2, &[command, time, &["--out", "results"]].concat());
        let first = err.lines().next().unwrap();
        assert!(expected.iter().all(|part| first.contains(part)), "{command:?}: {err}");
        assert!(err.contains("add --yes"), "{command:?}: {err}");
        assert!(!world.path("results").exists());
    }
    // A comparison of minutes is not asked for.
    let output = world.output(&["ab", "--a", "command=true", "--b", "command=true", "--budget", "5s"]);
    let err = text(&output.stderr);
    assert!(err.lines().next().unwrap().ends_with("; at most 5 s") && output.status.code() != Some(2), "{err}");
    let (_, err) = world.exits(0, &["reproduce", "a-page-a-counter", "--out", "page"]);
    assert!(err.starts_with("reproduce: 1 claim in 1 experiment; about 1 s"), "{err}");
}

/// What a command prints on a terminal on which this is typed, and its exit code.
fn on_a_terminal(world: &World, args: &[&str], typed: &str) -> (String, Option<i32>) {
    let tare = world.tare(args);
    let mut terminal = world.command("python3");
    terminal.args(["-c", "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"]);
    terminal.arg(tare.get_program()).args(tare.get_args()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut terminal = terminal.spawn().unwrap();
    terminal.stdin.take().unwrap().write_all(typed.as_bytes()).unwrap();
    let output = terminal.wait_with_output().unwrap();
    (text(&output.stdout), output.status.code())
}

#[test]
fn a_long_start_is_asked_for_at_a_terminal_and_declined_leaves_nothing() {
    let world = World::new();
    let line = ["bisect", "--builds", "/bin/true,/bin/false", "--command", "{binary}"];
    let line = [&line[..], &["--budget", "2h"]].concat();
    for command in [&["run", "single-thread-stability"][..], &line] {
        let (printed, code) = on_a_terminal(&world, &[command, &["--out", "results"]].concat(), "n\n");
        assert!(printed.contains("This takes about ") && printed.contains("Start? [y/N] "), "{command:?}: {printed}");
        assert!(printed.contains("nothing was started") && code == Some(130), "{command:?}, {code:?}: {printed}");
        assert!(!world.path("results").exists(), "{command:?}");
    }
    // A bisection that is wanted ends at once, because one of its builds fails.
    let (printed, code) = on_a_terminal(&world, &[&line[..], &["--out", "results"]].concat(), "yes\n");
    assert!(printed.contains("Start? [y/N] ") && code != Some(130), "{code:?}: {printed}");
    assert!(world.path("results").exists(), "{printed}");
}

#[test]
fn a_resumed_run_begins_with_what_is_left_and_asks_above_an_hour() {
    let world = World::new();
    let words = ["run", "--command", "true", "--runs", "3", "--set", "sampling.pause_s=4000", "--out", "results"];
    let mut run = world.begin(&[&words[..], &["--yes"]].concat());
    wait_until("the plan", 60, || {
        world.path("results/study.toml").exists() && world.path("results/plan.json").exists()
    });
    kill_at_once(world.processes());
    run.wait().unwrap();
    let (_, err) = world.exits(2, &["run", "--resume", "results"]);
    let first = err.lines().next().unwrap();
    assert!(first.contains(": 3 of 3 trials left; about 3 h 2"), "{err}");
    assert!(err.contains("add --yes"), "{err}");
}

#[test]
fn every_command_that_measures_can_wait_for_the_machine() {
    let world = World::new();
    world.exits(0, &["run", "--command", "true", "--runs", "1", "--out", "plain"]);
    let lock = File::create(world.path("lock/tare-host.lock")).unwrap();
    lock.lock().unwrap();
    for resumed in ["ab", "find"] {
        let (_, err) = world.exits(2, &[resumed, "--resume", "plain"]);
        assert!(err.contains("resume with: tare run --resume plain"), "before waiting for the machine: {err}");
    }
    let bisect = ["bisect", "--builds", "/bin/true,/bin/false", "--command", "{binary}", "--out", "line"];
    let commands: [&[&str]; 4] = [
        &bisect,
        &["reproduce", "restarts", "--out", "page"],
        &["ab", "--certify", "--a", "command=true", "--out", "itself"],
        &["doctor", "--study", "first-look"],
    ];
    for command in commands {
        let mut waiting = world.tare(&[command, &["--wait"]].concat()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(waiting.stderr.take().unwrap()).lines().map_while(Result::ok);
        let printed: Vec<String> = lines
            .inspect(|line| {
                if line.contains("waiting until it ends") {
                    send(waiting.id(), Signal::INT);
                }
            })
            .collect();
        let code = waiting.wait().unwrap().code();
        assert!(printed.iter().any(|line| line.contains("waiting until it ends")), "{command:?}: {printed:?}");
        assert_eq!(code, Some(130), "{command:?}: {printed:?}");
        let most = printed[0].contains(", up to ") && printed[0].contains(" if disturbed");
        assert_eq!(most, command[0] == "reproduce", "{command:?}: {printed:?}");
    }
}

#[test]
fn a_plan_of_hundreds_of_conditions_fits_one_screen_and_begins_with_the_time() {
    let world = World::new();
    let (out, _) = world.exits(0, &["run", "numa-scaling", "--dry-run", "--topology", "node:4 core:32 pu:2"]);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines[0].starts_with("study numa-scaling: ") && lines[0].contains("; about "), "{out}");
    assert!(lines.len() < 60, "{} lines\n{out}", lines.len());
    assert!(out.contains("\nfactors\n") && out.contains("  threads       1, 2, 4"), "{out}");
    assert!(out.contains("\nleft out on the described machine:\n"), "{out}");
    assert!(out.contains("  nodes=8 (110 conditions): 8 nodes are requested"), "{out}");
    let (_, err) = world.exits(3, &["run", "numa-scaling", "--dry-run", "--topology", "node:1 core:1 pu:1"]);
    assert!(err.lines().count() < 10, "{err}");
}

#[test]
fn an_unusable_folder_is_reported_before_waiting_for_the_machine() {
    let world = World::new();
    // Another run has the machine.
    let lock = File::create(world.path("lock/tare-host.lock")).unwrap();
    lock.lock().unwrap();
    std::fs::create_dir(world.path("full")).unwrap();
    std::fs::write(world.path("full/other"), "").unwrap();
    let (_, err) = world.exits(2, &["run", "first-look", "--quick", "--out", "full"]);
    assert!(err.contains("not empty"), "{err}");
    let others: [&[&str]; 2] =
        [&["ab", "--a", "command=true", "--b", "command=false"], &["find", "command=true", "command=false"]];
    for command in others {
        let (_, err) = world.exits(2, &[command, &["--out", "full"]].concat());
        assert!(err.contains("not empty"), "{err}");
    }
    let (_, err) = world.exits(2, &["run", "--resume", "full"]);
    assert!(err.contains("study.toml"), "{err}");
    let taken = world.output(&["run", "first-look", "--quick", "--out", "free"]);
    assert_ne!(taken.status.code(), Some(0), "the lock that this test holds is that of runs");
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_keys_only() {
    let world = World::new();
    let (_, err) = world.exits(2, &["run", "--dry-run", "--set", "sampling.trails=3"]);
    assert!(err.contains("such as trials") && err.contains("tare studies --keys"), "{err}");
    assert!(!err.contains("foreign_cpu_limit"), "{err}");
}

#[test]
fn the_time_for_making_the_data_is_counted_once_however_many_blocks_and_pairs_follow() {
    let world = World::new();
    let of = |command: &[&str], rows: &str| {
        let short =
            ["--set", "sampling.sample_s=0.1", "--set", "sampling.warmup_s=0", "--dry-run", "--topology", "pu:4"];
        let words = [command, &["--set", rows], &short].concat();
        let (out, _) = world.exits(0, &words);
        let whole = json(&world.exits(0, &[&words[..], &["--json"]].concat()).0)["estimated_s"].as_f64().unwrap();
        (out, whole)
    };
    let (few, many) = ("workload.rows=10", "workload.rows=4000000");
    let seconds = |text: &str| text.split(" s").next().unwrap().parse::<f64>().unwrap();
    let find = ["find", "threads=1,2"];
    let first = |rows: &str| {
        let (out, whole) = of(&find, rows);
        (seconds(out.split(" trials, about ").nth(1).unwrap()), whole)
    };
    let ((of_few, few_s), (of_many, many_s)) = (first(few), first(many));
    assert!(many_s - few_s > 20.0 && (of_many - of_few - (many_s - few_s)).abs() < 2.0, "{of_few} {of_many} {many_s}");
    let pair = |rows: &str| {
        let (out, _) = of(&["ab", "--a", "aslr=on", "--b", "aslr=off"], rows);
        seconds(out.split("; about ").nth(1).unwrap())
    };
    assert!(pair(many) - pair(few) < 2.0, "a pair: {} and {}", pair(few), pair(many));
}
