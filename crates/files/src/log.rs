//! Files that several processes write: a log file that can be opened repeatedly, each time through the handle of its
//! folder, and waiting for locks.

use crate::error::{FilesError, Result};
use crate::folder::Folder;
use crate::owner::Trust;
use crate::whole::folder_of;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The log of a program, in an open folder. Renaming or replacing the folder has no effect on it.
#[derive(Debug, Clone)]
pub struct LogFile {
    folder: Arc<Folder>,
    name: String,
}

impl Folder {
    /// A log file in this folder.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn log(&self, name: &str) -> Result<LogFile> {
        Ok(LogFile::new(self.again()?, name))
    }
}

impl LogFile {
    pub(crate) fn new(folder: Folder, name: &str) -> Self {
        Self { folder: Arc::new(folder), name: name.to_owned() }
    }

    /// A log with a path that the user named. Opens its folder, which must exist.
    ///
    /// # Errors
    /// When the folder does not exist or cannot be opened, or the name is not valid UTF-8.
    pub fn at(path: &Path) -> Result<Self> {
        let no_name = || FilesError::io("open the log", path, rustix::io::Errno::INVAL);
        let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(no_name)?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let missing = || FilesError::io("open", above, rustix::io::Errno::NOENT);
        Ok(Self::new(Folder::open(above, Trust::Anyone)?.ok_or_else(missing)?, name))
    }

    /// Its path by name, for messages.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// Its path through the folder's handle, for a program that only accepts a path. Valid while this value lives.
    pub fn path_by_handle(&self) -> PathBuf {
        self.folder.path_by_handle(&self.name)
    }

    /// Opens it for appending and reading; creates it if missing. Links are not followed.
    ///
    /// # Errors
    /// As [`Folder::append`].
    pub fn append(&self) -> Result<File> {
        self.folder.append(&self.name)
    }

    /// Replaces it by a new empty file.
    ///
    /// # Errors
    /// As [`Folder::new_log`].
    pub fn begin(&self) -> Result<File> {
        self.folder.new_log(&self.name)
    }

    /// Opens it for reading; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Folder::file`].
    pub fn read(&self) -> Result<Option<File>> {
        self.folder.file(&self.name)
    }
}

/// Waits for the lock of an open file or folder, at most this long; false if another process still holds it. File
/// systems without locks refuse it to all: then true.
pub fn wait_for_lock(file: &File, longest: Duration) -> bool {
    let began = Instant::now();
    while matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        if began.elapsed() >= longest {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// Locks the folder of a file that the user named, for processes that read the file and then replace it: a lock of the
/// file itself would be that of the replaced one. `None` if another process holds the lock for longer. It is released
/// when the handle is dropped.
///
/// # Errors
/// The system's error, if the folder cannot be opened.
pub fn lock_folder_of(path: &Path, longest: Duration) -> Result<Option<File>> {
    let (folder, _) = folder_of(path)?;
    let folder = File::from(folder);
    Ok(wait_for_lock(&folder, longest).then_some(folder))
}
