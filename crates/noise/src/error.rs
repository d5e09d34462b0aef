//! What can go wrong: what happened, where, and what was expected.

use std::io;
use std::path::PathBuf;
use tare_cpuset::ThreadRefused;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, NoiseError>;

/// An error of this crate. Every message says what to do where something can be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum NoiseError {
    /// A file could not be read.
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    /// A file could not be written, created, synced, renamed or removed.
    #[error("cannot {action} {path}: {source}")]
    Write { action: &'static str, path: PathBuf, source: io::Error },
    /// A file does not hold what its format promises.
    #[error("{path}: expected {expected}, found {found:?}")]
    Format { path: PathBuf, expected: &'static str, found: String },
    /// The system started no thread for what is measured.
    #[error(transparent)]
    Thread(#[from] ThreadRefused),
    /// Two threads of a probe could not wake each other.
    #[error("the probe's two threads cannot wake each other: {0}")]
    Probe(io::Error),
    /// No machine-wide setting has this name.
    #[error("unknown machine-wide setting {name:?}; expected one of: {known}")]
    UnknownSetting { name: String, known: String },
    /// The setting has no such level.
    #[error("{setting} has no level {level:?}; expected {expected}")]
    UnknownLevel { setting: &'static str, level: String, expected: &'static str },
    /// This machine or this user cannot have this level.
    #[error("{setting} cannot be set to {level}: {reason}")]
    NotAvailable { setting: &'static str, level: String, reason: String },
    /// The setting was written, or should have been so already, and reads otherwise.
    #[error("{setting} should be {expected}, but is {found}")]
    NotVerified { setting: &'static str, expected: String, found: String },
    /// Between two writes of ours the value became one that we never wrote.
    #[error(
        "{path} was changed by another program: this session set it to {ours:?}, and it is now {found:?}; it is not \
         restored"
    )]
    ChangedMeanwhile { path: String, ours: String, found: String },
    /// A setting of an earlier trial is still on the machine, so nothing may be measured.
    #[error(
        "settings of this machine do not have their original values: {left}; restore them with `tare restore`, as the \
         user who ran it, and run again"
    )]
    NotAsFound { left: String },
    /// Another run of this tool has the machine.
    #[error("this machine is in use by another run: {holder} holds {path}; wait for it, or stop it")]
    Locked { path: PathBuf, holder: String },
    /// A child found that its parent does not hold the host lock.
    #[error("the parent process {parent} does not hold the host lock {path} ({holder})")]
    NotParentsLock { path: PathBuf, parent: i32, holder: String },
    /// The lock file is not what this tool creates.
    #[error("{path} is not a lock file of this tool: {what}; remove it")]
    BadLockFile { path: PathBuf, what: &'static str },
    /// A file or folder that would be believed belongs to someone else, is open to others, or is a link.
    #[error(transparent)]
    Files(#[from] tare_files::FilesError),
    /// The journal is of a newer version.
    #[error("the journal {path} is not usable: {why}")]
    BadJournal { path: PathBuf, why: String },
    /// The session was closed, as on a signal; nothing more may be set.
    #[error("the session is closed: it changes no more settings")]
    Closed,
    /// There is no directory for the journal.
    #[error("no state directory: set TARE_STATE_DIR, XDG_STATE_HOME or HOME")]
    NoStateDir,
    /// A thread of someone else's server could not be bound, or looked at.
    #[error(transparent)]
    Affinity(#[from] tare_cpuset::AffinityError),
    /// A thread of someone else's server could not be looked at.
    #[error(transparent)]
    Observe(#[from] tare_cpuset::observe::ObserveError),
    /// The spinning thread could not be bound to its CPU.
    #[error("cannot measure CPU {cpu}: {source}")]
    Bind { cpu: u32, source: tare_cpuset::AffinityError },
}
