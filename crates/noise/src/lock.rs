//! The host lock: only one run at a time changes settings or measures on a machine.

use crate::error::{NoiseError, Result};
use crate::lock_file::{ROOT_DIR, describe, holder, holds, lives, open, write_error};
use crate::state_dir::ROOT_STATE_DIR;
use rustix::fs::{FlockOperation, flock};
use rustix::process::getppid;
use std::fs::{self, File};
use std::io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tare_files::{Access, PrivateFolder};

const FILE: &str = "tare-host.lock";
/// Name of the file on which every trial holds a shared lock.
const TRIALS: &str = "tare-trials.lock";
/// Name of the lock in a state directory.
const STATE: &str = "tare-state.lock";

/// How long the kernel's list of locks may be outdated: it names an ended process until a child forked from it has
/// called exec or ended.
const UNSETTLED: Duration = Duration::from_millis(500);

/// A shorter wait is not reported.
const MOMENT: Duration = Duration::from_secs(2);
/// How long a trial waits for the lock of trials, which another process only holds for a moment.
const KEPT: Duration = Duration::from_secs(10);

/// The lock of this machine, held until it is dropped or its process ends (flock(2): the kernel releases it).
///
/// The file is empty and never removed. A shared file has mode 0444: every user can lock it through a descriptor that
/// is open for reading, and no one can write false information to it. Root's own file has mode 0600, so no other user
/// can hold it. The holder is read from the kernel (/proc/locks). The descriptor is close-on-exec, so a server that
/// outlives the run does not keep the lock.
#[derive(Debug)]
pub struct HostLock {
    /// `None` in a child whose parent holds the lock.
    _file: Option<OwnedFd>,
    /// The lock of the state directory.
    _state: Option<File>,
    other: Option<String>,
    path: PathBuf,
}

impl HostLock {
    /// The folder of the locks: `TARE_LOCK_DIR`; otherwise /run/tare for root, and for other users a shared folder:
    /// /run/lock if every user may create files in it (Debian, Ubuntu), or else /tmp.
    ///
    /// A user who can open a lock file can hold the lock forever, so root has a folder of its own. Other users get an
    /// error while root holds its lock. Root gets a message ([`HostLock::other`]) while others hold theirs, but does
    /// not have to wait for them.
    pub fn default_dir() -> PathBuf {
        if let Some(dir) = std::env::var_os("TARE_LOCK_DIR").filter(|d| !d.is_empty()) {
            return PathBuf::from(dir);
        }
        if rustix::process::geteuid().is_root() { PathBuf::from(ROOT_DIR) } else { shared_dir() }
    }

    /// Takes the lock in `dir`, or fails at once with its holder.
    ///
    /// # Errors
    /// [`NoiseError::Locked`] with the holder; [`NoiseError::BadLockFile`] when the file is not a lock file;
    /// [`NoiseError::Write`] when the file can be neither created nor opened.
    pub fn acquire(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let roots = dir == Path::new(ROOT_DIR);
        if roots {
            PrivateFolder::open_or_create(dir, Access::Searchable)?;
        } else if dir == shared_dir() {
            check_root(&Path::new(ROOT_DIR).join(FILE))?;
        }
        let other = || holder(&shared_dir().join(FILE)).filter(|_| roots).map(|pid| describe(Some(pid)));
        loop {
            let file = open(&path)?;
            lock(&file, &path)?;
            let ours = rustix::fs::fstat(&file).map_err(|e| write_error("examine", &path, e.into()))?;
            // The file may have been removed between open and lock; other processes then lock a new one.
            if fs::symlink_metadata(&path).is_ok_and(|there| there.ino() == ours.st_ino && there.dev() == ours.st_dev) {
                return Ok(Self { _file: Some(file), _state: None, other: other(), path });
            }
        }
    }

    /// Takes the lock of a state directory as well. Two containers may share this directory and have a folder of locks
    /// each: without it, the second run would take what the first one uses for leftovers of a killed one. Where the
    /// directory or the lock cannot be created or its file system has no locks, there is nothing to take.
    ///
    /// # Errors
    /// [`NoiseError::Locked`] when another process holds it; [`NoiseError::Files`] when the directory is not private.
    pub fn with_state(self, state_dir: &Path) -> Result<Self> {
        let access = if state_dir == Path::new(ROOT_STATE_DIR) { Access::Searchable } else { Access::Closed };
        let none = [PermissionDenied, ReadOnlyFilesystem, StorageFull, QuotaExceeded];
        let file = match PrivateFolder::open_or_create(state_dir, access).and_then(|folder| folder.append(STATE)) {
            Err(e) if e.source_kind().is_some_and(|kind| none.contains(&kind)) => return Ok(self),
            file => file?,
        };
        match lock(&file, &state_dir.join(STATE)) {
            // Its file system has no locks.
            Err(NoiseError::Write { .. }) => Ok(self),
            locked => locked.map(|()| Self { _state: Some(file), ..self }),
        }
    }

    /// For a trial: checks that its parent process, the run, holds the lock, or this process itself.
    ///
    /// # Errors
    /// [`NoiseError::NotParentsLock`] when neither holds it.
    pub fn of_parent(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        let parent_now = || getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        let parent = parent_now();
        let deadline = Instant::now() + UNSETTLED;
        loop {
            let holder = holder(&path);
            let ours = [parent, std::process::id().cast_signed()];
            if ours.iter().any(|pid| holder == Some(*pid) || holds(*pid, &path)) {
                return Ok(Self { _file: None, _state: None, other: None, path });
            }
            // The kernel's list is read in parts, and may miss a lock while others change.
            if parent_now() != parent || Instant::now() >= deadline {
                return Err(NoiseError::NotParentsLock { holder: describe(holder), path, parent });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until no trial of an earlier run is left. When a run is killed, the kernel releases its lock at once, but
    /// its trial needs a moment to notice, to restore its settings and to append its record. The next run must not
    /// overlap with it.
    ///
    /// # Errors
    /// [`NoiseError::Locked`] with the trial when the wait is over.
    pub fn wait_for_trials(&self, patience: &Patience<'_>) -> Result<()> {
        NoTrial::wait(self.path.parent().unwrap_or(Path::new("/")), patience).map(drop)
    }

    /// If this lock is root's: the process of another user that holds the shared lock.
    pub fn other(&self) -> Option<&str> {
        self.other.as_deref()
    }
}

/// The folder in which ordinary users lock the machine; it is the same for all users of a machine.
fn shared_dir() -> PathBuf {
    let shared = |dir: &str| fs::metadata(dir).is_ok_and(|m| m.is_dir() && m.mode() & 0o1777 == 0o1777);
    PathBuf::from(if shared("/run/lock") { "/run/lock" } else { "/tmp" })
}

/// Checks that root does not hold its lock. Its file cannot be opened, but the kernel lists the holder.
fn check_root(path: &Path) -> Result<()> {
    match holder(path).filter(|pid| lives(*pid)) {
        Some(pid) => Err(NoiseError::Locked { holder: describe(Some(pid)), path: path.to_owned() }),
        None => Ok(()),
    }
}

/// How long to wait for others.
pub struct Patience<'a> {
    /// The longest time to wait.
    pub longest: Duration,
    /// Returns true to end the wait early.
    pub enough: &'a dyn Fn() -> bool,
    /// Called once with the holder if the wait takes more than a moment.
    pub report: &'a dyn Fn(&str),
}

impl Patience<'_> {
    /// Waits at most `longest`, without messages.
    pub(crate) fn of(longest: Duration) -> Self {
        Self { longest, enough: &|| false, report: &|_| {} }
    }
}

/// Locks an open file, or fails at once if another process that lives holds its lock.
fn lock(file: &impl AsFd, path: &Path) -> Result<()> {
    let deadline = Instant::now() + UNSETTLED;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let holder = holder(path);
                // A lock that this process dropped a moment ago is still held by a child that was being forked, until
                // the child calls exec.
                let other = holder.filter(|pid| *pid != std::process::id().cast_signed());
                if other.is_some_and(lives) || Instant::now() >= deadline {
                    return Err(NoiseError::Locked { holder: describe(holder), path: path.to_owned() });
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(e) => return Err(write_error("lock", path, e.into())),
        }
    }
}

/// Takes the lock of trials, shared or exclusive.
fn trials(dir: &Path, how: FlockOperation, patience: &Patience<'_>) -> Result<OwnedFd> {
    let path = dir.join(TRIALS);
    let file = open(&path)?;
    let began = Instant::now();
    let mut reported = false;
    loop {
        match flock(&file, how) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < patience.longest && !(patience.enough)() => {
                if !reported && began.elapsed() >= MOMENT {
                    (patience.report)(&describe(holder(&path)));
                    reported = true;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(NoiseError::Locked { holder: describe(holder(&path)), path });
            }
            Err(e) => return Err(write_error("lock", &path, e.into())),
        }
    }
}

/// A shared lock that a trial holds while it runs, so that the next run can wait for it after this run was killed. Take
/// it before checking that the run still exists: then either the trial sees that the run has ended, or the next run
/// sees the trial.
#[derive(Debug)]
pub struct TrialLock {
    _file: OwnedFd,
}

impl TrialLock {
    /// Takes the lock, in the folder of the host lock.
    ///
    /// # Errors
    /// [`NoiseError::BadLockFile`] and [`NoiseError::Write`] as for [`HostLock::acquire`]; [`NoiseError::Locked`] when
    /// another process keeps it exclusively (a run only does so for a moment).
    pub fn hold(dir: &Path) -> Result<Self> {
        let file = trials(dir, FlockOperation::NonBlockingLockShared, &Patience::of(KEPT))?;
        Ok(Self { _file: file })
    }
}

/// The proof that no trial is running: an exclusive lock. No trial can begin while it is held.
#[derive(Debug)]
pub(crate) struct NoTrial {
    _file: OwnedFd,
}

impl NoTrial {
    /// Waits until no trial is running, as long as `patience` permits.
    pub(crate) fn wait(dir: &Path, patience: &Patience<'_>) -> Result<Self> {
        let file = trials(dir, FlockOperation::NonBlockingLockExclusive, patience)?;
        Ok(Self { _file: file })
    }
}
