//! Location of results: an open folder, or a folder below one, reached through its handle without following links.

use crate::error::ReadError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tare_files::{FilesError, Folder, Trust};

/// A results directory that stays the same even if its path is replaced.
#[derive(Debug, Clone)]
pub struct Place {
    open: Arc<Folder>,
    below: Vec<String>,
    /// Remaining memory for captures, bytes: a thousand records may name the same file.
    left: Arc<AtomicU64>,
}

/// Maximum memory of all captures of results, bytes.
const MOST: u64 = 4 << 30;

impl Place {
    pub fn of(open: Arc<Folder>) -> Self {
        Self { open, below: Vec::new(), left: Arc::new(AtomicU64::new(MOST)) }
    }

    pub(crate) fn sub(&self, name: &str) -> Self {
        let below = self.below.iter().cloned().chain([name.to_owned()]).collect();
        Self { below, open: self.open.clone(), left: self.left.clone() }
    }

    /// Calls `read` with a size limit such that the file, at `times` bytes of memory per byte, fits in the remaining
    /// memory.
    pub(crate) fn within<E>(
        &self,
        limit: u64,
        times: u64,
        read: impl FnOnce(u64) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Option<Vec<u8>>, E> {
        let found = read(limit.min(self.left.load(Ordering::Relaxed) / times))?;
        let bytes = times * found.as_ref().map_or(0, Vec::len) as u64;
        let _ = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(bytes)));
        Ok(found)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.below.iter().fold(self.open.path().to_owned(), |path, name| path.join(name))
    }

    /// Opens the directory; the returned handle holds a file descriptor.
    ///
    /// # Errors
    /// If it is gone, if a link or a file is in its place, and errors of the system.
    pub(crate) fn folder(&self) -> Result<Folder, ReadError> {
        self.below.iter().try_fold(self.open.again()?, |at, name| {
            at.sub(name)?.ok_or_else(|| ReadError::NotResults { path: self.path() })
        })
    }
}

/// Opens a results directory; none if the path is not a folder, because the same commands accept a CSV file.
pub fn folder(path: &Path, trust: Trust) -> Result<Option<Folder>, ReadError> {
    match Folder::open(path, trust) {
        Err(FilesError::WrongKind { .. }) => Ok(None),
        opened => Ok(opened?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_of_all_records_come_to_no_more_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::of(Arc::new(Folder::open(folder.path(), Trust::Anyone).unwrap().unwrap()));
        let read = |place: &Place, times: u64| {
            let found = place.within(64 << 20, times, |limit| Ok::<_, ()>(Some(vec![0; limit as usize])));
            found.unwrap().unwrap().len() as u64
        };
        let documents: u64 = (0..20).map(|part| read(&place.sub(&part.to_string()), 8)).sum();
        assert_eq!((documents, read(&place, 1)), (MOST / 8, 0));
    }
}
