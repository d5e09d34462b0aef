//! kill -9 of the program that started a server, and what the next start finds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod engine_support;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use engine_support::{Place, prepared, runs, wait_until_gone};
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
    let data = prepared(&Sqlite, &place, tare());
    std::fs::rename(data, place.path("data")).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_program_that_is_killed", "--ignored", "--nocapture"])
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
        let data = prepared(&Sqlite, &place, tare());
        std::fs::rename(data, place.path("data")).unwrap();
        let (pid_file, go) = (place.path("pid"), place.path("go"));
        let inner = engine_support::script(
            &place,
            &format!(
                "echo $$ > {pid}; while [ ! -e {go} ]; do sleep 0.01; done; exec {tare} \"$@\"",
                pid = pid_file.display(),
                go = go.display(),
                tare = tare().unwrap().display()
            ),
        );
        let outer = engine_support::script(&place, &format!("{} \"$@\"; true", inner.display()));
        if ready {
            std::fs::write(&go, "").unwrap();
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "the_program_that_is_killed", "--ignored", "--nocapture"])
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
            let deadline = std::time::Instant::now() + engine_support::PATIENCE;
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
