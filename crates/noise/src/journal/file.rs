//! The journal's file: appended and synced before each change, rewritten whole after a restore.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::entry::{Entry, VERSION};
use crate::error::{NoiseError, Result};

/// Name of the journal in the state directory.
const FILE: &str = "journal.jsonl";

/// The journal of a state directory: one JSON line for each file about to be changed, with the text it held.
///
/// A line is appended and synced (file, and folder when the file is new) **before** the change it speaks of. So a
/// line that is torn by a kill or a power cut speaks of a change that never happened, and may be dropped. The file
/// is gone when nothing is left to restore.
#[derive(Debug, Clone)]
pub struct Journal {
    path: PathBuf,
}

impl Journal {
    /// The journal in `state_dir`, which need not exist yet.
    pub fn new(state_dir: &Path) -> Self {
        Self { path: state_dir.join(FILE) }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `state_dir` holds a journal with something in it; asks no right but to look into the folder. An
    /// ordinary user learns so that root's settings ([`crate::ROOT_STATE_DIR`]) still wait to be put back.
    pub fn pending(state_dir: &Path) -> bool {
        fs::symlink_metadata(state_dir.join(FILE)).is_ok_and(|m| m.len() > 0)
    }

    /// Entries in the order of writing, and the number of lines that could not be read.
    ///
    /// # Errors
    /// [`NoiseError::BadJournal`] when it belongs to somebody else, others may write to it, or a line is of a newer
    /// version: then nothing may be concluded from it.
    pub(crate) fn load(&self) -> Result<(Vec<Entry>, usize)> {
        let mut bytes = Vec::new();
        match self.open(OpenOptions::new().read(true)) {
            Ok(mut file) => {
                self.check_owner(&file)?;
                file.read_to_end(&mut bytes).map_err(|source| NoiseError::Read { path: self.path.clone(), source })?;
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
            Err(source) => return Err(NoiseError::Read { path: self.path.clone(), source }),
        }
        self.parse(&bytes)
    }

    fn parse(&self, bytes: &[u8]) -> Result<(Vec<Entry>, usize)> {
        let (mut entries, mut torn) = (Vec::new(), 0);
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            // The version first: a newer line may have other fields.
            let version = serde_json::from_slice::<serde_json::Value>(line).ok().and_then(|v| v.get("v")?.as_u64());
            if version.is_some_and(|v| v > u64::from(VERSION)) {
                return Err(self.bad("it was written by a newer version of this tool; restore with that one"));
            }
            match serde_json::from_slice::<Entry>(line) {
                Ok(entry) => entries.push(entry),
                Err(_) => torn += 1,
            }
        }
        Ok((entries, torn))
    }

    /// Appends entries and returns when they are on the disk.
    ///
    /// # Errors
    /// Those of creating, writing and syncing; nothing may be changed on the machine then.
    pub(crate) fn append(&self, entries: &[Entry]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        self.create_folder()?;
        let is_new = !self.path.exists();
        let mut file = self
            .open(OpenOptions::new().append(true).create(true).mode(0o600))
            .map_err(|source| self.failed("open", source))?;
        self.check_owner(&file)?;
        // A line torn by an earlier failed write must not swallow ours.
        let mut text = b"\n".to_vec();
        text.extend(self.lines(entries)?);
        file.write_all(&text).map_err(|source| self.failed("write", source))?;
        file.sync_all().map_err(|source| self.failed("sync", source))?;
        if is_new { self.sync_folder() } else { Ok(()) }
    }

    /// Replaces all entries, as one step; removes the file when there are none.
    ///
    /// # Errors
    /// Those of writing, syncing and renaming; the old entries are kept then.
    pub(crate) fn replace(&self, entries: &[Entry]) -> Result<()> {
        if entries.is_empty() {
            return match fs::remove_file(&self.path) {
                Ok(()) => self.sync_folder(),
                Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(()),
                Err(source) => Err(self.failed("remove", source)),
            };
        }
        let next = Self { path: self.path.with_extension("jsonl.next") };
        match fs::remove_file(&next.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(next.failed("remove", e)),
            _ => next.append(entries)?,
        }
        fs::rename(&next.path, &self.path).map_err(|source| self.failed("rename", source))?;
        self.sync_folder()
    }

    fn lines(&self, entries: &[Entry]) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for entry in entries {
            serde_json::to_writer(&mut text, entry).map_err(|e| self.failed("write", e.into()))?;
            text.push(b'\n');
        }
        Ok(text)
    }

    fn open(&self, options: &mut OpenOptions) -> io::Result<File> {
        // A link in place of the journal would make root write, or believe, somebody else's file.
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()).open(&self.path)
    }

    /// Whoever can write the journal decides what the next restore writes.
    fn check_owner(&self, file: &File) -> Result<()> {
        let meta = file.metadata().map_err(|source| self.failed("examine", source))?;
        let me = rustix::process::geteuid().as_raw();
        if !meta.is_file() || meta.uid() != me {
            return Err(self.bad(&format!("it belongs to user {}, and this process runs as user {me}", meta.uid())));
        }
        if meta.mode() & 0o022 != 0 {
            return Err(self.bad("others may write to it"));
        }
        Ok(())
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    fn create_folder(&self) -> Result<()> {
        let folder = self.folder();
        if folder.is_dir() {
            return Ok(());
        }
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(folder)
            .and_then(|()| folder.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all()))
            .map_err(|source| NoiseError::Write { action: "create", path: folder.to_owned(), source })
    }

    fn sync_folder(&self) -> Result<()> {
        let folder = self.folder();
        File::open(folder).and_then(|f| f.sync_all()).map_err(|source| NoiseError::Write {
            action: "sync",
            path: folder.to_owned(),
            source,
        })
    }

    fn failed(&self, action: &'static str, source: io::Error) -> NoiseError {
        NoiseError::Write { action, path: self.path.clone(), source }
    }

    fn bad(&self, why: &str) -> NoiseError {
        NoiseError::BadJournal { path: self.path.clone(), why: why.to_owned() }
    }
}
