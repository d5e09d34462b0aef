//! The host lock: one run at a time tunes or measures a machine.

use crate::error::{NoiseError, Result};
use crate::lock_file::{ROOT_DIR, describe, holder, lives, open, write_error};
use rustix::fs::{FlockOperation, flock};
use rustix::process::getppid;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tare_files::{Access, PrivateFolder};

const FILE: &str = "tare-host.lock";
/// Name of the file that trials lock together, each for itself.
const TRIALS: &str = "tare-trials.lock";

/// How long the kernel's list of locks may say something else than is expected: it names a process that is gone until a
/// child that it was just forking has exec'd or ended.
const UNSETTLED: Duration = Duration::from_millis(500);

/// What need not be told of waiting.
const MOMENT: Duration = Duration::from_secs(2);
/// How long a trial waits for the lock of trials, which no one keeps.
const KEPT: Duration = Duration::from_secs(10);

/// The lock of this machine, held until it is dropped or its process dies (flock(2): the kernel frees it).
///
/// The file is empty and never removed. Where users share it, it has mode 0444: all lock it alike through a descriptor
/// open for reading, and no one can write a lie into it. Root's own has mode 0600: no one else can hold it. Who holds
/// it is asked of the kernel (/proc/locks). The descriptor is close-on-exec: a server that outlives the run does not
/// keep the lock.
#[derive(Debug)]
pub struct HostLock {
    /// None in a child whose parent holds the lock.
    _file: Option<OwnedFd>,
    other: Option<String>,
    path: PathBuf,
}

impl HostLock {
    /// The folder of the locks: `TARE_LOCK_DIR`; or else for root /run/tare, and for others one that they share:
    /// /run/lock where everybody may create files in it (Debian, Ubuntu), or else /tmp.
    ///
    /// Anyone who can open a lock's file can hold it for ever, and no one can do so to root's. Others are told when
    /// root has the machine; root is told when others have it, and need not wait for them.
    pub fn default_dir() -> PathBuf {
        if let Some(dir) = std::env::var_os("TARE_LOCK_DIR").filter(|d| !d.is_empty()) {
            return PathBuf::from(dir);
        }
        if rustix::process::geteuid().is_root() { PathBuf::from(ROOT_DIR) } else { shared_dir() }
    }

    /// Takes the lock in `dir`, or says at once who holds it.
    ///
    /// # Errors
    /// [`NoiseError::Locked`] with the holder; [`NoiseError::BadLockFile`] when something else has that name;
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
        let deadline = Instant::now() + UNSETTLED;
        loop {
            let file = open(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => {
                    let holder = holder(&path);
                    // This process's own lock, dropped a moment ago, lives in a child that it was just forking until
                    // that one execs.
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
            // Someone may have removed the file between open and lock: then others lock another one.
            if fs::symlink_metadata(&path).is_ok_and(|there| there.ino() == ours.st_ino && there.dev() == ours.st_dev) {
                return Ok(Self { _file: Some(file), other: other(), path });
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
                return Ok(Self { _file: None, other: None, path });
            }
            // The kernel's list is read in parts, and while other locks come and go it may lack one.
            if parent_now() != parent || Instant::now() >= deadline {
                return Err(NoiseError::NotParentsLock { holder: describe(holder), path, parent });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until no trial of an earlier run is left. A run that is killed frees the lock at once, but its trial takes
    /// a moment to notice, to put its settings back and to append its record; the one that comes next must not meet it.
    ///
    /// # Errors
    /// [`NoiseError::Locked`] with the trial when patience is over.
    pub fn wait_for_trials(&self, patience: &Patience<'_>) -> Result<()> {
        NoTrial::wait(self.path.parent().unwrap_or(Path::new("/")), patience).map(drop)
    }

    /// The process of another user that has the machine as well, where this lock is root's.
    pub fn other(&self) -> Option<&str> {
        self.other.as_deref()
    }

    /// Where the lock file lies, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The folder in which ordinary users lock the machine; it depends on the machine alone, never on who asks.
fn shared_dir() -> PathBuf {
    let shared = |dir: &str| fs::metadata(dir).is_ok_and(|m| m.is_dir() && m.mode() & 0o1777 == 0o1777);
    PathBuf::from(if shared("/run/lock") { "/run/lock" } else { "/tmp" })
}

/// Makes sure that root does not have the machine: its file cannot be opened, but the kernel tells who holds it.
fn check_root(path: &Path) -> Result<()> {
    match holder(path).filter(|pid| lives(*pid)) {
        Some(pid) => Err(NoiseError::Locked { holder: describe(Some(pid)), path: path.to_owned() }),
        None => Ok(()),
    }
}

/// How long others are waited for.
pub struct Patience<'a> {
    /// Until it is over by itself.
    pub longest: Duration,
    /// Whether no one wants to wait any more.
    pub enough: &'a dyn Fn() -> bool,
    /// Told once who is waited for, when that takes more than a moment.
    pub tell: &'a dyn Fn(&str),
}

impl Patience<'_> {
    /// Waits so long, and tells no one.
    pub fn of(longest: Duration) -> Self {
        Self { longest, enough: &|| false, tell: &|_| {} }
    }
}

/// Takes the lock that trials share.
fn trials(dir: &Path, how: FlockOperation, patience: &Patience<'_>) -> Result<OwnedFd> {
    let path = dir.join(TRIALS);
    let file = open(&path)?;
    let began = Instant::now();
    let mut told = false;
    loop {
        match flock(&file, how) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if began.elapsed() < patience.longest && !(patience.enough)() => {
                if !told && began.elapsed() >= MOMENT {
                    (patience.tell)(&describe(holder(&path)));
                    told = true;
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

/// What a trial holds while it lives, so that the next run can wait for it when this one is killed. Take it before
/// asking whether the run is still there: then either the trial sees that it is not, or the next run sees the trial.
#[derive(Debug)]
pub struct TrialLock {
    _file: OwnedFd,
}

impl TrialLock {
    /// Takes it, alongside the host lock in `dir`.
    ///
    /// # Errors
    /// [`NoiseError::BadLockFile`] and [`NoiseError::Write`] as for [`HostLock::acquire`]; [`NoiseError::Locked`] when
    /// someone keeps it: the next run has it for an instant only.
    pub fn hold(dir: &Path) -> Result<Self> {
        let file = trials(dir, FlockOperation::NonBlockingLockShared, &Patience::of(KEPT))?;
        Ok(Self { _file: file })
    }
}

/// The proof that no trial lives: their lock, had alone. None can begin while it is held.
#[derive(Debug)]
pub(crate) struct NoTrial {
    _file: OwnedFd,
}

impl NoTrial {
    /// Waits until no trial lives, for as long as patience lasts.
    pub(crate) fn wait(dir: &Path, patience: &Patience<'_>) -> Result<Self> {
        let file = trials(dir, FlockOperation::NonBlockingLockExclusive, patience)?;
        Ok(Self { _file: file })
    }
}
