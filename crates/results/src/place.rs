//! Where results lie: in a folder that is open, or below one, reached by its handle and through no link.

use crate::error::ReadError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tare_files::{FilesError, Folder, Trust};

/// A results directory, found again whatever its name leads to meanwhile.
#[derive(Debug, Clone)]
pub struct Place {
    open: Arc<Folder>,
    below: Vec<String>,
}

impl Place {
    pub fn of(open: Arc<Folder>) -> Self {
        Self { open, below: Vec::new() }
    }

    pub(crate) fn sub(&self, name: &str) -> Self {
        let below = self.below.iter().cloned().chain([name.to_owned()]).collect();
        Self { below, open: self.open.clone() }
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
///
/// # Errors
/// As [`Folder::open`].
pub fn folder(path: &Path, trust: Trust) -> Result<Option<Folder>, ReadError> {
    match Folder::open(path, trust) {
        Err(FilesError::WrongKind { .. }) => Ok(None),
        opened => Ok(opened?),
    }
}
