//! Where a part lies: below a folder that the user named, and reached through no link from there on.

use crate::error::ReadError;
use std::path::{Path, PathBuf};
use tare_files::{Folder, Trust};

/// A results directory that holds some blocks of a study.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    named: PathBuf,
    below: Vec<String>,
}

impl Place {
    pub fn named(path: &Path) -> Self {
        Self { named: path.to_owned(), below: Vec::new() }
    }

    pub fn sub(&self, name: &str) -> Self {
        let mut below = self.below.clone();
        below.push(name.to_owned());
        Self { below, ..self.clone() }
    }

    /// Its path, for messages.
    pub fn path(&self) -> PathBuf {
        self.below.iter().fold(self.named.clone(), |path, name| path.join(name))
    }

    /// Opens it, as data; none when there is nothing.
    ///
    /// # Errors
    /// When a link or a file stands in its way, and what the system says.
    pub fn open(&self) -> Result<Option<Folder>, ReadError> {
        let mut at = Folder::open(&self.named, Trust::Anyone)?;
        for name in &self.below {
            let Some(folder) = at else { return Ok(None) };
            at = folder.sub(name)?;
        }
        Ok(at)
    }

    /// Opens what must be there.
    pub fn folder(&self) -> Result<Folder, ReadError> {
        self.open()?.ok_or_else(|| ReadError::NotResults { path: self.path() })
    }
}
