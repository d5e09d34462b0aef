//! The files of a directory, with what tells that one was changed since it was last looked at.

use crate::EngineError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a file system says of a file. Anyone who changes a file changes its `changed`, also when the time of last
/// modification is set back afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    inode: u64,
    pub bytes: u64,
    /// Seconds and nanoseconds of the last modification of its content.
    modified: (i64, i64),
    /// Seconds and nanoseconds of the last change of content or inode.
    pub changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(found: &Metadata) -> Self {
        Self {
            inode: found.ino(),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// Files and folders below a directory, by their path from there.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub files: BTreeMap<PathBuf, Stamp>,
    pub folders: BTreeSet<PathBuf>,
    /// Sockets, links and the like: no part of a stopped server's data.
    pub others: Vec<PathBuf>,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self, EngineError> {
        let mut tree = Self::default();
        tree.add(root, Path::new(""))?;
        Ok(tree)
    }

    fn add(&mut self, root: &Path, below: &Path) -> Result<(), EngineError> {
        let folder = root.join(below);
        let failed = |source| EngineError::io("list the data directory", &folder, source);
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = below.join(entry.file_name());
            let found = entry.metadata().map_err(|source| EngineError::io("look at", &entry.path(), source))?;
            if found.is_dir() {
                self.add(root, &path)?;
                self.folders.insert(path);
            } else if found.is_file() {
                self.files.insert(path, Stamp::of(&found));
            } else {
                self.others.push(path);
            }
        }
        Ok(())
    }

    /// Bytes of all files, holes included.
    pub(super) fn bytes(&self) -> u64 {
        self.files.values().map(|stamp| stamp.bytes).sum()
    }
}

pub(super) fn key(path: &Path) -> String {
    path.as_os_str().as_bytes().escape_ascii().to_string()
}
