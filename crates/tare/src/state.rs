//! Where tare keeps things between commands, and what a start does first: lock the machine, put back, clean up.

use std::path::PathBuf;
use std::time::Duration;
use tare_engine::{EngineError, Reaped, reap_leftovers};
use tare_noise::{HostLock, Journal, NoiseError, System};
use thiserror::Error;

/// How long the last trial of a killed run may take to stop its server and to put things back.
const TRIAL_PATIENCE: Duration = Duration::from_secs(60);

/// Why the machine could not be taken.
#[derive(Debug, Error)]
pub enum StateError {
    /// Lock, journal or state directory.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// Servers of a run that was killed.
    #[error("cannot clean up after a killed run: {0}")]
    Leftovers(#[from] EngineError),
}

/// The machine, for this process alone.
#[derive(Debug)]
pub struct Host {
    _lock: HostLock,
    /// What a killed run had left behind.
    pub reaped: Vec<Reaped>,
    /// What was put back from the journal of a killed run.
    pub restored: tare_noise::RestoreReport,
}

/// Journal of settings and list of running servers.
///
/// # Errors
/// When there is no place for them.
pub fn directory() -> Result<PathBuf, StateError> {
    Ok(tare_noise::default_state_dir()?)
}

/// Prepared data directories: `TARE_CACHE_DIR`, or else the user's cache directory.
pub fn cache_directory() -> PathBuf {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    set("TARE_CACHE_DIR")
        .or_else(|| set("XDG_CACHE_HOME").map(|d| d.join("tare")))
        .or_else(|| set("HOME").map(|d| d.join(".cache/tare")))
        .unwrap_or_else(|| std::env::temp_dir().join(format!("tare-cache-{}", rustix::process::getuid().as_raw())))
}

/// Takes the machine: no other run may tune or measure it, and nothing of a killed run is left.
///
/// # Errors
/// When another run has it, or what a killed run left cannot be put back.
pub fn take_host() -> Result<Host, StateError> {
    let state = directory()?;
    let lock = HostLock::acquire(&HostLock::default_dir())?;
    lock.wait_for_trials(TRIAL_PATIENCE)?;
    let reaped = reap_leftovers(&state)?;
    let restored = tare_noise::recover(&System::of_environment(), &state, &lock)?;
    Ok(Host { _lock: lock, reaped, restored })
}

/// For whoever ended a trial that could not end itself: ends its server, removes its directories, puts its settings
/// back and proves it.
///
/// # Errors
/// When there is no place where servers and settings are listed, it cannot be read, or something cannot be put back.
pub fn reap() -> Result<Vec<Reaped>, StateError> {
    let state = directory()?;
    let reaped = reap_leftovers(&state)?;
    tare_noise::recover_trial(&System::of_environment(), &state, &HostLock::default_dir(), TRIAL_PATIENCE)?;
    Ok(reaped)
}

/// What a trial does before it begins: no setting of an earlier one may be left, of this user's or of root's.
///
/// # Errors
/// With each setting that is, and cannot be put back.
pub fn as_found() -> Result<(), StateError> {
    let (system, state) = (System::of_environment(), directory()?);
    if Journal::pending(&state) {
        let lock = HostLock::of_parent(&HostLock::default_dir())?;
        tare_noise::recover(&system, &state, &lock)?.check()?;
    }
    Ok(tare_noise::verify_as_found(&system, &state)?)
}

/// A fresh name for a private data directory, beside the cache so that copies can share blocks.
pub fn work_directory() -> PathBuf {
    cache_directory().join(format!("trial-{}", std::process::id()))
}

/// A fresh name for a server's socket directory: short, for a socket's path may have 107 bytes.
pub fn run_directory() -> PathBuf {
    let base = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|d| d.is_dir() && d.as_os_str().len() < 60)
        .unwrap_or_else(std::env::temp_dir);
    base.join(format!("tare-{}", std::process::id()))
}
