//! kill -9 of the program that started a server, and what the next start finds.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::engines::support::{Place, copied, prepared, runs, wait_until_gone};
use tare_engine::{Engine, Sqlite, reap_leftovers};

const PLACE: &str = "TARE_TEST_LEFTOVERS";
const WRAPPER: &str = "TARE_TEST_WRAPPER";

fn tare() -> Option<&'static Path> {
    Some(Path::new(env!("CARGO_BIN_EXE_tare")))
}

/// Not a test: the program that is killed. It starts a server, says its number and waits for its end.
#[test]
#[ignore = "run as a child by the test below"]
fn the_program_that_is_killed() {
    let Some(folder) = std::env::var_os(PLACE) else { return };
    let folder = PathBuf::from(folder);
    let place = Place { folder: tempfile::tempdir_in(&folder).unwrap() };
    let wrapper = std::env::var_os(WRAPPER).map(PathBuf::from);
    let mut request = place.start_request(&folder.join("data"), wrapper.as_deref().or(tare()));
    request.run_directory = folder.join("run");
    request.state_directory = Some(folder.join("state"));
    request.data = tare_engine::DataDirectory::CopyOf { prepared: folder.join("data"), at: folder.join("copy") };
    let server = Sqlite.start(&request).unwrap();
    println!("\nserver {}", server.pid());
    std::thread::sleep(std::time::Duration::from_secs(600));
}

#[test]
fn after_kill_9_nothing_is_left() {
    let place = Place::new();
    copied(&Sqlite, &place, tare(), "data");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "engines::leftovers::the_program_that_is_killed", "--ignored", "--nocapture"])
        .env(PLACE, place.folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let said = lines.into_iter().find_map(|line| line.strip_prefix("server ").map(str::to_owned));
    let pid: u32 = said.expect("the child started no server").parse().unwrap();

    // While its owner lives, a server is not a leftover.
    assert_eq!(reap_leftovers(&place.path("state")).unwrap(), []);
    assert!(runs(pid));
    let listed: Vec<_> = std::fs::read_dir(place.path("state")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(std::fs::read_to_string(&listed[0]).unwrap().contains(&format!("\"pid\":{pid},")), "{listed:?}");

    child.kill().unwrap();
    child.wait().unwrap();
    let reaped = reap_leftovers(&place.path("state")).unwrap();
    assert_eq!(reaped.len(), 1);
    wait_until_gone(pid);
    assert_eq!(reaped[0].removed, [place.path("run"), place.path("copy")]);
    assert!(!place.path("run").exists() && !place.path("copy").exists());
    assert_eq!(std::fs::read_dir(place.path("state")).unwrap().count(), 0);
}

#[test]
fn after_kill_9_a_server_behind_a_wrapper_that_stays_is_ended_by_the_next_start() {
    // Answering already, and still starting: the server waits for a file that comes later.
    for ready in [true, false] {
        let place = Place::new();
        copied(&Sqlite, &place, tare(), "data");
        let (pid_file, go) = (place.path("pid"), place.path("go"));
        let inner = crate::engines::support::script(
            &place,
            &format!(
                "echo $$ > {pid}; while [ ! -e {go} ]; do sleep 0.01; done; exec {tare} \"$@\"",
                pid = pid_file.display(),
                go = go.display(),
                tare = tare().unwrap().display()
            ),
        );
        let outer = crate::engines::support::script(&place, &format!("{} \"$@\"; true", inner.display()));
        if ready {
            std::fs::write(&go, "").unwrap();
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "engines::leftovers::the_program_that_is_killed", "--ignored", "--nocapture"])
            .env(PLACE, place.folder.path())
            .env(WRAPPER, outer)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let read = || std::fs::read_to_string(&pid_file).ok()?.trim().parse::<u32>().ok();
        let pid = if ready {
            lines.find_map(|line| line.strip_prefix("server ")?.parse().ok()).unwrap()
        } else {
            let deadline = std::time::Instant::now() + crate::engines::support::PATIENCE;
            while read().is_none() {
                assert!(std::time::Instant::now() < deadline, "the server was never started");
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            read().unwrap()
        };
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(runs(pid), "nothing to end: this test proves nothing");
        let reaped = reap_leftovers(&place.path("state")).unwrap();
        assert_eq!(reaped.len(), 1);
        assert!(reaped[0].killed.contains(&pid), "{reaped:?}");
        assert!(!runs(pid) && !place.path("run").exists() && !place.path("copy").exists());
    }
}

/// A shell script's way to be found while it runs.
fn pid_in(file: &Path) -> Option<u32> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn wait_for_pid(file: &Path) -> u32 {
    let deadline = std::time::Instant::now() + crate::engines::support::PATIENCE;
    loop {
        if let Some(pid) = pid_in(file) {
            return pid;
        }
        assert!(std::time::Instant::now() < deadline, "nothing ever wrote {}", file.display());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn after_kill_9_a_server_in_a_session_of_its_own_is_ended_by_the_next_start() {
    // With a control group where this process may make one, and without; answering already, and never.
    for (group, ready) in [("on", true), ("on", false), ("off", true), ("off", false)] {
        let place = Place::new();
        copied(&Sqlite, &place, tare(), "data");
        let (pid_file, tare) = (place.path("pid"), tare().unwrap().display().to_string());
        let become_it = if ready { format!("exec {tare} \"$@\"") } else { "exec sleep 600".to_owned() };
        let inner = crate::engines::support::script(&place, &format!("echo $$ > {}; {become_it}", pid_file.display()));
        let outer = crate::engines::support::script(&place, &format!("setsid {} \"$@\" & sleep 600", inner.display()));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "engines::leftovers::the_program_that_is_killed", "--ignored", "--nocapture"])
            .env(PLACE, place.folder.path())
            .env(WRAPPER, outer)
            .env("TARE_CGROUP", group)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        if ready {
            lines.find(|line| line.starts_with("server ")).unwrap();
        }
        let pid = wait_for_pid(&pid_file);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(runs(pid), "nothing to end: this test proves nothing");
        let reaped = reap_leftovers(&place.path("state")).unwrap();
        assert!(reaped.len() == 1 && reaped[0].killed.contains(&pid), "{group} {ready}: {reaped:?}");
        assert!(!runs(pid) && !place.path("run").exists() && !place.path("copy").exists(), "{group} {ready}");
    }
}

/// Not a test: a server that leaves helpers behind, with a control group or without, as the environment says.
#[test]
#[ignore = "run as a child by the test below"]
fn a_server_with_helpers() {
    let place = Place::new();
    let data = prepared(&Sqlite, &place, tare());
    let (first, second) = (place.path("first"), place.path("second"));
    // Both in sessions of their own, one of them with nothing in its environment that would tell whose it is.
    let helper = |file: &Path, with: &str| {
        format!("{with} setsid sh -c 'echo $$ > {}; exec sleep 600' >/dev/null 2>&1 &\n", file.display())
    };
    let lines = format!("{}{}exec {} \"$@\"", helper(&first, ""), helper(&second, "env -i"), tare().unwrap().display());
    let wrapper = crate::engines::support::script(&place, &lines);
    let mut server = Sqlite.start(&place.start_request(&data, Some(&wrapper))).unwrap();
    let pids = [wait_for_pid(&first), wait_for_pid(&second)];
    assert_eq!(server.stop(crate::engines::support::PATIENCE).unwrap(), tare_engine::StopOutcome::Graceful);
    for pid in pids {
        assert!(!runs(pid), "{:?}", server.outlived());
        assert!(server.outlived().contains(&format!("process {pid} (sleep)")), "{:?}", server.outlived());
        let log = std::fs::read_to_string(place.path("server.log")).unwrap();
        assert!(log.contains(&format!("tare: process {pid} (sleep)")), "{log}");
    }
    // One that leaves nothing says nothing.
    let mut plain = Sqlite.start(&place.start_request(&data, tare())).unwrap();
    plain.stop(crate::engines::support::PATIENCE).unwrap();
    assert_eq!(plain.outlived(), Vec::<String>::new());
}

#[test]
fn helpers_that_outlive_their_server_are_ended_and_named() {
    for group in ["on", "off"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "engines::leftovers::a_server_with_helpers", "--ignored", "--nocapture"])
            .env("TARE_CGROUP", group)
            .output()
            .unwrap();
        assert!(output.status.success(), "{group}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
