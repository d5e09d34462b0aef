//! Tests a process that changes settings and is killed at every crash point in turn: every setting must be restored.

use crate::common::{HARMLESS, Machine, host_lock_in, level};
use crate::crashes::{Counts, Log, OF_GROUPS, OF_SETTINGS, OF_WHOLE_WRITES, Whom, check_counts, halves};
use std::os::unix::process::{ExitStatusExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use tare_cpuset::{CpuSet, ThreadRef, affinity_of};
use tare_noise::{
    Availability, HostLock, Journal, NoiseError, RestoreReport, Session, Setting, System, ThreadAffinities, recover,
};

/// Further settings that are only changed on a fake machine.
const MORE: [(Setting, [&str; 2]); 5] = [
    (Setting::IntelPstate, ["passive", "off"]),
    (Setting::Governor, ["performance", "powersave"]),
    (Setting::Turbo, ["off", "on"]),
    (Setting::Smt, ["off", "on"]),
    (Setting::Frequency, ["2000", "3000"]),
];

/// Not a test: the process to be killed. It does its job once, unless the test that started it has ended: then nothing
/// would restore what it changes.
#[test]
#[ignore = "run by the other tests"]
fn child() {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (Some(root), Some(folder)) = (variable("TARE_TEST_ROOT"), variable("TARE_TEST_FOLDER")) else { return };
    let system = if root == Path::new("/") { System::real() } else { System::at(root) };
    // A test that starts its own child at this moment may keep a copy of the lock in it until the child calls exec.
    let lock = host_lock_in(&folder);
    let state = folder.join("state");
    match std::env::var("TARE_TEST_DOES").unwrap().as_str() {
        "settings" => sets(system, &state, lock),
        "affinities" => binds(&state, &lock),
        _ => drop(recover(&system, &state, &lock).unwrap()),
    }
}

fn sets(system: System, state: &Path, lock: HostLock) {
    let parent: u32 = std::env::var("TARE_TEST_PARENT").unwrap().parse().unwrap();
    let more = if system.is_fake() { &MORE[..] } else { &[] };
    let settings = [&HARMLESS[..], more].concat();
    let (mut session, _) = Session::begin(system.clone(), state, lock).unwrap();
    for round in 0..2 {
        for (setting, texts) in &settings {
            let level = level(*setting, texts[round]);
            if parent_id() != parent {
                return;
            }
            if level.availability(&system) == Availability::Available {
                session.apply(&level).unwrap();
            }
        }
        if system.is_fake() {
            let cpus = ["cpus:2", "cpus:3"][round];
            session.apply(&level(Setting::IrqAffinity, cpus)).unwrap();
            session.apply(&level(Setting::CpuShield, cpus)).unwrap();
        }
    }
    session.close().unwrap().check().unwrap();
}

/// Binds a process of the test to each of its first two CPUs in turn.
fn binds(state: &Path, lock: &HostLock) {
    let thread = ThreadRef::main_of(std::env::var("TARE_TEST_THREAD").unwrap().parse().unwrap());
    let all = affinity_of(thread).unwrap();
    let mut affinities = ThreadAffinities::new(state, lock);
    for cpu in all.iter().take(2) {
        affinities.bind(&[(thread, CpuSet::from(cpu))], false).unwrap();
    }
    affinities.put_back().unwrap().check().unwrap();
}

/// The machine and the folders of the child.
struct Place<'a> {
    root: &'a Path,
    folder: &'a Path,
    thread: u32,
}

impl Place<'_> {
    fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    fn log(&self) -> Log {
        Log::new(self.folder.join("crash.log"))
    }

    fn child(&self, does: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "kill::child", "--ignored"])
            .env("TARE_TEST_DOES", does)
            .env("TARE_TEST_ROOT", self.root)
            .env("TARE_TEST_FOLDER", self.folder)
            .env("TARE_TEST_THREAD", self.thread.to_string())
            .env("TARE_TEST_PARENT", std::process::id().to_string())
            .stdout(Stdio::null());
        command
    }

    /// Runs the child until the point with this number. Returns the point's label; `None` if there is none.
    fn crash(&self, does: &str, at: usize) -> Option<String> {
        let (log, mut child) = (self.log(), self.child(does));
        log.crash(&mut child, at, Whom::One);
        let status = child.status().unwrap();
        let reached = log.reached();
        if status.success() {
            assert_eq!(reached.len(), at - 1, "the child did not die at point {at}");
            return None;
        }
        assert_eq!(status.signal(), Some(9), "{does} {at}: {status}");
        assert_eq!(reached.len(), at, "{reached:?}");
        Some(reached.last().unwrap().1.clone())
    }

    /// Restores, as the next start does.
    fn recover(&self) -> RestoreReport {
        let system = if self.root == Path::new("/") { System::real() } else { System::at(self.root) };
        let report = recover(&system, &self.state(), &host_lock_in(self.folder)).unwrap();
        assert_eq!(report.failed().count() + report.changed_by_other().count(), 0, "{report:?}");
        assert!(!Journal::pending(&self.state()), "{report:?}");
        report
    }

    /// Crashes the child at every point; after each next start, `found` must return the same as before.
    fn every<T: PartialEq + std::fmt::Debug>(&self, does: &str, found: impl Fn() -> T) -> Counts {
        let (before, mut counts, mut left) = (found(), Counts::new(), 0);
        for at in 1.. {
            // An existing state directory would have fewer points.
            let _ = std::fs::remove_dir_all(self.state());
            let Some(label) = self.crash(does, at) else { break };
            let report = self.recover();
            assert_eq!(found(), before, "{does} {at}, {label}: {report:?}");
            left += halves(&self.state()).len();
            *counts.entry(label).or_default() += 1;
        }
        assert_eq!(found(), before, "{does}");
        self.new_is_synced_once();
        println!("{left} halves of whole writes left");
        counts
    }

    /// The folder of a journal is synced after its first lines, which create the file, and not after later ones.
    fn new_is_synced_once(&self) {
        let labels: Vec<String> = self.log().reached().into_iter().map(|(_, label)| label).collect();
        let written = labels.windows(2).filter(|two| two[0] == "journal: entries written, not synced");
        for (at, two) in written.enumerate() {
            assert_eq!(two[1] == "journal: new, its folder not synced", at == 0, "{labels:?}");
        }
    }

    /// Crashes the next start at every point, after a crash that left the most to restore: the last entry of the
    /// journal is not applied, and all others are.
    fn every_of_the_next_start<T: PartialEq + std::fmt::Debug>(&self, does: &str, found: impl Fn() -> T) -> Counts {
        let (before, mut counts) = (found(), Counts::new());
        let (log, mut child) = (self.log(), self.child(does));
        log.count(&mut child);
        assert!(child.status().unwrap().success());
        let full = log.reached().iter().rposition(|(_, label)| label == "journal: entries synced").unwrap() + 1;
        for at in 1.. {
            self.crash(does, full).unwrap();
            let label = self.crash("recover", at);
            let report = self.recover();
            assert_eq!(found(), before, "crash {full} of {does}, crash {at} of the next start, {label:?}: {report:?}");
            let Some(label) = label else { break };
            *counts.entry(label).or_default() += 1;
        }
        counts
    }
}

#[test]
fn a_fake_machine_is_restored_at_every_crash_point() {
    let machine = Machine::new();
    let root = machine.root();
    let place = Place { root: &root, folder: machine.dir.path(), thread: 0 };
    let counts = place.every("settings", || machine.tree());
    // A new list of CPUs first restores the files of the old one, and keeps the rest of the journal.
    check_counts("settings of a fake machine", &counts, &[&OF_SETTINGS[..], &OF_GROUPS, &OF_WHOLE_WRITES].concat());
    let counts = place.every_of_the_next_start("settings", || machine.tree());
    let must = ["setting: before it is written", "setting: written", "removal: before it", "removal: done"];
    check_counts("the next start on a fake machine", &counts, &must);
}

/// A process that is killed at the end of the test.
struct Sleeping(Child);

impl Drop for Sleeping {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn affinities_are_restored_at_every_crash_point() {
    let folder = tempfile::tempdir().unwrap();
    let server = Sleeping(Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap());
    let thread = ThreadRef::main_of(server.0.id().cast_signed());
    assert!(affinity_of(thread).unwrap().iter().count() > 1, "this test needs two CPUs");
    let place = Place { root: Path::new("/"), folder: folder.path(), thread: server.0.id() };
    let found = || affinity_of(thread).unwrap();
    let counts = place.every("affinities", found);
    let must = ["affinity: before it is set", "affinity: set", "affinity: before it is put back", "affinity: put back"];
    check_counts("affinities", &counts, &must);
    // The last entry is that of a thread which is already bound.
    let counts = place.every_of_the_next_start("affinities", found);
    check_counts("the next start after affinities", &counts, &must[2..]);
}

fn read_harmless() -> Vec<(Setting, String)> {
    let system = System::real();
    HARMLESS.iter().filter_map(|(s, _)| Some((*s, s.read(&system).ok()?))).collect()
}

/// The real settings, which are restored even if the test fails.
struct Originals(Vec<(Setting, String)>);

impl Originals {
    fn read() -> Self {
        Self(read_harmless())
    }
}

impl Drop for Originals {
    fn drop(&mut self) {
        if read_harmless() == self.0 {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let lock = HostLock::acquire(dir.path()).unwrap();
        let (mut session, _) = Session::begin(System::real(), dir.path(), lock).unwrap();
        for (setting, text) in &self.0 {
            let _ = session.apply(&level(*setting, text));
        }
        // The end of the session would set again what the failed test left.
        std::mem::forget(session);
    }
}

/// Runs a test of the real settings. Such tests exclude each other with a mutex, and other programs with the host lock.
///
/// Root's journal is in a place where the next run of the tests finds it if this one is killed. First, what an earlier
/// run left is restored.
fn with_this_machine(test: impl FnOnce(&Originals, &Path)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _lock = crate::common::host_lock();
    if is_root() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("noise-real");
        std::fs::create_dir_all(&folder).unwrap();
        recover(&System::real(), &folder.join("state"), &HostLock::acquire(&folder).unwrap()).unwrap();
        test(&Originals::read(), &folder);
        // Not removed if the test fails, because it may have settings that must be restored.
        std::fs::remove_dir_all(folder).unwrap();
    } else {
        let folder = tempfile::tempdir().unwrap();
        test(&Originals::read(), folder.path());
    }
}

/// A level that differs from `found` and that this kernel supports.
fn other(setting: Setting, found: &str) -> &'static str {
    let (_, texts) = HARMLESS.into_iter().find(|(s, _)| *s == setting).unwrap();
    if texts[0] == found { texts[1] } else { texts[0] }
}

fn is_root() -> bool {
    // Root in a container may lack this permission too; then the settings cannot be tested.
    System::real().may_write("/proc/sys/vm/swappiness").is_ok()
}

#[test]
fn settings_of_this_machine_are_set_and_restored() {
    with_this_machine(|originals, folder| {
        let (mut session, _) =
            Session::begin(System::real(), &folder.join("state"), HostLock::acquire(folder).unwrap()).unwrap();
        assert!(originals.0.len() >= 4, "a kernel without {HARMLESS:?}?");
        for (setting, found) in &originals.0 {
            session.apply(&level(*setting, found)).expect("what is found can always be had");
            let wanted = level(*setting, other(*setting, found));
            if is_root() {
                assert_eq!(session.apply(&wanted).unwrap().written.len(), 1, "{wanted}");
                assert_eq!(setting.read(&System::real()).unwrap(), wanted.text());
            } else {
                let error = session.apply(&wanted).unwrap_err();
                assert!(matches!(error, NoiseError::NotAvailable { .. }), "{error}");
                let message = error.to_string();
                assert!(message.contains("needs root: ") && message.contains("sudo "), "{message}");
            }
        }
        idle_states(&mut session);
        let report = session.close().unwrap();
        assert_eq!(report.failed().count() + report.changed_by_other().count(), 0, "{report:?}");
        assert_eq!(read_harmless(), originals.0);
    });
}

fn idle_states(session: &mut Session) {
    let off = level(Setting::CStates, "off");
    let found = Setting::CStates.read(session.system());
    match off.availability(session.system()) {
        Availability::NotAvailable { reason } => {
            assert!(session.apply(&off).unwrap_err().to_string().contains(&reason))
        }
        Availability::Available => {
            session.apply(&off).unwrap();
            assert_eq!(Setting::CStates.read(session.system()).unwrap(), "off");
            session.restore().unwrap();
            assert_eq!(Setting::CStates.read(session.system()).unwrap(), found.unwrap());
        }
    }
}

#[test]
fn this_machine_is_restored_at_every_crash_point() {
    with_this_machine(|originals, folder| {
        let place = Place { root: Path::new("/"), folder, thread: 0 };
        let found = || {
            let found = read_harmless();
            assert_eq!(found, originals.0);
        };
        let counts = place.every("settings", found);
        if is_root() {
            check_counts("settings of this machine", &counts, &OF_SETTINGS);
            check_counts("the next start on this machine", &place.every_of_the_next_start("settings", found), &[]);
        }
    });
}
