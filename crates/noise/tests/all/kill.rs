//! kill -9 at random moments of a process that changes settings: afterwards every setting is exactly as before.

use std::io::{BufRead, BufReader};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::common::{HARMLESS, Machine, level};
use tare_noise::{Availability, HostLock, Journal, NoiseError, Session, Setting, System, recover};

/// What only a fake machine is asked for besides.
const MORE: [(Setting, [&str; 2]); 2] =
    [(Setting::Governor, ["performance", "powersave"]), (Setting::Smt, ["off", "on"])];

/// Not a test: the process to be killed. Sets and restores until then, or until the test that started it is gone:
/// nobody would put back what it leaves.
#[test]
#[ignore = "run by the other tests"]
fn child() {
    let Some(root) = std::env::var_os("TARE_TEST_ROOT").map(PathBuf::from) else { return };
    let folder = std::env::var_os("TARE_TEST_FOLDER").map(PathBuf::from).unwrap();
    let (system, settings) = match root == Path::new("/") {
        true => (System::real(), HARMLESS.to_vec()),
        false => (System::at(root), [&HARMLESS[..], &MORE[..]].concat()),
    };
    let parent: u32 = std::env::var("TARE_TEST_PARENT").unwrap().parse().unwrap();
    println!("\nready");
    let mut lock = HostLock::acquire(&folder).unwrap();
    loop {
        let (mut session, _) = Session::begin(system.clone(), &folder.join("state"), lock).unwrap();
        for round in 0..2 {
            for (setting, texts) in &settings {
                if parent_id() != parent {
                    return;
                }
                let level = level(*setting, texts[round]);
                if level.availability(&system) == Availability::Available {
                    session.apply(&level).unwrap();
                }
            }
        }
        if system.is_fake() {
            session.apply(&level(Setting::IrqAffinity, "cpus:2")).unwrap();
            session.apply(&level(Setting::CpuShield, "cpus:2")).unwrap();
        }
        drop(session);
        lock = HostLock::acquire(&folder).unwrap();
    }
}

/// Starts the child, kills it after `delay`, and says whether it left anything to restore.
fn start_and_kill(root: &Path, folder: &Path, delay: Duration) -> bool {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--ignored", "--nocapture"])
        .env("TARE_TEST_ROOT", root)
        .env("TARE_TEST_FOLDER", folder)
        .env("TARE_TEST_PARENT", std::process::id().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|l| l == "ready"));
    std::thread::sleep(delay);
    assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    Journal::pending(&folder.join("state"))
}

/// Delays spread over a few rounds of the child by the golden ratio: even, and never in step with it.
fn delays(count: u32) -> impl Iterator<Item = Duration> {
    (0..count).map(|i| Duration::from_micros((f64::from(i) * 0.618_033_988_75).fract().mul_add(25_000.0, 50.0) as u64))
}

#[test]
fn a_fake_machine_100_times() {
    let machine = Machine::new();
    let before = machine.tree();
    let mut interrupted = 0;
    for delay in delays(100) {
        interrupted += u32::from(start_and_kill(&machine.root(), machine.dir.path(), delay));
        let report = machine.recover().unwrap();
        assert_eq!(report.failed().count() + report.changed_by_other().count(), 0, "{delay:?}: {report:?}");
        assert_eq!(machine.tree(), before, "{delay:?}: {report:?}");
        assert!(!Journal::pending(&machine.state()));
    }
    assert!(interrupted >= 50, "only {interrupted} of 100 kills hit a session at work: this test proves little");
}

fn read_harmless() -> Vec<(Setting, String)> {
    let system = System::real();
    HARMLESS.iter().filter_map(|(s, _)| Some((*s, s.read(&system).ok()?))).collect()
}

/// The real settings, put back whatever becomes of the test.
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
        // Its end would bring back what the failed test left.
        std::mem::forget(session);
    }
}

/// Tests of the real settings exclude each other here, and other programs through the host lock.
///
/// Root's journal is kept where the next run of the tests finds it, should this one be killed; the first thing is to
/// put back what an earlier one left.
fn with_this_machine(test: impl FnOnce(&Originals, &Path)) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _lock = crate::common::host_lock();
    if is_root() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("noise-real");
        std::fs::create_dir_all(&folder).unwrap();
        recover(&System::real(), &folder.join("state"), &HostLock::acquire(&folder).unwrap()).unwrap();
        test(&Originals::read(), &folder);
        // Kept when the test fails, as it may hold what is to be put back.
        std::fs::remove_dir_all(folder).unwrap();
    } else {
        let folder = tempfile::tempdir().unwrap();
        test(&Originals::read(), folder.path());
    }
}

/// A level other than the one found, that this kernel has.
fn other(setting: Setting, found: &str) -> &'static str {
    let (_, texts) = HARMLESS.into_iter().find(|(s, _)| *s == setting).unwrap();
    if texts[0] == found { texts[1] } else { texts[0] }
}

fn is_root() -> bool {
    // Root inside a container may lack the right as well; then the settings are not to be had either.
    System::real().may_write("/proc/sys/vm/swappiness").is_ok()
}

#[test]
fn this_machine_set_and_restored() {
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
fn this_machine_killed() {
    with_this_machine(|originals, folder| {
        let mut interrupted = 0;
        for delay in delays(if is_root() { 100 } else { 3 }) {
            interrupted += u32::from(start_and_kill(Path::new("/"), folder, delay));
            let lock = HostLock::acquire(folder).unwrap();
            let report = recover(&System::real(), &folder.join("state"), &lock).unwrap();
            assert_eq!(report.failed().count() + report.changed_by_other().count(), 0, "{delay:?}: {report:?}");
            assert_eq!(read_harmless(), originals.0, "{delay:?}: {report:?}");
        }
        if is_root() {
            assert!(
                interrupted >= 50,
                "only {interrupted} of 100 kills hit a session at work: this test proves little"
            );
        }
    });
}
