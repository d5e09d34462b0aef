//! Why a server process cannot serve, as a line of its log, which the process that started it reads.

use super::pragmas::{NAME, NotSet, Refused};
use crate::EngineError;
use rusqlite::ErrorCode;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::error::Error;
use std::io::{self, ErrorKind};
use std::path::Path;
use tare_cpuset::ThreadRefused;
use tare_files::check_room;

const MARK: &str = "cannot serve: ";
/// Bytes by which SQLite extends the file that it maps next to its log.
const SMALLEST: u64 = 32 * 1024;

/// Failures about which the process that started the server can do something.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Failure {
    OptionRefused {
        option: String,
        reason: String,
    },
    DiskFull(String),
    NotADatabase(String),
    /// The system's number of the error with which it refused a file, thread or process.
    Limit(i32),
}

impl Failure {
    /// The failure for an error of the server of `data`, if it is one of these.
    pub(super) fn of(error: &(dyn Error + 'static), data: &Path) -> Option<Self> {
        let not_set = error.downcast_ref::<NotSet>();
        let refused = match not_set {
            Some(NotSet::Refused(refused)) => Some(refused),
            _ => error.downcast_ref(),
        };
        if let Some(Refused { option, reason }) = refused {
            return Some(Self::OptionRefused { option: option.clone(), reason: reason.clone() });
        }
        let sqlite = match not_set {
            Some(NotSet::Files(error)) => Some(error),
            _ => error.downcast_ref::<rusqlite::Error>(),
        };
        let io = error.downcast_ref::<io::Error>();
        // Not every error of this number: a client's stream that times out has it too.
        let no_thread = error.downcast_ref::<ThreadRefused>().and_then(Error::source).and_then(|e| e.downcast_ref());
        let no_file = io.filter(|io| matches!(Errno::from_io_error(io), Some(Errno::MFILE | Errno::NFILE)));
        if let Some(number) = no_thread.or(no_file).and_then(io::Error::raw_os_error) {
            return Some(Self::Limit(number));
        }
        match (sqlite.and_then(rusqlite::Error::sqlite_error_code), io.map(io::Error::kind)) {
            // SQLite does not say that the file next to its log, which it maps, cannot become longer.
            (Some(ErrorCode::SystemIoFailure), _) => {
                let full = check_room(data, "a server's smallest file", SMALLEST).err()?;
                Some(Self::DiskFull(format!("{error}; {}", full.detail())))
            }
            (Some(ErrorCode::DiskFull), _) | (_, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)) => {
                Some(Self::DiskFull(error.to_string()))
            }
            (Some(ErrorCode::NotADatabase), _) => Some(Self::NotADatabase(error.to_string())),
            _ => None,
        }
    }

    /// The log line that [`Failure::in_log`] reads.
    pub(super) fn line(&self) -> String {
        // Serialising these names and texts to JSON cannot fail.
        format!("{MARK}{}", serde_json::to_string(self).unwrap_or_default())
    }

    pub(super) fn in_log(log: &str) -> Option<Self> {
        log.lines().find_map(|line| serde_json::from_str(line.strip_prefix(MARK)?).ok())
    }

    /// The error for the process that started the server; `data` is the server's data directory.
    pub(super) fn into_error(self, data: &Path) -> EngineError {
        match self {
            Self::OptionRefused { option, reason } => EngineError::OptionRefused { engine: NAME, option, reason },
            Self::DiskFull(detail) => EngineError::DiskFull { place: data.to_owned(), detail },
            Self::NotADatabase(reason) => EngineError::Directory { path: data.to_owned(), reason },
            Self::Limit(number) => EngineError::io("serve", data, io::Error::from_raw_os_error(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn what_kept_a_server_from_serving_is_read_back_from_its_log() {
        let sqlite = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let refused = Refused { option: "page_size".to_owned(), reason: "no: \"such\"\nvalue".to_owned() };
        let errors: [(Box<dyn Error>, &str); 5] = [
            (refused.into(), "option page_size: no: \"such\"\nvalue"),
            (sqlite(ffi::SQLITE_FULL).into(), "no space left"),
            (io::Error::from_raw_os_error(libc::ENOSPC).into(), "no space left"),
            (sqlite(ffi::SQLITE_NOTADB).into(), "directory /data: "),
            (ThreadRefused::from(io::Error::from_raw_os_error(libc::EAGAIN)).into(), "cannot serve /data: "),
        ];
        for (error, words) in errors {
            let failure = Failure::of(error.as_ref(), Path::new("/data")).unwrap();
            let log = format!("ready\n{}\n{error}\n", failure.line());
            let read = Failure::in_log(&log).unwrap();
            assert_eq!(read, failure);
            let message = read.into_error(Path::new("/data")).to_string();
            assert!(message.contains(words), "{message}");
        }
        for code in [ffi::SQLITE_BUSY, ffi::SQLITE_IOERR] {
            assert_eq!(Failure::of(&sqlite(code), Path::new("/")), None);
        }
        assert_eq!(Failure::in_log("cannot serve: what\nno space left on device"), None);
    }
}
