//! The host lock: one run at a time tunes or measures a machine.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::process::getppid;

use crate::error::{NoiseError, Result};

/// Name of the lock file.
const FILE: &str = "tare-host.lock";
/// Name of the file that trials lock together, each for itself.
const TRIALS: &str = "tare-trials.lock";

/// How long the kernel's list of locks may say something else than is expected: it names a process that is gone until a
/// child that it was just forking has exec'd or ended.
const UNSETTLED: Duration = Duration::from_millis(500);

/// The lock of this machine, held until it is dropped or its process dies (flock(2): the kernel frees it).
///
/// The file is empty, of mode 0444 and never removed: root and ordinary users lock it alike through a descriptor
/// open for reading, and nobody can write a lie into it. Who holds it is asked of the kernel (/proc/locks). The
/// descriptor is close-on-exec: a server that outlives the run does not keep the lock.
#[derive(Debug)]
pub struct HostLock {
    /// None in a child whose parent holds the lock.
    _file: Option<OwnedFd>,
    path: PathBuf,
}

impl HostLock {
    /// The folder of the lock that all users of this machine share: `TARE_LOCK_DIR`, or else /run/lock where
    /// everybody may create files in it (Debian, Ubuntu), or else /tmp. The choice depends on the machine alone,
    /// never on who asks.
    pub fn default_dir() -> PathBuf {
        if let Some(dir) = std::env::var_os("TARE_LOCK_DIR").filter(|d| !d.is_empty()) {
            return PathBuf::from(dir);
        }
        let shared = |dir: &str| fs::metadata(dir).is_ok_and(|m| m.is_dir() && m.mode() & 0o1777 == 0o1777);
        PathBuf::from(if shared("/run/lock") { "/run/lock" } else { "/tmp" })
    }

    /// Takes the lock in `dir`, or says at once who holds it.
    ///
    /// # Errors
    /// [`NoiseError::Locked`] with the holder; [`NoiseError::BadLockFile`] when something else has that name;
    /// [`NoiseError::Write`] when the file can be neither created nor opened.
    pub fn acquire(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let deadline = Instant::now() + UNSETTLED;
        loop {
            let file = open(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let holder = holder(&path);
                    // This process's own lock, dropped a moment ago, lives in a child that it was just forking until that one execs.
                    let other = holder.filter(|pid| *pid != std::process::id().cast_signed());
                    if other.is_some_and(lives) || Instant::now() >= deadline {
                        return Err(NoiseError::Locked { holder: describe(holder), path });
                    }
                    std::thread::sleep(Duration::from_millis(5));
                    continue;
                }
                Err(e) => return Err(write_error("lock", &path, e.into())),
            }
            let ours = rustix::fs::fstat(&file).map_err(|e| write_error("examine", &path, e.into()))?;
            // Somebody may have removed the file between open and lock: then others lock another one.
            if fs::symlink_metadata(&path).is_ok_and(|there| there.ino() == ours.st_ino && there.dev() == ours.st_dev) {
                return Ok(Self { _file: Some(file), path });
            }
        }
    }

    /// For a trial: makes sure that the run that waits for it holds the lock or, where it runs by itself, this process.
    ///
    /// # Errors
    /// [`NoiseError::NotParentsLock`] when neither does.
    pub fn of_parent(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let parent_now = || getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        let parent = parent_now();
        let deadline = Instant::now() + UNSETTLED;
        loop {
            let holder = holder(&path);
            if holder == Some(parent) || holder == Some(std::process::id().cast_signed()) {
                return Ok(Self { _file: None, path });
            }
            // The kernel's list is read in parts, and while other locks come and go it may lack one.
            if parent_now() != parent || Instant::now() >= deadline {
                return Err(NoiseError::NotParentsLock { holder: describe(holder), path, parent });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until no trial of an earlier run is left. A run that is killed frees the lock at once, but its trial takes
    /// a moment to notice, to put its settings back and to append its record; whoever comes next must not meet it.
    ///
    /// # Errors
    /// [`NoiseError::Locked`] with the trial when it is still there after `patience`.
    pub fn wait_for_trials(&self, patience: Duration) -> Result<()> {
        NoTrial::wait(self.path.parent().unwrap_or(Path::new("/")), patience).map(drop)
    }

    /// Where the lock file lies, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What a trial holds while it lives, so that the next run can wait for it when this one is killed. Take it before
/// asking whether the run is still there: then either the trial sees that it is not, or the next run sees the trial.
#[derive(Debug)]
pub struct TrialLock {
    _file: OwnedFd,
}

impl TrialLock {
    /// Takes it, beside the host lock in `dir`.
    ///
    /// # Errors
    /// [`NoiseError::BadLockFile`] and [`NoiseError::Write`] as for [`HostLock::acquire`].
    pub fn hold(dir: &Path) -> Result<Self> {
        let path = dir.join(TRIALS);
        let file = open(&path)?;
        // The next run has it for an instant only.
        flock(&file, FlockOperation::LockShared).map_err(|e| write_error("lock", &path, e.into()))?;
        Ok(Self { _file: file })
    }
}

/// The proof that no trial lives: their lock, had alone. None can begin while it is held.
#[derive(Debug)]
pub(crate) struct NoTrial {
    _file: OwnedFd,
}

impl NoTrial {
    /// Waits until no trial lives, for as long as `patience`.
    pub(crate) fn wait(dir: &Path, patience: Duration) -> Result<Self> {
        let path = dir.join(TRIALS);
        let file = open(&path)?;
        let deadline = Instant::now() + patience;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    return Err(NoiseError::Locked { holder: describe(holder(&path)), path });
                }
                Err(e) => return Err(write_error("lock", &path, e.into())),
            }
        }
    }
}

fn write_error(action: &'static str, path: &Path, source: io::Error) -> NoiseError {
    NoiseError::Write { action, path: path.to_owned(), source }
}

/// Opens the lock file, creating it where missing. Never follows a symbolic link, and never opens an existing file
/// with O_CREAT: the kernel forbids that for others' files in sticky folders (fs.protected_regular, proc_sys_fs(5)).
fn open(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let bad = |what| NoiseError::BadLockFile { path: path.to_owned(), what };
    for _ in 0..100 {
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => file,
            Err(rustix::io::Errno::NOENT) => {
                let all = Mode::RUSR | Mode::RGRP | Mode::ROTH;
                match rustix::fs::open(path, flags | OFlags::CREATE | OFlags::EXCL, all) {
                    Ok(file) => {
                        // Whatever the umask was, others have to open it too.
                        rustix::fs::fchmod(&file, all).map_err(|e| write_error("chmod", path, e.into()))?;
                        file
                    }
                    Err(rustix::io::Errno::EXIST) => continue,
                    Err(e) => return Err(write_error("create", path, e.into())),
                }
            }
            Err(rustix::io::Errno::LOOP) => return Err(bad("it is a symbolic link")),
            // Between another's creation and its fchmod the file may be closed to us.
            Err(rustix::io::Errno::ACCESS) => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(e) => return Err(write_error("open", path, e.into())),
        };
        let is_file = File::from(file.try_clone().map_err(|e| write_error("open", path, e))?)
            .metadata()
            .is_ok_and(|m| m.is_file());
        return if is_file { Ok(file) } else { Err(bad("it is no regular file")) };
    }
    Err(bad("it cannot be opened for reading"))
}

/// Process that holds the lock, from /proc/locks. None where it cannot be seen: another pid namespace, or a file
/// system that shows the kernel other numbers than us.
fn holder(path: &Path) -> Option<i32> {
    let meta = fs::symlink_metadata(path).ok()?;
    let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", meta.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // "1: FLOCK  ADVISORY  WRITE 1234 00:1a:77 0 EOF"; waiters have "->" as their second word.
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[_, "FLOCK", _, _, pid, file, ..] = words.as_slice() else { return None };
        pid.parse().ok().filter(|pid| file == wanted && *pid > 0)
    })
}

fn lives(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

fn describe(holder: Option<i32>) -> String {
    let Some(pid) = holder else { return "a process that cannot be seen from here".to_owned() };
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).replace('\0', " ");
    format!("process {pid} ({})", command.trim())
}
