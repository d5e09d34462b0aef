//! What can be wrong with a file or a folder, where, and what to do now.

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
    /// A link stands where a file or folder of ours belongs.
    #[error("{} is a symbolic link, which is not followed here: remove it, or give its target", .0.display())]
    Link(PathBuf),
    /// What is written to it would be written to another file of who knows whom.
    #[error("{} has further hard links, which may belong to another user: replace it by a copy", .0.display())]
    Linked(PathBuf),
    /// Something else has that name: a pipe, a device, a folder.
    #[error("{} is not a {expected}: remove it, or give another path", path.display())]
    WrongKind { path: PathBuf, expected: &'static str },
    /// Someone else's: what it holds may be chosen to harm.
    #[error(
        "{} belongs to user {owner}, and this process runs as user {me}: use a path of your own, or check its content \
         and remove it", path.display()
    )]
    Foreign { path: PathBuf, owner: u32, me: u32 },
    /// Others may write to it, so what it holds may be theirs.
    #[error(
        "others may write to {} (mode {mode:04o}), so its content is not trusted: check it, remove it, or run chmod \
         go-w", path.display()
    )]
    Open { path: PathBuf, mode: u32 },
    /// A name that leads out of the folder that it was given for.
    #[error("{} is not inside {}", path.display(), folder.display())]
    Outside { path: PathBuf, folder: PathBuf },
    /// It holds more than is read into memory.
    #[error("{} is larger than {limit} bytes, the most that is read", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
}

impl FilesError {
    /// An error of the system, with a link told apart: that is what ELOOP means after O_NOFOLLOW.
    pub(crate) fn io(doing: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        if source.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            return Self::Link(path.to_owned());
        }
        Self::Io { doing, path: path.to_owned(), source }
    }

    /// The system's reason, where there is one.
    pub fn source_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether others have, or may have had, a hand in it.
    pub fn is_of_others(&self) -> bool {
        matches!(self, Self::Foreign { .. } | Self::Open { .. })
    }

    /// The file or folder it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::Link(path)
            | Self::Linked(path)
            | Self::WrongKind { path, .. }
            | Self::Foreign { path, .. }
            | Self::Open { path, .. }
            | Self::Outside { path, .. }
            | Self::TooLarge { path, .. } => path,
        }
    }
}

/// For callers whose own error names the file: the system's reason, or ours in its place.
impl From<FilesError> for io::Error {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::Io { source, .. } => source,
            other => Self::other(other),
        }
    }
}
