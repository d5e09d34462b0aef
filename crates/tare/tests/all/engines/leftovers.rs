//! kill -9 of the program that started a server, and what the next start finds.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::engines::support::{PATIENCE, Place, copied, runs, script, wait_until_gone};
use crate::support::wait_until;
use tare_engine::{Engine, Sqlite, reap_leftovers};

const PLACE: &str = "TARE_TEST_LEFTOVERS";
const WRAPPER: &str = "TARE_TEST_WRAPPER";

fn tare() -> Option<&'static Path> {
    Some(Path::new(env!("CARGO_BIN_EXE_tare")))
}

/// Not a test: the program that is killed. It starts a server, prints its process id and waits.
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

/// One of this file's pseudo tests, as a separate program.
fn program(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("engines::leftovers::{name}"), "--ignored", "--nocapture"]);
    command
}

/// The program that is killed, with a wrapper around its server, and its output.
fn owner(place: &Place, more: &[(&str, &OsStr)]) -> (Child, BufReader<ChildStdout>) {
    copied(&Sqlite, place, tare(), "data");
    let mut command = program("the_program_that_is_killed");
    command.env(PLACE, place.folder.path()).envs(more.iter().copied()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let printed = BufReader::new(child.stdout.take().unwrap());
    (child, printed)
}

/// The process id of the server that the program has started.
fn server(printed: BufReader<ChildStdout>) -> u32 {
    let mut lines = printed.lines().map_while(Result::ok);
    let pid = lines.find_map(|line| line.strip_prefix("server ")?.parse().ok());
    pid.expect("the child started no server")
}

/// Kills the owner of this server with kill -9; the server goes on, and the next start must end it.
fn is_ended_by_the_next_start(mut owner: Child, server: u32, place: &Place, what: &str) {
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert!(runs(server), "nothing to end: this test proves nothing");
    let reaped = reap_leftovers(&place.path("state")).unwrap();
    assert!(reaped.len() == 1 && reaped[0].killed.contains(&server), "{what}: {reaped:?}");
    assert!(!runs(server) && !place.path("run").exists() && !place.path("copy").exists(), "{what}");
}

#[test]
fn after_kill_9_the_next_start_ends_the_server_and_removes_its_files() {
    let place = Place::new();
    let (mut child, printed) = owner(&place, &[]);
    let pid = server(printed);

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
fn after_kill_9_a_server_behind_a_running_wrapper_is_ended_by_the_next_start() {
    // A server that answers already, and one that is still starting: it waits for a file that is created later.
    for ready in [true, false] {
        let place = Place::new();
        let (pid_file, go) = (place.path("pid"), place.path("go"));
        let inner = script(
            &place,
            &format!(
                "echo $$ > {pid}; while [ ! -e {go} ]; do sleep 0.01; done; exec {tare} \"$@\"",
                pid = pid_file.display(),
                go = go.display(),
                tare = tare().unwrap().display()
            ),
        );
        let outer = script(&place, &format!("{} \"$@\"; true", inner.display()));
        if ready {
            std::fs::write(&go, "").unwrap();
        }
        let (owner, printed) = owner(&place, &[(WRAPPER, outer.as_os_str())]);
        let pid = if ready { server(printed) } else { wait_for_pid(&pid_file) };
        is_ended_by_the_next_start(owner, pid, &place, &format!("ready {ready}"));
    }
}

/// The process id that a shell script has written to a file.
fn wait_for_pid(file: &Path) -> u32 {
    let mut pid = None;
    wait_until("a script that says its number", PATIENCE.as_secs(), || {
        pid = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
        pid.is_some()
    });
    pid.unwrap()
}

#[test]
fn after_kill_9_a_server_in_a_session_of_its_own_is_ended_by_the_next_start() {
    // With a control group, if this process may make one, and without; with a server that answers, and one that does
    // not.
    for (group, ready) in [("on", true), ("on", false), ("off", true), ("off", false)] {
        let place = Place::new();
        let (pid_file, tare) = (place.path("pid"), tare().unwrap().display().to_string());
        let become_it = if ready { format!("exec {tare} \"$@\"") } else { "exec sleep 600".to_owned() };
        let inner = script(&place, &format!("echo $$ > {}; {become_it}", pid_file.display()));
        let outer = script(&place, &format!("setsid {} \"$@\" & sleep 600", inner.display()));
        let (owner, printed) = owner(&place, &[(WRAPPER, outer.as_os_str()), ("TARE_CGROUP", group.as_ref())]);
        if ready {
            server(printed);
        }
        is_ended_by_the_next_start(owner, wait_for_pid(&pid_file), &place, &format!("{group} {ready}"));
    }
}
