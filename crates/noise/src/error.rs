//! Errors of this crate.

use std::io;
use std::path::PathBuf;
use tare_cpuset::ThreadRefused;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, NoiseError>;

/// An error of this crate. The message includes advice if there is any.
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
    /// The content of a file is not in the expected format.
    #[error("{path}: expected {expected}, found {found:?}")]
    Format { path: PathBuf, expected: &'static str, found: String },
    /// The system refused to start a thread for a measurement.
    #[error(transparent)]
    Thread(#[from] ThreadRefused),
    /// The two threads of a probe could not communicate.
    #[error("the probe's two threads cannot wake each other: {0}")]
    Probe(io::Error),
    /// No machine-wide setting has this name.
    #[error("unknown machine-wide setting {name:?}; expected one of: {known}")]
    UnknownSetting { name: String, known: String },
    /// The setting has no such level.
    #[error("{setting} has no level {level:?}; expected {expected}")]
    UnknownLevel { setting: &'static str, level: String, expected: &'static str },
    /// This machine does not support this level, or this user may not set it.
    #[error("{setting} cannot be set to {level}: {reason}")]
    NotAvailable { setting: &'static str, level: String, reason: String },
    /// The setting was written, or should have this value already, but reads back differently.
    #[error(
        "{setting} should be {expected}, but is {found}: another program, such as tuned, may set it too; stop that \
         program, or leave the setting out"
    )]
    NotVerified { setting: &'static str, expected: String, found: String },
    /// Another program changed the value between two writes of this session.
    #[error(
        "{path} was changed by another program: this session set it to {ours:?}, and it is now {found:?}; it is not \
         restored"
    )]
    ChangedMeanwhile { path: String, ours: String, found: String },
    /// A setting of an earlier trial is still in force, so nothing may be measured.
    #[error(
        "settings of this machine do not have their original values: {left}; restore them with `tare restore`, as the \
         user who ran it, and run again"
    )]
    NotAsFound { left: String },
    /// Another run of this tool uses the machine.
    #[error("this machine is in use by another run: {holder} holds {path}; wait for it, or stop it")]
    Locked { path: PathBuf, holder: String },
    /// A child found that its parent does not hold the host lock.
    #[error("the parent process {parent} does not hold the host lock {path} ({holder})")]
    NotParentsLock { path: PathBuf, parent: i32, holder: String },
    /// The lock file is not a file that this tool created.
    #[error("{path} is not a lock file of this tool: {what}; remove it")]
    BadLockFile { path: PathBuf, what: &'static str },
    /// A file or folder that must be trusted belongs to another user, is writable for others, or is a link.
    #[error(transparent)]
    Files(#[from] tare_files::FilesError),
    /// The journal has a newer version.
    #[error("the journal {path} is not usable: {why}")]
    BadJournal { path: PathBuf, why: String },
    /// The session was closed, for example on a signal; nothing more may be set.
    #[error("the session is closed: it changes no more settings")]
    Closed,
    /// There is no directory for the journal.
    #[error("no state directory: set TARE_STATE_DIR, XDG_STATE_HOME or HOME")]
    NoStateDir,
    /// The affinity of a thread of another user's server could not be set or read.
    #[error(transparent)]
    Affinity(#[from] tare_cpuset::AffinityError),
    /// A thread of another user's server could not be observed.
    #[error(transparent)]
    Observe(#[from] tare_cpuset::observe::ObserveError),
    /// The spinning thread could not be bound to its CPU.
    #[error("cannot measure CPU {cpu}: {source}")]
    Bind { cpu: u32, source: tare_cpuset::AffinityError },
}
