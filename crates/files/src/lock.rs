//! Waiting for locks of files that several processes write.

use crate::error::Result;
use crate::whole::folder_of;
use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

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
