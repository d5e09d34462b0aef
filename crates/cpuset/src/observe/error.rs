//! Errors of observing processes and threads.

/// Why a process or thread could not be observed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum ObserveError {
    /// It has ended, or never existed.
    #[error("{path} does not exist: the process or thread has ended")]
    Gone { path: String },
    /// It exists, but the file cannot be read or parsed.
    #[error("reading {path} failed: {reason}")]
    Unreadable { path: String, reason: String },
}

impl ObserveError {
    /// Converts a failure to read a file under /proc.
    pub fn of_io(path: &str, error: &std::io::Error) -> Self {
        // ESRCH: the thread ended between opening and reading.
        let gone = error.kind() == std::io::ErrorKind::NotFound
            || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error());
        if gone {
            Self::Gone { path: path.to_owned() }
        } else {
            Self::Unreadable { path: path.to_owned(), reason: error.to_string() }
        }
    }

    pub(super) fn format(path: &str, reason: impl std::fmt::Display) -> Self {
        Self::Unreadable { path: path.to_owned(), reason: reason.to_string() }
    }
}
