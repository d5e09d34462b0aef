//! Code shared by the tests of this crate, and by tests of whole programs (`tests/all/ends`).
#![allow(dead_code, reason = "each test program uses its own part")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tare_noise::{HostLock, Level, NoiseError, RestoreReport, Session, Setting, System, fake};
use tempfile::TempDir;

/// Settings of this machine that tests may change without disturbing what else runs here, with two levels each, so that
/// at least one of them differs from the present one.
pub const HARMLESS: [(Setting, [&str; 2]); 6] = [
    (Setting::NumaBalancing, ["on", "off"]),
    (Setting::Thp, ["always", "never"]),
    (Setting::ThpDefrag, ["defer", "never"]),
    (Setting::Swappiness, ["7", "61"]),
    (Setting::AslrSystem, ["1", "0"]),
    (Setting::PerfEventParanoid, ["1", "0"]),
];

/// A fake machine with its own state and lock folders.
pub struct Machine {
    pub dir: TempDir,
}

impl Machine {
    pub fn new() -> Self {
        let machine = Self { dir: tempfile::tempdir().unwrap() };
        fake::create(&machine.root()).unwrap();
        machine
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    pub fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub fn journal(&self) -> PathBuf {
        self.state().join("journal.jsonl")
    }

    pub fn system(&self) -> System {
        System::at(self.root())
    }

    pub fn lock(&self) -> HostLock {
        HostLock::acquire(self.dir.path()).unwrap()
    }

    pub fn begin(&self) -> (Session, RestoreReport) {
        Session::begin(self.system(), &self.state(), self.lock()).unwrap()
    }

    /// A new machine, the content of its files, and a session that has changed nothing yet.
    pub fn begun() -> (Self, BTreeMap<PathBuf, String>, Session) {
        let machine = Self::new();
        let (before, (session, _)) = (machine.tree(), machine.begin());
        (machine, before, session)
    }

    pub fn recover(&self) -> Result<RestoreReport, NoiseError> {
        tare_noise::recover(&self.system(), &self.state(), &self.lock())
    }

    pub fn file(&self, path: &str) -> String {
        fs::read_to_string(self.system().path(path)).unwrap()
    }

    pub fn put(&self, path: &str, text: &str) {
        let path = self.system().path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.system().path(path)).unwrap();
    }

    pub fn tree(&self) -> BTreeMap<PathBuf, String> {
        tree(&self.root())
    }
}

/// All files below `root` with their contents, without partial files that a killed writer left and without files that
/// disappear meanwhile.
pub fn tree(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|e| e != "next")
                && let Ok(bytes) = fs::read(&path)
            {
                files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    files
}

pub fn level(setting: Setting, text: &str) -> Level {
    setting.level(text).unwrap()
}

/// Waits for the lock of this machine, which other programs, or these tests in another folder, may hold.
pub fn host_lock() -> HostLock {
    host_lock_in(&HostLock::default_dir())
}

pub fn host_lock_in(folder: &Path) -> HostLock {
    for _ in 0..600 {
        if let Ok(lock) = HostLock::acquire(folder) {
            return lock;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    HostLock::acquire(folder).unwrap()
}

/// Ends a session as SIGKILL would, without any cleanup.
pub fn kill(session: Session, machine: &Machine) {
    std::mem::forget(session);
    // The forgotten descriptor keeps the lock, so its file is removed: the next session then creates a new one.
    fs::remove_file(machine.dir.path().join("tare-host.lock")).unwrap();
}
