//! Errors about a file or folder, with the path and advice.

use std::io;
use std::path::{Path, PathBuf};

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, FilesError>;

/// Why a file or folder was not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum FilesError {
    /// The system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    /// A symbolic link is in the place of a file or folder of this program.
    #[error("{} is a symbolic link, which is not followed here: remove it, or give its target", .0.display())]
    Link(PathBuf),
    /// The file has further hard links: writing to it would change a file that may belong to another user.
    #[error("{} has further hard links, which may belong to another user: replace it by a copy", .0.display())]
    Linked(PathBuf),
    /// Another kind of file has that name: a pipe, a device, a folder.
    #[error("{} is not a {expected}: give another path, or remove it if nothing needs it", path.display())]
    WrongKind { path: PathBuf, expected: &'static str },
    /// It belongs to another user: its content may be malicious.
    #[error(
        "{} belongs to user {owner}, and this process runs as user {me}: use a path of your own, or check its content \
         and remove it", path.display()
    )]
    Foreign { path: PathBuf, owner: u32, me: u32 },
    /// Others may write to it, so its content may come from them.
    #[error(
        "others may write to {} (mode {mode:04o}), so its content is not trusted: check it, remove it, or run chmod \
         go-w", path.display()
    )]
    Open { path: PathBuf, mode: u32 },
    /// A path that leads out of the folder it should be in.
    #[error("{} is not inside {}", path.display(), folder.display())]
    Outside { path: PathBuf, folder: PathBuf },
    /// It is larger than the limit for reading into memory.
    #[error("{} is larger than {limit} bytes, the most that is read", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    /// A folder has more names than are read.
    #[error("{} has more than {limit} files, the most that are read", path.display())]
    TooMany { path: PathBuf, limit: usize },
}

impl FilesError {
    /// An error of the system. ELOOP becomes [`FilesError::Link`]: that is its meaning with O_NOFOLLOW.
    pub(crate) fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            return Self::Link(path.to_owned());
        }
        Self::Io { doing, path: path.to_owned(), source }
    }

    /// The kind of the system's error, if there is one.
    pub fn source_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether other users own it, or may have changed it.
    pub fn is_of_others(&self) -> bool {
        matches!(self, Self::Foreign { .. } | Self::Open { .. })
    }

    /// The file or folder of the error.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::Link(path)
            | Self::Linked(path)
            | Self::WrongKind { path, .. }
            | Self::Foreign { path, .. }
            | Self::Open { path, .. }
            | Self::Outside { path, .. }
            | Self::TooLarge { path, .. }
            | Self::TooMany { path, .. } => path,
        }
    }
}

/// For callers whose own error names the file: the system's error, or else this one.
impl From<FilesError> for io::Error {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::Io { source, .. } => source,
            other => Self::other(other),
        }
    }
}
