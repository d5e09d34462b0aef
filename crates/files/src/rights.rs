//! Who may do what with a new file or folder: decided here alone.

use crate::error::{FilesError, Result};
use crate::owner::OTHERS_WRITE;
use rustix::fs::Mode;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// Permission bits of a folder that is not its owner's alone.
const OTHERS_ENTER: u32 = 0o077;

/// Permissions of a new folder and of the files in it, before the umask takes more away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rights {
    pub folder: Mode,
    pub file: Mode,
}

impl Rights {
    /// For the owner alone.
    pub const PRIVATE: Self = Self { folder: Mode::from_raw_mode(0o700), file: Mode::from_raw_mode(0o600) };
    /// For others to read.
    pub const SHOWN: Self = Self { folder: Mode::from_raw_mode(0o755), file: Mode::from_raw_mode(0o644) };

    /// Of a new folder of results. Root's logs and captures show what others may not see: root says itself who may.
    pub fn of_results() -> Self {
        if rustix::process::geteuid().is_root() { Self::PRIVATE } else { Self::SHOWN }
    }

    /// Whether no one but its owner gets at what is there; what cannot be looked at is no one's.
    pub fn are_of_owner_alone(path: &Path) -> bool {
        rustix::fs::stat(path).is_ok_and(|stat| stat.st_mode & OTHERS_ENTER == 0)
    }

    /// Of what is made in a folder: private where that is.
    pub fn inside(folder: BorrowedFd<'_>, path: &Path) -> Result<Self> {
        let stat = rustix::fs::fstat(folder).map_err(|e| FilesError::io("look at the folder of", path, e))?;
        Ok(if stat.st_mode & OTHERS_ENTER == 0 { Self::PRIVATE } else { Self::SHOWN })
    }
}

/// From here on nothing that this process or its children make can be written to by others, whatever umask it was
/// started with.
pub fn close_to_others() {
    let closed = Mode::from_raw_mode(OTHERS_WRITE);
    let found = rustix::process::umask(closed);
    rustix::process::umask(found | closed);
}
