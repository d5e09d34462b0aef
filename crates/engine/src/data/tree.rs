//! The files of a directory, with the metadata that shows whether one was changed since the last look; a note of that
//! metadata, and when the note is valid.

use super::directories::not_private;
use crate::EngineError;
use crate::process::leftovers::boot_id;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;
use tare_files::{PrivateFolder, crash};

/// Metadata of a file. Every change of a file updates `changed`, even if the modification time is reset afterwards.
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

/// Files and folders below a directory, by relative path.
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
            let found = entry.metadata().map_err(|source| EngineError::io("access", &entry.path(), source))?;
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

    pub(super) fn bytes(&self) -> u64 {
        self.files.values().map(|stamp| stamp.bytes).sum()
    }
}

pub(super) fn key(path: &Path) -> String {
    path.as_os_str().as_bytes().escape_ascii().to_string()
}

const NOTE: &str = "EQUAL";
/// Limit on the size of this file, bytes: about two hundred per listed file.
const LARGEST: u64 = 256 << 20;
/// File systems that record every write with a change time in nanoseconds: their magic numbers (statfs(2)).
const KEEP_TIMES: [i64; 6] = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x2FC1_2FC1, 0xCA45_1A4E];
/// How often, and with which pause, to check whether the clock of the file system has advanced.
const ASK: (usize, Duration) = (50, Duration::from_millis(4));

/// Each file's stamp in the prepared directory and in the copy, from a time when the two were equal.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Note {
    /// A note from before a crash of the machine is invalid: it is unknown which writes reached the disk.
    boot_id: String,
    prepared: PathBuf,
    files: BTreeMap<String, (Stamp, Stamp)>,
}

impl Note {
    /// Reads the note; none if there is no valid one: then every file is compared.
    pub(super) fn read(folder: &PrivateFolder, prepared: &Path) -> Option<Self> {
        let note: Self = serde_json::from_slice(&folder.read(NOTE, LARGEST).ok()??).ok()?;
        (note.boot_id == boot_id() && note.prepared == prepared).then_some(note)
    }

    /// Whether neither of the two files has changed since.
    pub(super) fn holds(&self, path: &Path, original: Stamp, copy: Stamp) -> bool {
        self.files.get(&key(path)) == Some(&(original, copy))
    }

    pub(super) fn remove(folder: &PrivateFolder) -> Result<(), EngineError> {
        folder.remove(NOTE).map_err(not_private)
    }

    /// Records that the two are equal now. Returns when a file that changes from now on gets a later time than those
    /// recorded; if the clock does not advance, nothing is recorded.
    pub(super) fn write(
        folder: &PrivateFolder,
        prepared: &Path,
        original: &Tree,
        copy: &Tree,
    ) -> Result<(), EngineError> {
        let both = |(path, stamp): (&PathBuf, &Stamp)| Some((key(path), (*stamp, *copy.files.get(path)?)));
        let files: BTreeMap<_, _> = original.files.iter().filter_map(both).collect();
        let last = copy.files.values().map(|stamp| stamp.changed).max().unwrap_or_default();
        let note = Self { boot_id: boot_id(), prepared: prepared.to_owned(), files };
        let path = folder.path().join(NOTE);
        let text =
            serde_json::to_vec(&note).map_err(|source| EngineError::io("write the note", &path, source.into()))?;
        for time in 0..ASK.0 {
            let write = || folder.write(NOTE, &text).map_err(not_private);
            if time == 0 { write() } else { crash::uncounted(write) }?;
            let found = fs::metadata(&path).map_err(|source| EngineError::io("access", &path, source))?;
            if Stamp::of(&found).changed > last {
                return Ok(());
            }
            sleep(ASK.1);
        }
        Self::remove(folder)
    }
}

/// Whether this file system updates the stamp of a file with every change, provided the stamp has nanoseconds.
pub(crate) fn keeps_times(on: &File) -> bool {
    rustix::fs::fstatfs(on).is_ok_and(|found| KEEP_TIMES.contains(&found.f_type))
}

/// Whether the file system of a folder reveals every change of a file; otherwise all files are compared.
pub(super) fn detects_changes(folder: &Path, tree: &Tree) -> bool {
    let known = File::open(folder).is_ok_and(|folder| keeps_times(&folder));
    // Inodes of old file systems keep whole seconds.
    known && tree.files.values().any(|stamp| stamp.changed.1 != 0)
}
