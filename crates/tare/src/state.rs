//! Directories that tare keeps between commands; locking the machine, restoring settings and cleaning up at a start.

use crate::config::{self, is_roots};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_engine::{EngineError, Reaped, reap_leftovers, remove_half_made};
use tare_files::{Access, FilesError, PrivateFolder};
use tare_noise::{HostLock, Journal, NoiseError, Patience, System};
use thiserror::Error;

/// How long the last trial of a killed run may take to stop its server and to restore settings.
const TRIAL_PATIENCE: Duration = Duration::from_secs(60);

/// Most client agents for trials of other hosts on this host at a time: one works, and a few may wait for it.
const AGENTS: usize = 4;

/// Default directory of results, below the working directory.
pub(crate) const USUAL_RESULTS: &str = "tare-results";
/// The list of results directories, one JSON string per line.
const RESULTS: &str = "results.jsonl";
const LONGEST_LIST: u64 = 64 << 20;

const CACHE_BASE: config::Base = ("XDG_CACHE_HOME", ".cache");
/// Root's cache if no environment variable names one and the home directory belongs to another user.
const ROOT_CACHE: &str = "/var/cache/tare";

#[derive(Debug, Error)]
pub(crate) enum StateError {
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// The cache or the state directory belongs to another user, or is open to others.
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error("no directory for prepared data: set TARE_CACHE_DIR, XDG_CACHE_HOME or HOME to a folder of your own")]
    NoCache,
    /// Notes in the cache and in lists of servers name its files as text.
    #[error("the cache {} is not UTF-8: set TARE_CACHE_DIR to another folder", .0.display())]
    NotUtf8(PathBuf),
    #[error("cannot clean up after a killed run: {0}")]
    Leftovers(#[from] EngineError),
    /// Processes would be taken for others, or not be found.
    #[error("/proc {0}: mount the one of this PID namespace (mount -t proc proc /proc, or unshare --mount-proc)")]
    Proc(&'static str),
}

impl StateError {
    /// Whether a folder of this program's own cannot be used.
    pub(crate) fn lacks_place(&self) -> bool {
        match self {
            Self::Files(_) | Self::NoCache | Self::NotUtf8(_) => true,
            Self::Noise(e) => matches!(e, NoiseError::Files(_) | NoiseError::NoStateDir),
            Self::Leftovers(_) | Self::Proc(_) => false,
        }
    }
}

/// Checks that /proc has the process numbers that this process sees too.
fn own_proc() -> Result<(), StateError> {
    let own = std::process::id().to_string();
    match std::fs::read_link("/proc/self") {
        Ok(link) if link == Path::new(&own) => Ok(()),
        Ok(_) => Err(StateError::Proc("belongs to another PID namespace")),
        Err(_) => Err(StateError::Proc("is not mounted")),
    }
}

#[derive(Debug)]
pub(crate) struct Host {
    lock: HostLock,
    /// Servers and programs that a killed run had left.
    pub reaped: Vec<Reaped>,
    /// Incomplete prepared data of a killed run.
    pub half_made: Vec<PathBuf>,
    /// Settings that were restored from the journal of a killed run.
    pub restored: tare_noise::RestoreReport,
}

impl Host {
    /// Another user's process that runs on the machine as well; root need not wait for it.
    pub(crate) fn other(&self) -> Option<&str> {
        self.lock.other()
    }
}

/// The directory with the journal of settings and the list of running servers.
pub(crate) fn directory() -> Result<PathBuf, StateError> {
    Ok(tare_noise::default_state_dir()?)
}

/// Reserves a place for the client agent of another host's trial, until the file is dropped; `None` if all are taken.
pub(crate) fn place_for_agent() -> Result<Option<File>, StateError> {
    let folder = PrivateFolder::open_or_create(&directory()?, Access::Closed)?;
    for place in 0..AGENTS {
        let file = folder.append(&format!("agent-{place}.lock"))?;
        if file.try_lock().is_ok() {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Records where results were made, so that `tare clean` finds them.
///
/// # Errors
/// When the state directory does not belong to this user, or cannot be written.
pub(crate) fn remember_results(path: &Path) -> Result<(), StateError> {
    let folder = PrivateFolder::open_or_create(&directory()?, Access::Closed)?;
    let line = format!("{}\n", serde_json::Value::from(whole_path(path).to_string_lossy()));
    let written = folder.append(RESULTS).map(|mut file| file.write_all(line.as_bytes()))?;
    Ok(written.map_err(|source| FilesError::Io { doing: "write", path: folder.path().join(RESULTS), source })?)
}

/// The absolute path, without `..`: trials run in directories of their own. A symbolic link in its last component keeps
/// its name, because a server finds its files by it.
pub(crate) fn whole_path(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent().and_then(|folder| folder.canonicalize().ok());
    folder.zip(whole.file_name()).map_or(whole.clone(), |(folder, name)| folder.join(name))
}

/// All readable results directories, in the default directory and wherever else they were made; the oldest first.
pub(crate) fn results() -> Vec<PathBuf> {
    let here = std::fs::read_dir(USUAL_RESULTS).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut seen = BTreeSet::new();
    let begun = |path: PathBuf| {
        let first = seen.insert(std::fs::canonicalize(&path).ok()?);
        Some((std::fs::metadata(path.join("plan.json")).ok()?.modified().ok()?, path)).filter(|_| first)
    };
    let mut found: Vec<_> = here.chain(known_results()).filter_map(begun).collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

fn known_results() -> Vec<PathBuf> {
    let folder = directory().ok().and_then(|state| PrivateFolder::open(&state, Access::Closed).ok().flatten());
    let bytes = folder.and_then(|folder| folder.read(RESULTS, LONGEST_LIST).ok().flatten()).unwrap_or_default();
    bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// The directory of prepared data: `TARE_CACHE_DIR`, else the path in the user's configuration file, else the user's
/// cache directory. A missing directory is created private. One that belongs to another user or is open to others is
/// refused, because servers are started on its content.
pub(crate) fn cache_directory() -> Result<PathBuf, StateError> {
    let root = rustix::process::geteuid().is_root();
    let chosen = config::get().cache.clone();
    let place = cache_place(|name| std::env::var_os(name), chosen, root, is_roots).ok_or(StateError::NoCache)?;
    let folder = PrivateFolder::open_or_create(&place, Access::Closed)?;
    if folder.path().to_str().is_none() {
        return Err(StateError::NotUtf8(folder.path().to_owned()));
    }
    let may_write = rustix::fs::access(folder.path(), rustix::fs::Access::WRITE_OK);
    // For root only a read-only file system refuses it.
    may_write.map_err(|e| FilesError::Io { doing: "write to", path: place, source: e.into() })?;
    Ok(folder.path().to_owned())
}

/// Root keeps its cache in its own home or in [`ROOT_CACHE`], never in the home of the user who called sudo.
fn cache_place(
    variable: impl Fn(&str) -> Option<OsString>,
    chosen: Option<PathBuf>,
    root: bool,
    is_roots: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let set = variable("TARE_CACHE_DIR").filter(|place| !place.is_empty()).map(PathBuf::from);
    set.or(chosen)
        .or_else(|| config::place(CACHE_BASE, variable, root, is_roots))
        .or_else(|| root.then(|| PathBuf::from(ROOT_CACHE)))
}

/// Locks the machine: no other run may tune or measure it, and leftovers of a killed run are removed. If this has to
/// wait for long, `report` is called with the process that it waits for.
///
/// # Errors
/// When another run has the machine, or leftovers of a killed run cannot be removed or restored.
pub(crate) fn take_host(report: &dyn Fn(&str)) -> Result<Host, StateError> {
    own_proc()?;
    let state = directory()?;
    let lock = HostLock::acquire(&HostLock::default_dir())?.with_state(&state)?;
    lock.wait_for_trials(&Patience { longest: TRIAL_PATIENCE, enough: &tare_engine::interrupted, report })?;
    // Each is done even if another one fails.
    let reaped = reap_leftovers(&state);
    let restored = tare_noise::recover(&System::of_environment(), &state, &lock);
    let half_made = remove_half_made_data();
    Ok(Host { reaped: reaped?, restored: restored?, half_made: half_made?, lock })
}

/// Cleans up after a trial that was killed: ends its server, removes its directories and the data that it was
/// preparing, restores its settings and verifies them.
///
/// # Errors
/// When there is no directory for the lists of servers and settings, when a list cannot be read, or when something
/// cannot be restored.
pub(crate) fn reap() -> Result<Vec<Reaped>, StateError> {
    let state = directory()?;
    let reaped = reap_leftovers(&state);
    tare_noise::recover_trial(&System::of_environment(), &state, &HostLock::default_dir(), TRIAL_PATIENCE)?;
    remove_half_made_data()?;
    Ok(reaped?)
}

/// A cache that cannot be used must not prevent restoring settings; whoever uses the cache reports the error.
fn remove_half_made_data() -> Result<Vec<PathBuf>, EngineError> {
    cache_directory().map_or_else(|_| Ok(Vec::new()), |cache| remove_half_made(&cache))
}

/// Checks before a trial that no setting of an earlier one is left, of this user or of root.
pub(crate) fn as_found() -> Result<(), StateError> {
    let (system, state) = (System::of_environment(), directory()?);
    if Journal::pending(&state) {
        let lock = HostLock::of_parent(&HostLock::default_dir())?;
        tare_noise::recover(&system, &state, &lock)?.check()?;
    }
    Ok(tare_noise::verify_as_found(&system, &state)?)
}

/// A new path for a private data directory, next to the cache so that copies can share blocks.
pub(crate) fn work_directory() -> Result<PathBuf, StateError> {
    Ok(cache_directory()?.join(format!("trial-{}", std::process::id())))
}

/// A new path for a server's socket directory that no one can guess, and short: a socket's path has at most 107 bytes.
pub(crate) fn run_directory() -> PathBuf {
    let ours = |place: &PathBuf| PrivateFolder::open(place, Access::Closed).is_ok_and(|folder| folder.is_some());
    let base = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|place| place.as_os_str().len() < 60 && ours(place))
        .unwrap_or_else(std::env::temp_dir);
    // The standard library keys every new hasher from the system's random numbers.
    let random = std::hash::RandomState::new().build_hasher().finish() as u32;
    base.join(format!("tare-{}-{random:08x}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)], root: bool) -> Option<String> {
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        cache_place(find, None, root, |path| path.starts_with("/admin")).map(|place| place.display().to_string())
    }

    #[test]
    fn the_cache_is_never_at_a_path_that_others_can_create() {
        assert_eq!(place(&[], false), None);
        assert_eq!(place(&[("HOME", "")], false), None);
        assert_eq!(place(&[], true).as_deref(), Some(ROOT_CACHE));
        assert_eq!(place(&[("HOME", "/admin")], true).as_deref(), Some("/admin/.cache/tare"));
        assert_eq!(place(&[("HOME", "/users/u"), ("XDG_CACHE_HOME", "/users/u/c")], true).as_deref(), Some(ROOT_CACHE));
        assert_eq!(
            place(&[("HOME", "/users/u"), ("XDG_CACHE_HOME", "/users/u/c")], false).as_deref(),
            Some("/users/u/c/tare")
        );
        assert_eq!(place(&[("HOME", "/users/u"), ("TARE_CACHE_DIR", "cache")], true).as_deref(), Some("cache"));
    }

    #[test]
    fn a_configured_cache_overrides_the_default_but_not_the_environment_variable() {
        let with = |variables: &'static [(&'static str, &'static str)]| {
            let find = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
            cache_place(find, Some("/big".into()), false, |_| false).map(|place| place.display().to_string())
        };
        assert_eq!(with(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]).as_deref(), Some("/big"));
        assert_eq!(with(&[("TARE_CACHE_DIR", "/e")]).as_deref(), Some("/e"));
    }
}
