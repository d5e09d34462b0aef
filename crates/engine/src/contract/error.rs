//! Errors of a server, distinguished by what the user can do about them.

use crate::process::guard::interrupted;
use crate::transport::stream::lost_words;
use crate::{Address, Code, SqlError, SqlErrorKind, SqlState};
use rustix::io::Errno;
use std::error::Error;
use std::io;
use std::iter::successors;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use thiserror::Error as ThisError;

/// What the system refuses a server when a limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
pub enum Scarce {
    #[strum(to_string = "thread or process")]
    Task,
    #[strum(to_string = "file or socket")]
    File,
}

#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum EngineError {
    #[error("{engine}: {program} not found in {}; install it with: {install}", folders(.searched))]
    BinaryMissing { engine: &'static str, program: String, searched: Vec<PathBuf>, install: &'static str },
    #[error("{}: {reason}", path.display())]
    BinaryUnusable { path: PathBuf, reason: String },
    #[error("{engine} died during start ({status}); log {}:\n{}", log.display(), tail.join("\n"))]
    Died { engine: &'static str, status: String, log: PathBuf, tail: Vec<String> },
    #[error("{engine} got no {scarce} from the system during its start: {line}; log {}", log.display())]
    Refused { engine: &'static str, scarce: Scarce, line: String, log: PathBuf },
    /// The server runs but does not answer; it was killed.
    #[error(
        "{engine} not ready after {:.1} s: {reason} (a longer wait: engine.start_timeout_s); log {}:\n{}",
        waited.as_secs_f64(), log.display(), tail.join("\n")
    )]
    NotReady { engine: &'static str, waited: Duration, reason: String, log: PathBuf, tail: Vec<String> },
    /// An engine option is unknown, has a bad value, or is not in effect with the requested value.
    #[error("{engine}: option {option}: {reason}")]
    OptionRefused { engine: &'static str, option: String, reason: String },
    #[error("option file {}: {reason}", path.display())]
    OptionFile { path: PathBuf, reason: String },
    #[error("no space left on the file system of {}: {detail}", place.display())]
    DiskFull { place: PathBuf, detail: String },
    #[error(
        "data directory {} was created by version {found}, but the server is {expected}: use a server of that version, \
         or have the data made again (tare clean removes prepared data)", directory.display()
    )]
    OtherVersion { directory: PathBuf, found: String, expected: String },
    #[error("socket path {} has {length} bytes, at most {limit} are possible: use a shorter run directory", path.display())]
    SocketPathTooLong { path: PathBuf, length: usize, limit: usize },
    /// The directory of a server's sockets could not be made, or the server could not be registered: no server can be
    /// started, whatever its settings are.
    #[error(transparent)]
    NoPlace(Box<Self>),
    #[error("directory {}: {reason}", path.display())]
    Directory { path: PathBuf, reason: String },
    #[error(
        "cannot limit the server's memory with a control group: {0}; run as root or in a group that is delegated to you \
         (systemd-run --user --scope -p Delegate=yes), or leave out process.memory_limit_bytes and the memory policy"
    )]
    MemoryConfines(String),
    #[error("{setting}: requested {requested}, but the running server has {found}")]
    NotInEffect { setting: &'static str, requested: String, found: String },
    /// A login file of the user cannot be used. Never contains a value from it.
    #[error("{}: {reason}", path.display())]
    LoginFile { path: PathBuf, reason: String },
    /// No address is given, and none of the usual sockets exists.
    #[error("{engine}: no address of the server is given{}", none_of(.searched))]
    NoAddress {
        engine: &'static str,
        /// As [`crate::Engine::address_sources`].
        sources: Option<&'static str>,
        searched: Vec<PathBuf>,
    },
    #[error("no server listens at {address}: {reason}")]
    NoServer { address: String, reason: &'static str },
    /// The statements of an engine are not all known to a server of another kind.
    #[error("the server at {address} is {version}, not one of engine {engine}")]
    OtherProduct {
        engine: &'static str,
        /// The engine of such servers.
        its_own: &'static str,
        version: String,
        address: String,
    },
    #[error("cannot connect to {address}: {source}")]
    Connect { address: String, source: SqlError },
    #[error("{statement}: {source}")]
    Sql { statement: String, source: SqlError },
    #[error("cannot fill the data directory: {0}")]
    Fill(#[source] Box<dyn Error + Send + Sync>),
    #[error(
        "the server (process {pid}) cannot be stopped: sending it a signal failed: {source}; allow kill(2) in the \
         seccomp filter or security module of this container"
    )]
    Unstoppable { pid: u32, source: io::Error },
    #[error("interrupted")]
    Interrupted,
    #[error("cannot {what} {}: {source}", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
}

impl EngineError {
    /// The error for an `address` to which no connection could be opened.
    pub(crate) fn unreached(address: &Address, error: io::Error) -> Self {
        let is_refused_here = matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE));
        let reason = match (error.kind(), address) {
            (io::ErrorKind::NotFound, Address::Socket(_)) => "the socket does not exist",
            (io::ErrorKind::ConnectionRefused, Address::Socket(path)) if !is_socket(path) => "this is not a socket",
            (io::ErrorKind::ConnectionRefused, Address::Socket(_)) => {
                "the socket was left behind by a server that has ended"
            }
            (io::ErrorKind::NotFound, Address::Tcp(..)) => "no address is known for this name of a host",
            (io::ErrorKind::ConnectionRefused, Address::Tcp(..)) => "the connection was refused",
            _ if is_refused_here => return Self::io("connect to", Path::new(&address.to_string()), error),
            _ => {
                let source = SqlError::own(SqlErrorKind::Lost, lost_words(&error));
                return Self::Connect { address: address.to_string(), source };
            }
        };
        Self::NoServer { address: address.to_string(), reason }
    }

    /// Whether a disk reported an error of its own (EIO) when a file was read or written.
    pub fn is_disk_error(&self) -> bool {
        matches!(self, Self::Io { source, .. } if Errno::from_io_error(source) == Some(Errno::IO))
    }

    /// Whether no server answered.
    pub fn is_unreached(&self) -> bool {
        match self {
            Self::NoServer { .. } | Self::NoAddress { .. } => true,
            Self::Connect { source, .. } => source.kind == SqlErrorKind::Lost,
            _ => false,
        }
    }

    /// Whether the server was reached and refused the account or its password.
    pub fn is_login_refused(&self) -> bool {
        self.is_refused_with(&LOGIN_REFUSED, |state| state.class() == "28")
    }

    /// Whether the server was reached and has no database of this name.
    pub fn is_no_database(&self) -> bool {
        self.is_refused_with(&[NO_DATABASE], |state| state.as_str() == "3D000")
    }

    /// Whether the account exists but has no right to use the database.
    pub fn is_database_denied(&self) -> bool {
        matches!(self, Self::Connect { source, .. } if source.is_denied())
    }

    /// Whether the server, or the account, has as many connections as it may have.
    pub fn has_too_many_connections(&self) -> bool {
        self.is_refused_with(&TOO_MANY_CONNECTIONS, |state| state.as_str() == "53300")
    }

    /// Whether the system refused the server what it needs for its start, or a thread or process for a connection.
    pub fn is_refused_by_system(&self) -> bool {
        match self {
            Self::Refused { .. } => true,
            Self::Connect { source, .. } if source.kind == SqlErrorKind::NoProcess => true,
            _ => self.is_refused_with(&[NO_THREAD], |_| false),
        }
    }

    /// Whether a server refused the connection with one of these error numbers or a matching SQLSTATE.
    fn is_refused_with(&self, numbers: &[u32], is_state: impl Fn(&SqlState) -> bool) -> bool {
        let Self::Connect { source, .. } = self else { return false };
        match &source.code {
            Some(Code::Number(number)) => numbers.contains(number),
            Some(Code::State(state)) => is_state(state),
            None => false,
        }
    }

    pub(crate) fn unless_interrupted() -> Result<(), Self> {
        if interrupted() { Err(Self::Interrupted) } else { Ok(()) }
    }

    /// Wraps a failed file operation; a full disk and an exhausted quota become [`EngineError::DiskFull`].
    pub(crate) fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                Self::DiskFull { place: path.to_owned(), detail: format!("cannot {what}: {source}") }
            }
            _ => Self::Io { what, path: path.to_owned(), source },
        }
    }

    /// Wraps an error of a directory that every server needs; a full disk stays [`EngineError::DiskFull`].
    pub(crate) fn of_place(self) -> Self {
        match self {
            full @ Self::DiskFull { .. } => full,
            other => Self::NoPlace(Box::new(other)),
        }
    }

    /// Wraps an error of the caller's fill function for `data`; a server that ran out of space is
    /// [`EngineError::DiskFull`].
    pub(crate) fn fill(data: &Path, error: Box<dyn Error + Send + Sync>) -> Self {
        // The fill function may have wrapped the server's error in its own.
        let first: &(dyn Error + 'static) = error.as_ref();
        let full = successors(Some(first), |&cause| cause.source()).find_map(|this| match this.downcast_ref() {
            Some(Self::DiskFull { place, detail }) => Some((place.clone(), detail.clone())),
            _ => is_full(this).then(|| (data.to_owned(), this.to_string())),
        });
        full.map_or_else(|| Self::Fill(error), |(place, detail)| Self::DiskFull { place, detail })
    }
}

/// Whether the server, or the file system, says that there is no space left.
fn is_full(cause: &(dyn Error + 'static)) -> bool {
    let says = |error: &io::Error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    cause.downcast_ref::<SqlError>().is_some_and(|sql| sql.kind == SqlErrorKind::DiskFull)
        || cause.downcast_ref::<io::Error>().is_some_and(says)
}

/// MySQL's and MariaDB's error numbers: access denied (1045), access denied without a password (1698), account
/// blocked after too many failed logins (MySQL's 3955).
const LOGIN_REFUSED: [u32; 3] = [1045, 1698, 3955];

/// MySQL's and MariaDB's error number for an unknown database.
const NO_DATABASE: u32 = 1049;

/// The error number for a connection for which no thread could be created.
const NO_THREAD: u32 = 1135;

/// The error numbers for too many connections: of the server, of the account by a setting, of the account by a grant.
const TOO_MANY_CONNECTIONS: [u32; 3] = [1040, 1203, 1226];

fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

fn none_of(searched: &[PathBuf]) -> String {
    match searched {
        [] => String::new(),
        paths => format!(", and none of its usual sockets exists ({})", list(paths)),
    }
}

/// The searched folders. Those in PATH are summarised as "PATH", which the reader knows.
fn folders(searched: &[PathBuf]) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let (path, others): (Vec<_>, Vec<_>) = searched.iter().cloned().partition(|folder| in_path.contains(folder));
    match (path.len(), others.as_slice()) {
        (0 | 1, _) => list(searched),
        (_, []) => "the directories of PATH".to_owned(),
        (_, others) => format!("the directories of PATH, {}", list(others)),
    }
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_names_what_was_searched() {
        let path: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect();
        let missing =
            |searched| EngineError::BinaryMissing { engine: "e", program: "p".to_owned(), searched, install: "i" };
        let others = [PathBuf::from("/nowhere/bin")];
        assert!(path.len() > 1);
        let all = missing(path.iter().chain(&others).cloned().collect());
        assert_eq!(all.to_string(), "e: p not found in the directories of PATH, /nowhere/bin; install it with: i");
    }

    #[test]
    fn each_refusal_of_a_server_is_of_one_kind() {
        let state = |state: &str| SqlState::new(state.as_bytes()).map(Code::State);
        let kinds = |code| {
            let source = SqlError { kind: SqlErrorKind::Other, code, message: String::new() };
            let error = EngineError::Connect { address: "s".to_owned(), source };
            let full = error.has_too_many_connections();
            [error.is_login_refused(), error.is_no_database(), error.is_database_denied(), full]
        };
        for (numbers, states, kind) in [
            (&[1045, 1698, 3955][..], &["28P01", "28000"][..], [true, false, false, false]),
            (&[1049], &["3D000"], [false, true, false, false]),
            (&[1044], &["42501"], [false, false, true, false]),
            (&[1040, 1203, 1226], &["53300"], [false, false, false, true]),
            (&[1046], &["53200"], [false; 4]),
        ] {
            let codes = numbers.iter().map(|number| Some(Code::Number(*number)));
            assert!(codes.chain(states.iter().map(|text| state(text))).all(|code| kinds(code) == kind), "{states:?}");
        }
        assert_eq!(kinds(None), [false; 4]);
    }

    #[test]
    fn a_full_disk_is_reported_as_such_wherever_it_appears() {
        let data = Path::new("/data");
        let full = EngineError::io("write", data, io::Error::from_raw_os_error(libc::ENOSPC));
        assert!(matches!(full, EngineError::DiskFull { .. }), "{full}");
        let sql = |kind| SqlError::own(kind, "no");
        let wrapped = |kind| Box::new(EngineError::Sql { statement: "INSERT".to_owned(), source: sql(kind) });
        for full in [
            EngineError::fill(data, Box::new(sql(SqlErrorKind::DiskFull))),
            EngineError::fill(data, wrapped(SqlErrorKind::DiskFull)),
        ] {
            assert!(matches!(&full, EngineError::DiskFull { place, .. } if place == data), "{full}");
        }
        assert!(matches!(EngineError::fill(data, wrapped(SqlErrorKind::Other)), EngineError::Fill(_)));
    }
}
