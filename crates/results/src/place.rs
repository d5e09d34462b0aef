//! Where results lie: in a folder that is open, or below one, reached by its handle and through no link.

use crate::error::ReadError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tare_files::{FilesError, Folder, Trust};

/// A results directory, found again whatever its name leads to meanwhile.
#[derive(Debug, Clone)]
pub struct Place {
    open: Arc<Folder>,
    below: Vec<String>,
    /// Bytes that captures may still come to in memory: a thousand records may name one file.
    left: Arc<AtomicU64>,
}

/// What captures of results come to in memory, together.
const MOST: u64 = 4 << 30;

impl Place {
    pub fn of(open: Arc<Folder>) -> Self {
        Self { open, below: Vec::new(), left: Arc::new(AtomicU64::new(MOST)) }
    }

    pub(crate) fn sub(&self, name: &str) -> Self {
        let below = self.below.iter().cloned().chain([name.to_owned()]).collect();
        Self { below, open: self.open.clone(), left: self.left.clone() }
    }

    /// Has `read` a file of at most so many bytes, each of which comes to `times` as many in memory.
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

    /// It, open: a descriptor is taken as long as what is returned lives.
    ///
    /// # Errors
    /// When it is gone, a link or a file stands in its way, and what the system says.
    pub(crate) fn folder(&self) -> Result<Folder, ReadError> {
        self.below.iter().try_fold(self.open.again()?, |at, name| {
            at.sub(name)?.ok_or_else(|| ReadError::NotResults { path: self.path() })
        })
    }
}

/// Opens the folder of results; none where there is none, as a CSV file is named by the same commands.
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
