//! Processes of servers: how they end, what they inherit, how randomised they are.

use super::*;
use crate::process::before_exec::INHERITED;
use crate::process::process_tree::Identity;

fn launch<'a>(program: &'a str, argument: &str, log: &'a LogFile, nothing: &'a BTreeMap<String, String>) -> Launch<'a> {
    let arguments = if argument.is_empty() { vec![] } else { vec!["-c".into(), argument.into()] };
    Launch {
        program: Path::new(program),
        arguments,
        environment: nothing,
        aslr: None,
        preload: None,
        log,
        stop_policy: StopPolicy::default(),
        tree: ProcessTree::planned(),
    }
}

/// Waits for a condition that must become true; after a minute it fails instead of hanging.
fn until(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "it never came");
        sleep(POLL);
    }
}

fn scratch() -> (tempfile::TempDir, LogFile, BTreeMap<String, String>) {
    let folder = tempfile::tempdir().unwrap();
    let log = LogFile::at(&folder.path().join("log")).unwrap();
    (folder, log, BTreeMap::new())
}

#[test]
fn a_process_that_ignores_sigterm_is_killed_with_its_children() {
    let (_folder, log, none) = scratch();
    let script = "trap '' TERM; sleep 600 & echo $!; while :; do sleep 600; done";
    let mut process = ServerProcess::spawn(&launch("/bin/sh", script, &log, &none)).unwrap();
    until(|| process.log_text().lines().count() > 0);
    let grandchild = process.log_tail(1)[0].clone();
    assert_eq!(process.stop(Duration::from_millis(100)).unwrap(), StopOutcome::Killed);
    let path = format!("/proc/{grandchild}/stat");
    until(|| fs::read_to_string(&path).map_or(true, |stat| stat.contains(" Z ")));
}

#[test]
fn a_server_has_its_own_process_group_and_dies_with_its_parent_thread() {
    let (_folder, log, none) = scratch();
    let launch = launch("/bin/sh", "sleep 600", &log, &none);
    let pid = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                let process = ServerProcess::spawn(&launch).unwrap();
                let pid = process.pid();
                let stat = procfs::process::Process::new(pid as i32).unwrap().stat().unwrap();
                assert_eq!(stat.pgrp, pid as i32);
                std::mem::forget(process);
                pid
            })
            .join()
            .unwrap()
    });
    let stat = || procfs::process::Process::new(pid as i32).and_then(|process| process.stat());
    until(|| stat().map_or(true, |stat| stat.state == 'Z'));
    // In place of the forgotten process.
    launch.tree.end();
}

#[test]
fn a_server_that_cannot_be_signalled_is_reported_at_once() {
    if !geteuid().is_root() {
        return; // Only root can give up the right to send signals.
    }
    let (_folder, log, none) = scratch();
    let launch = launch("/bin/sh", "sleep 600", &log, &none);
    let began = Instant::now();
    let (pid, error) = std::thread::scope(|scope| {
        let without_rights = scope.spawn(|| {
            let mut process = ServerProcess::spawn(&launch).unwrap();
            let other_user = rustix::process::Uid::from_raw(65_534);
            // Only for this thread, which ends afterwards.
            rustix::thread::set_thread_res_uid(other_user, other_user, other_user).unwrap();
            (process.pid(), process.stop(Duration::from_secs(30)).unwrap_err())
        });
        without_rights.join().unwrap()
    });
    assert!(matches!(error, EngineError::Unstoppable { pid: of, .. } if of == pid), "{error}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // This thread still has its rights.
    launch.tree.end();
    assert!(Identity::of(pid.cast_signed()).is_none());
}

#[test]
fn a_server_inherits_what_it_needs_and_no_secret() {
    let (_folder, log, _) = scratch();
    let requested = BTreeMap::from([("ASKED".to_owned(), "for".to_owned())]);
    // The variables that cargo and its scripts set for a test represent all variables outside the list.
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let others: Vec<String> = names.filter(|name| !INHERITED.contains(&name.as_str())).collect();
    assert!(!others.is_empty(), "nothing here that a server must not inherit");
    let mut process = ServerProcess::spawn(&launch("/usr/bin/env", "", &log, &requested)).unwrap();
    assert!(process.wait(Duration::from_secs(30)).unwrap());
    let text = process.log_text();
    let has = |name: &str| text.lines().any(|line| line.starts_with(&format!("{name}=")));
    assert!(has("PATH") && has("ASKED"), "{text}");
    assert!(!others.iter().any(|name| has(name)) && !INHERITED.contains(&"TARE_PASSWORD"), "{others:?}: {text}");
}

#[test]
fn a_log_that_grows_without_bounds_ends_the_server() {
    let (_folder, log, none) = scratch();
    let mut process = ServerProcess::spawn(&launch("/bin/sh", "exec yes", &log, &none)).unwrap();
    assert!(process.wait(Duration::from_secs(60)).unwrap());
    let last = process.log_tail(1).remove(0);
    assert!(last.contains("more than") && last.contains(&*log.path().to_string_lossy()), "{last}");
    assert!(fs::metadata(log.path()).unwrap().len() < 65 << 20);
}

#[test]
fn randomisation_is_set_as_requested_and_read_back() {
    let (_folder, log, none) = scratch();
    let start_of_stack = |aslr| {
        let script = "grep stack /proc/self/maps";
        let launch = Launch { aslr: Some(aslr), ..launch("/bin/sh", script, &log, &none) };
        let mut process = ServerProcess::spawn(&launch).unwrap();
        assert!(process.wait(Duration::from_secs(30)).unwrap());
        process.log_tail(1)[0].clone()
    };
    assert_eq!(start_of_stack(Aslr::Off), start_of_stack(Aslr::Off));
    assert_ne!(start_of_stack(Aslr::On), start_of_stack(Aslr::On));
}

#[test]
fn a_tail_begins_after_what_was_there_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    fs::write(&path, "old\none\ntwo\nthree\n").unwrap();
    let log = LogFile::at(&path).unwrap();
    assert_eq!(log_tail(&log, 4, 2), ["two", "three"]);
    assert_eq!(log_tail(&log, 4, 9), ["one", "two", "three"]);
    assert!(log_tail(&LogFile::at(&folder.path().join("absent")).unwrap(), 0, 9).is_empty());
}
