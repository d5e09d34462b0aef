//! Tests of the lock with two runs on one machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tare_noise::{HostLock, NoiseError};

/// Not a test: the other process of the tests below, which start it by this name.
#[test]
#[ignore = "run by the other tests"]
fn child() {
    let Some(dir) = std::env::var_os("TARE_TEST_LOCK") else { return };
    if std::env::var_os("TARE_TEST_OF_PARENT").is_some() {
        println!("\nparent={}", HostLock::of_parent(Path::new(&dir)).is_ok());
        return;
    }
    let _lock = HostLock::acquire(Path::new(&dir)).unwrap();
    println!("\nlocked");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

fn start_child(dir: &Path, of_parent: bool) -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "lock::child", "--ignored", "--nocapture"])
        .env("TARE_TEST_LOCK", dir)
        .stdout(Stdio::piped());
    if of_parent {
        command.env("TARE_TEST_OF_PARENT", "1");
    }
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let line = lines.find(|l| l == "locked" || l.starts_with("parent=")).expect("the child should have said something");
    if of_parent {
        // It ends by itself; its output must be read until then.
        lines.for_each(drop);
        child.wait().unwrap();
    }
    (child, line)
}

#[test]
fn a_second_run_is_shown_the_lock_holder_and_the_holders_death_frees_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let (mut child, _) = start_child(dir.path(), false);
    let error = HostLock::acquire(dir.path()).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, NoiseError::Locked { .. }), "{message}");
    assert!(message.contains(&format!("process {}", child.id())), "{message}");
    assert!(message.contains("--exact lock::child"), "the command: {message}");
    child.kill().unwrap();
    child.wait().unwrap();
    HostLock::acquire(dir.path()).unwrap();
}

#[test]
fn two_in_one_process_exclude_each_other_and_anyone_can_open_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let lock = HostLock::acquire(dir.path()).unwrap();
    assert!(matches!(HostLock::acquire(dir.path()), Err(NoiseError::Locked { .. })));
    assert_eq!(fs::metadata(dir.path().join("tare-host.lock")).unwrap().permissions().mode() & 0o777, 0o444);
    let (_, answer) = start_child(dir.path(), true);
    assert_eq!(answer, "parent=true");
    drop(lock);
    let (_, answer) = start_child(dir.path(), true);
    assert_eq!(answer, "parent=false");
}

/// As in two containers that share a state directory, and not the folder of locks.
#[test]
fn a_state_directory_is_used_by_one_run_at_a_time_whatever_their_locks() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let state = dir.path().join("state");
    let lock = |folder: &Path| HostLock::acquire(folder).unwrap().with_state(&state);
    let held = lock(dir.path()).unwrap();
    let error = lock(other.path()).unwrap_err();
    assert!(matches!(&error, NoiseError::Locked { path, .. } if path.starts_with(&state)), "{error}");
    drop(held);
    lock(other.path()).unwrap();
}

#[test]
fn a_server_that_outlives_its_run_does_not_keep_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let lock = HostLock::acquire(dir.path()).unwrap();
    let mut server = Command::new("sleep").arg("60").spawn().unwrap();
    drop(lock);
    let again = HostLock::acquire(dir.path());
    server.kill().unwrap();
    server.wait().unwrap();
    again.unwrap();
}

#[test]
fn a_trap_in_a_public_folder_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tare-host.lock");
    symlink("/etc/passwd", &path).unwrap();
    assert!(matches!(HostLock::acquire(dir.path()), Err(NoiseError::BadLockFile { .. })));
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(matches!(HostLock::acquire(dir.path()), Err(NoiseError::BadLockFile { .. })));
    assert!(HostLock::acquire(&dir.path().join("missing")).is_err());
}
