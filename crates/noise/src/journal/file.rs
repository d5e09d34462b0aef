//! The journal's file: appended to and synced before each change, rewritten completely after a restore.

use super::entry::VERSION;
use crate::error::{NoiseError, Result};
use crate::state_dir::ROOT_STATE_DIR;
use crate::system::System;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tare_files::{Access, PrivateFolder, crash};

/// Name of the journal of settings in the state directory.
const FILE: &str = "journal.jsonl";
/// Name of the journal of affinities, which is separate because it may be written at the same time as that of settings.
const AFFINITIES: &str = "affinities.jsonl";
/// Size limit for reading, bytes: some thousand times the size for all settings of a large machine.
const LARGEST: u64 = 64 << 20;

/// The journal of a state directory: one JSON line for each file that will be changed, with its original text.
///
/// A line is appended and synced (the file, and the folder if the file is new) **before** the change that it records. A
/// line that was torn by a kill or a power failure therefore records a change that never happened, and can be ignored.
/// The file is removed when nothing is left to restore.
#[derive(Debug, Clone)]
pub struct Journal {
    folder: PathBuf,
    name: &'static str,
}

impl Journal {
    /// The journal in `state_dir`, which need not exist yet.
    pub(crate) fn new(state_dir: &Path) -> Self {
        Self { folder: state_dir.to_owned(), name: FILE }
    }

    /// The journal of affinities of other programs' threads, in the same directory.
    pub(crate) fn of_affinities(state_dir: &Path) -> Self {
        Self { folder: state_dir.to_owned(), name: AFFINITIES }
    }

    /// Whether `state_dir` contains a journal of settings or affinities that is not empty. This only needs permission
    /// to search the folder, so an ordinary user can see that settings of root (`/var/lib/tare`) are left to
    /// restore.
    pub fn pending(state_dir: &Path) -> bool {
        [FILE, AFFINITIES].into_iter().any(|name| fs::symlink_metadata(state_dir.join(name)).is_ok_and(|m| m.len() > 0))
    }

    /// Whether this journal's file exists, even without entries: a kill right after its creation leaves an empty one.
    pub(crate) fn exists(&self) -> bool {
        fs::symlink_metadata(self.path()).is_ok()
    }

    /// Entries in the order of writing, and the number of lines that could not be read.
    ///
    /// # Errors
    /// [`NoiseError::Files`] when the file or its folder belongs to another user or others may write to it;
    /// [`NoiseError::BadJournal`] when a line has a newer version, which this version cannot interpret.
    pub(crate) fn load<E: DeserializeOwned>(&self) -> Result<(Vec<E>, usize)> {
        let folder = PrivateFolder::open(&self.folder, self.access())?;
        let bytes = folder.map(|folder| folder.read(self.name, LARGEST)).transpose()?.flatten();
        self.parse(&bytes.unwrap_or_default())
    }

    fn parse<E: DeserializeOwned>(&self, bytes: &[u8]) -> Result<(Vec<E>, usize)> {
        let (mut entries, mut torn) = (Vec::new(), 0);
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            // The version is checked first, because a newer line may have other fields.
            let version = serde_json::from_slice::<serde_json::Value>(line).ok().and_then(|v| v.get("v")?.as_u64());
            if version.is_some_and(|v| v > u64::from(VERSION)) {
                return Err(self.bad("it was written by a newer version of this tool; restore with that one"));
            }
            match serde_json::from_slice::<E>(line) {
                Ok(entry) => entries.push(entry),
                Err(_) => torn += 1,
            }
        }
        Ok((entries, torn))
    }

    /// Appends entries and returns when they are on the disk.
    ///
    /// # Errors
    /// The errors of creating, writing and syncing. Nothing may be changed on the machine then.
    pub(crate) fn append<E: Serialize>(&self, entries: &[E]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let folder = PrivateFolder::open_or_create(&self.folder, self.access())?;
        let mut file = folder.append(self.name)?;
        let is_new = file.metadata().map_or(true, |meta| meta.len() == 0);
        // Begins with a newline, so that a line that was torn by an earlier failed write does not merge with ours.
        let mut text = b"\n".to_vec();
        text.extend(self.lines(entries)?);
        crash::point("journal: before entries");
        file.write_all(&text).map_err(|source| self.failed("write", source))?;
        crash::point("journal: entries written, not synced");
        file.sync_all().map_err(|source| self.failed("sync", source))?;
        if is_new {
            crash::point("journal: new, its folder not synced");
            folder.sync()?;
        }
        crash::point("journal: entries synced");
        Ok(())
    }

    /// Replaces all entries atomically; removes the file if there are none.
    ///
    /// # Errors
    /// The errors of writing, syncing and renaming. The old entries are kept then.
    pub(crate) fn replace<E: Serialize>(&self, entries: &[E]) -> Result<()> {
        let Some(folder) = PrivateFolder::open(&self.folder, self.access())? else { return Ok(()) };
        if entries.is_empty() {
            folder.remove(self.name)?;
            return Ok(folder.sync()?);
        }
        Ok(folder.write(self.name, &self.lines(entries)?)?)
    }

    fn lines<E: Serialize>(&self, entries: &[E]) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut text, entry).map_err(|e| self.failed("write", e.into()))?;
            text.push(b'\n');
        }
        Ok(text)
    }

    /// Root's folder lets other users test whether a journal exists.
    fn access(&self) -> Access {
        if self.folder == Path::new(ROOT_STATE_DIR) { Access::Searchable } else { Access::Closed }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(self.name)
    }

    fn failed(&self, action: &'static str, source: io::Error) -> NoiseError {
        NoiseError::Write { action, path: self.path(), source }
    }

    fn bad(&self, why: &str) -> NoiseError {
        NoiseError::BadJournal { path: self.path(), why: why.to_owned() }
    }
}

/// The id of the running boot; "unknown" on a system without one, which then counts as one boot.
pub fn boot_id(system: &System) -> String {
    system
        .read_optional("/proc/sys/kernel/random/boot_id")
        .map_or_else(|| "unknown".to_owned(), |t| t.trim().to_owned())
}
