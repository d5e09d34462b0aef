//! Tests that settings which a killed trial left are restored, and that this is verified before the next trial.

use crate::common::{Machine, kill, level};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;
use tare_noise::{Journal, NoiseError, Outcome, Setting, TrialLock, recover_trial, verify_as_found};

const SWAPPINESS: &str = "/proc/sys/vm/swappiness";
const PATIENCE: Duration = Duration::from_millis(50);

fn left_by_a_killed_trial() -> Machine {
    let machine = Machine::new();
    let (mut session, _) = machine.begin();
    for (setting, text) in [(Setting::Swappiness, "1"), (Setting::Smt, "off"), (Setting::CpuShield, "cpus:2-3")] {
        session.apply(&level(setting, text)).unwrap();
    }
    kill(session, &machine);
    machine
}

/// The machine's files by their paths below its root.
fn relative(machine: &Machine) -> BTreeMap<PathBuf, String> {
    let root = machine.root();
    machine.tree().into_iter().map(|(path, text)| (path.strip_prefix(&root).unwrap().to_owned(), text)).collect()
}

#[test]
fn settings_that_a_killed_trial_left_are_detected_and_restored() {
    let machine = left_by_a_killed_trial();
    let whole = relative(&Machine::new());
    let NoiseError::NotAsFound { left } = verify_as_found(&machine.system(), &machine.state()).unwrap_err() else {
        panic!("another error")
    };
    for part in ["swappiness (/proc/sys/vm/swappiness) is 1, originally 60", "smt", "cpu_shield", "still has cpuset"] {
        assert!(left.contains(part), "{part}: {left}");
    }
    let report = recover_trial(&machine.system(), &machine.state(), machine.dir.path(), PATIENCE).unwrap();
    assert!(report.files.len() >= 3 && !report.is_empty(), "{report:?}");
    assert_eq!(relative(&machine), whole);
    verify_as_found(&machine.system(), &machine.state()).unwrap();
    assert!(!Journal::pending(&machine.state()));
}

#[test]
fn a_group_and_a_controller_that_are_gone_and_another_boot_are_as_found() {
    let gone = || {
        let machine = left_by_a_killed_trial();
        fs::remove_dir_all(machine.system().path("/sys/fs/cgroup/tare.shield")).unwrap();
        machine.put("/sys/fs/cgroup/cgroup.subtree_control", "cpu io memory pids\n");
        machine
    };
    let machine = gone();
    let left = verify_as_found(&machine.system(), &machine.state()).unwrap_err().to_string();
    assert!(left.contains("swappiness") && !left.contains("still"), "{left}");
    let files = machine.recover().unwrap().files;
    let shield: Vec<&Outcome> =
        files.iter().filter(|file| file.setting == "cpu_shield").map(|file| &file.outcome).collect();
    assert_eq!(shield, [&Outcome::Gone, &Outcome::AlreadyThere]);
    let machine = gone();
    machine.put("/proc/sys/kernel/random/boot_id", "another\n");
    verify_as_found(&machine.system(), &machine.state()).unwrap();
}

#[test]
fn settings_of_a_running_trial_are_not_restored() {
    let machine = left_by_a_killed_trial();
    let living = TrialLock::hold(machine.dir.path()).unwrap();
    let error = recover_trial(&machine.system(), &machine.state(), machine.dir.path(), PATIENCE).unwrap_err();
    assert!(matches!(error, NoiseError::Locked { .. }), "{error}");
    assert_eq!(machine.file(SWAPPINESS), "1\n");
    drop(living);
    recover_trial(&machine.system(), &machine.state(), machine.dir.path(), PATIENCE).unwrap();
    assert_eq!(machine.file(SWAPPINESS), "60\n");
}

#[test]
fn a_value_of_another_program_is_left_alone_and_is_an_error() {
    let machine = left_by_a_killed_trial();
    machine.put(SWAPPINESS, "33\n");
    let error = recover_trial(&machine.system(), &machine.state(), machine.dir.path(), PATIENCE).unwrap_err();
    assert!(error.to_string().contains("was set to 33 by another program, originally 60"), "{error}");
    assert_eq!(machine.file(SWAPPINESS), "33\n");
}

#[test]
fn a_journal_of_roots_that_still_waits_is_foreign() {
    let machine = Machine::new();
    verify_as_found(&machine.system(), &machine.state()).unwrap();
    // The journal of a run that was killed before its first entry.
    machine.put("/var/lib/tare/journal.jsonl", "");
    verify_as_found(&machine.system(), &machine.state()).unwrap();
    machine.put("/var/lib/tare/journal.jsonl", "{}\n");
    let error = verify_as_found(&machine.system(), &machine.state()).unwrap_err();
    assert!(error.to_string().contains("a killed run of root"), "{error}");
}

#[test]
fn a_state_directory_that_others_may_write_to_is_not_believed() {
    let machine = left_by_a_killed_trial();
    assert_eq!(fs::metadata(machine.state()).unwrap().permissions().mode() & 0o777, 0o700);
    fs::set_permissions(machine.state(), fs::Permissions::from_mode(0o777)).unwrap();
    for result in [
        machine.recover().map(drop),
        verify_as_found(&machine.system(), &machine.state()),
        recover_trial(&machine.system(), &machine.state(), machine.dir.path(), PATIENCE).map(drop),
    ] {
        assert!(matches!(result, Err(NoiseError::Files(_))), "{result:?}");
    }
    assert_eq!(machine.file(SWAPPINESS), "1\n", "nothing is written on the word of such a folder");
}
