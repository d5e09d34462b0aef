//! Ctrl-C while a server, or a trial, does not answer: over in a moment, and nothing left. And a load that did not do
//! what was asked of it says so.

use crate::support::{World, server_beside, text};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use tare_engine::Sqlite;

const STUDY: &str = "name = \"long\"\n[workload]\nrows = 200\n[sampling]\ntrials = 3\nwarmup_s = 0\nsample_s = 3600\n";

/// From Ctrl-C to the end, with room for a busy machine; it used to be 20 s.
const SOON: Duration = Duration::from_secs(5);

fn send(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// The process of this world with this word on its command line, when there is one.
fn process(world: &World, word: &str) -> Option<u32> {
    world.processes().into_iter().find(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())
    })
}

/// Waits until there is such a process, and a moment more, so that it is at work.
fn wait_for(world: &World, word: &str) -> u32 {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(id) = process(world, word) {
            std::thread::sleep(Duration::from_millis(700));
            return id;
        }
        assert!(Instant::now() < deadline, "no {word} within 60 s");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn start(world: &World, args: &[&str]) -> Child {
    world.tare(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for the end and returns the exit code.
fn ends_soon(child: &mut Child, since: Instant) -> i32 {
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        if since.elapsed() >= SOON {
            let _ = child.kill();
            panic!("still there after {SOON:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_run_whose_server_was_stopped_ends_soon_after_ctrl_c_and_leaves_nothing() {
    let world = World::new();
    let study = world.study(STUDY);
    let mut run = start(&world, &["run", &study, "--out", "results"]);
    wait_for(&world, "--attempt");
    let server = wait_for(&world, "sqlite-server");
    send(server, Signal::STOP);
    std::thread::sleep(Duration::from_millis(200));
    let began = Instant::now();
    send(run.id(), Signal::INT);
    assert_eq!(ends_soon(&mut run, began), 130);
    world.assert_clean();
}

#[test]
fn a_second_ctrl_c_does_not_wait_for_a_trial_that_hangs() {
    let world = World::new();
    let study = world.study(STUDY);
    let mut run = start(&world, &["run", &study, "--out", "results"]);
    wait_for(&world, "sqlite-server");
    let trial = process(&world, "trial").unwrap();
    send(trial, Signal::STOP);
    let began = Instant::now();
    send(run.id(), Signal::INT);
    std::thread::sleep(Duration::from_millis(200));
    send(run.id(), Signal::INT);
    assert_eq!(ends_soon(&mut run, began), 130);
    world.assert_clean();
}

#[test]
fn a_load_without_an_answer_ends_soon_after_ctrl_c_and_work_that_was_not_done_is_an_error() {
    let world = World::new();
    let server = server_beside(&world, &Sqlite);
    let socket = server.address().to_string();
    let load = |more: &[&str]| {
        let mut args = vec!["load", "point_select", "--engine", "sqlite", "--socket", &socket, "--rows", "1000"];
        args.extend(more);
        args.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let exits = |code: i32, more: &[&str]| {
        let args = load(more);
        world.exits(code, &args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    exits(0, &["--prepare"]);
    exits(0, &["--time", "200ms", "--warmup", "0s"]);
    let (_, err) = exits(4, &["--time", "500ms", "--warmup", "0s", "--rate", "5000000"]);
    assert!(err.contains("the rate was not met") && err.contains("5000000"), "{err}");

    // One in a hundred seconds: none is due in so short a time.
    let (_, err) = exits(4, &["--time", "300ms", "--warmup", "0s", "--rate", "0.01"]);
    assert!(err.contains("no transaction was finished"), "{err}");

    // Rows that vanish under load: a select that finds none is no transaction.
    let args = load(&["--time", "60s", "--warmup", "0s"]);
    let mut running = start(&world, &args.iter().map(String::as_str).collect::<Vec<_>>());
    std::thread::sleep(Duration::from_millis(500));
    server.connect().unwrap().run("DELETE FROM sbtest1").unwrap();
    assert_eq!(ends_soon(&mut running, Instant::now()), 4);
    let err = text(&running.wait_with_output().unwrap().stderr);
    assert!(err.contains("answered with 0 rows: expected 1 to 1"), "{err}");
    exits(0, &["--cleanup"]);
    exits(0, &["--prepare"]);

    let mut running = start(&world, &args.iter().map(String::as_str).collect::<Vec<_>>());
    std::thread::sleep(Duration::from_millis(500));
    send(server.pid(), Signal::STOP);
    std::thread::sleep(Duration::from_millis(200));
    let began = Instant::now();
    send(running.id(), Signal::INT);
    assert_eq!(ends_soon(&mut running, began), 130);
}
