//! The journal's file, appended to and synced before each change and rewritten completely after a restore, and its
//! lines: the original value, and how to undo the change.

use crate::error::{NoiseError, Result};
use crate::state_dir::ROOT_STATE_DIR;
use crate::system::System;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tare_cpuset::CpuSet;
use tare_files::{Access, PrivateFolder, crash};

/// How the text of a settings file represents its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// The text itself.
    Plain,
    /// A list of choices with the current one in brackets: `always [madvise] never`. Written as the plain word.
    Choice,
    /// A list of CPUs, which the kernel may print in another form than it was written.
    CpuList,
}

impl Format {
    /// The value of the file's text `raw`, in a normalized form for comparison.
    pub(crate) fn value(self, raw: &str) -> String {
        let text = raw.trim();
        match self {
            Self::Plain => text.to_owned(),
            Self::Choice => {
                text.split_whitespace().find_map(|w| w.strip_prefix('[')?.strip_suffix(']')).unwrap_or(text).to_owned()
            }
            Self::CpuList => text.parse::<CpuSet>().map_or_else(|_| text.to_owned(), |list| list.to_string()),
        }
    }

    /// The text to write to restore `raw`: the same bytes, or the chosen word.
    pub(crate) fn written(self, raw: &str) -> String {
        match self {
            Self::Plain | Self::CpuList => raw.to_owned(),
            Self::Choice => self.value(raw),
        }
    }
}

/// Version of the journal's lines; a newer version is an error for the reader.
pub(crate) const VERSION: u32 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Undo {
    /// A file whose value changes.
    File {
        path: String,
        format: Format,
        /// The file's whole text before the first write.
        original: String,
        /// The value that is about to be written. `None` if the kernel changes this file as a result of writing another
        /// one (SMT takes CPUs offline), so that any value may result from our change.
        wrote: Option<String>,
    },
    /// A control group that will be created.
    Cgroup { path: String },
    /// A controller that will be enabled in a `cgroup.subtree_control`.
    Controller { path: String, name: String },
}

impl Undo {
    /// The file or folder that changes.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::File { path, .. } | Self::Cgroup { path } | Self::Controller { path, .. } => path,
        }
    }
}

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// The [`VERSION`] of its format.
    pub v: u32,
    /// The boot in which it was written: another boot has its own defaults.
    pub boot: String,
    /// Name of the setting.
    pub setting: String,
    pub undo: Undo,
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_parsed_together_with_the_text_that_restores_them() {
        let thp = "always [madvise] never\n";
        assert_eq!((Format::Choice.value(thp), Format::Choice.written(thp)), ("madvise".into(), "madvise".into()));
        assert_eq!(Format::Choice.value("never"), "never", "a kernel without brackets");
        assert_eq!((Format::Plain.value("60\n"), Format::Plain.written("60\n")), ("60".into(), "60\n".into()));
        assert_eq!(Format::CpuList.value("0,1,2\n"), "0-2");
        assert_eq!(Format::CpuList.value("?"), "?");
    }

    proptest! {
        #[test]
        fn any_text_has_a_value(raw in "[\\[\\] a-z0-9,-]{0,30}") {
            for format in [Format::Plain, Format::Choice, Format::CpuList] {
                format.value(&raw);
                format.written(&raw);
            }
        }
    }
}
