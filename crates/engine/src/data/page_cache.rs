//! The page cache that holds a server's files.

use crate::EngineError;
use rustix::fs::{Advice, fadvise};
use std::fs::{File, read_dir};
use std::path::Path;

/// Has the files below a directory leave the page cache. What this program's processes read is in their account: a
/// server whose own memory is limited would read it without ever having to fetch it.
pub(crate) fn leave_page_cache(directory: &Path) -> Result<(), EngineError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| EngineError::io("drop from the page cache", &path, source)
    };
    for entry in read_dir(directory).map_err(failed(directory))? {
        let entry = entry.map_err(failed(directory))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed(directory))?);
        if kind.is_dir() {
            leave_page_cache(&path)?;
        } else if kind.is_file() {
            let file = File::open(&path).map_err(failed(&path))?;
            // Only what is written can leave.
            file.sync_all().map_err(failed(&path))?;
            fadvise(&file, 0, None, Advice::DontNeed).map_err(|source| failed(&path)(source.into()))?;
        }
    }
    Ok(())
}
