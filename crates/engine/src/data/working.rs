//! The working copy of prepared data: every trial gets the prepared content, and only the differences are written. It
//! is locked by one process at a time, restored before each use, and removed at the end of its run. A file is made
//! equal to another by sharing its blocks if the file system can, otherwise by writing those that differ.

use super::directories::{Room, held, not_private, share};
use super::tree::{Note, Stamp, Tree, detects_changes};
use crate::EngineError;
use crate::process::guard::interrupted;
use sha1::{Digest, Sha1};
use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, io};
use tare_files::{Access, PrivateFolder, copy_without_holes, data_ranges};
use tare_results::schema::{CopyMethod, DataRecord};

/// Prefix of the names of working copies in the cache.
const PREFIX: &str = "work-";

/// A directory with the content of prepared data, for one server at a time: it is locked against other processes
/// while this value lives.
#[derive(Debug)]
pub struct WorkingCopy {
    data: PathBuf,
    /// How it was made equal to the original, and at what cost.
    pub restored: DataRecord,
    _lock: File,
}

impl WorkingCopy {
    /// Locks the copy of `prepared` in `cache` and makes it equal to `prepared`, whatever the last server, a kill
    /// during a restore, or another program did to it. A file counts as unchanged only if its size, times and inode
    /// are those that were recorded when it was equal, and if the file system updates these with every write;
    /// otherwise its content is compared. None if another process holds the lock.
    ///
    /// # Errors
    /// When files cannot be read or written; the copy is then removed.
    pub fn take(prepared: &Path, cache: &Path) -> Result<Option<Self>, EngineError> {
        let clock = Instant::now();
        let cache = PrivateFolder::open_or_create(cache, Access::Closed).map_err(not_private)?;
        let prepared = fs::canonicalize(prepared)
            .map_err(|source| EngineError::io("open the data directory", prepared, source))?;
        let name = name_for(&prepared);
        let Some(lock) = lock(&cache, &name)? else { return Ok(None) };
        let place = cache.path().join(&name);
        let was_there = place.is_dir();
        let folder = PrivateFolder::open_or_create(&place, Access::Closed).map_err(not_private)?;
        let mut restored = match bring_back(&prepared, &folder) {
            Ok(restored) => restored,
            Err(error) => {
                // An incomplete copy would only occupy space, which may be what was missing. And after a failed write,
                // memory may hold another content than the disk, so comparing would not find what is wrong.
                if !was_there || !interrupted() {
                    let _ = fs::remove_dir_all(&place);
                }
                return Err(error);
            }
        };
        restored.elapsed_s = clock.elapsed().as_secs_f64();
        Ok(Some(Self { data: place.join("data"), restored, _lock: lock }))
    }

    /// The directory on which a server may be started, and which it may change.
    pub fn data(&self) -> &Path {
        &self.data
    }
}

/// Locks the copy of this name; none if another process has it or is removing it.
fn lock(cache: &PrivateFolder, name: &str) -> Result<Option<File>, EngineError> {
    let name = format!("{name}.lock");
    let path = cache.path().join(&name);
    let lock = cache.append(&name).map_err(not_private)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(source)) => return Err(EngineError::io("lock", &path, source)),
    }
    // A lock file is removed together with its copy: only a lock on the file that still has this name counts.
    let inode = |found: io::Result<fs::Metadata>| found.ok().map(|found| found.ino());
    Ok((inode(lock.metadata()) == inode(fs::symlink_metadata(&path))).then_some(lock))
}

fn name_for(prepared: &Path) -> String {
    let digest = Sha1::digest(prepared.as_os_str().as_bytes());
    let hex: String = digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
    format!("{PREFIX}{hex}")
}

/// Makes `data` in `folder` equal to `prepared`.
fn bring_back(prepared: &Path, folder: &PrivateFolder) -> Result<DataRecord, EngineError> {
    let data = folder.path().join("data");
    let had_copy = data.is_dir();
    make_folder(&data)?;
    let (original, found) = (Tree::read(prepared)?, Tree::read(&data)?);
    let note = Note::read(folder, prepared).filter(|_| detects_changes(&data, &found));
    remove_strangers(&data, &original, &found)?;
    let mut restored = DataRecord {
        copy_method: if had_copy { CopyMethod::PutBack } else { CopyMethod::Copied },
        files: original.files.len(),
        bytes: original.bytes(),
        files_put_back: 0,
        bytes_copied: 0,
        bytes_compared: 0,
        elapsed_s: 0.0,
    };
    for path in &original.folders {
        make_folder(&data.join(path))?;
    }
    let is_unchanged = |path: &PathBuf, stamp: Stamp| {
        let unchanged = |copy| note.as_ref().is_some_and(|note| note.holds(path, stamp, copy));
        found.files.get(path).copied().is_some_and(unchanged)
    };
    let stale: Vec<&PathBuf> =
        original.files.iter().filter(|(path, stamp)| !is_unchanged(path, **stamp)).map(|(path, _)| path).collect();
    let mut room = Room::new(folder.path(), growth(prepared, &data, &stale));
    let syncing = |source| EngineError::io("write to the disk what was copied to", &data, source);
    // Opened first, because syncfs(2) reports only errors of writes that fail while this is open.
    let file_system = File::open(&data).map_err(syncing)?;
    let mut shared = 0;
    for path in stale {
        let put = put_back(&prepared.join(path), &data.join(path), &mut room)?;
        restored.files_put_back += 1;
        restored.bytes_copied += put.copied;
        restored.bytes_compared += put.compared;
        shared += usize::from(put.shared);
    }
    if shared > 0 && restored.bytes_copied == 0 {
        restored.copy_method = CopyMethod::Shared;
    }
    // Before the note: what it lists as equal must be so on disk, even if the file system has an error later. It also
    // keeps these writes out of the measurement.
    if restored.bytes_copied > 0 {
        rustix::fs::syncfs(&file_system).map_err(|error| syncing(error.into()))?;
    }
    if note.is_none() || restored.files_put_back > 0 {
        Note::write(folder, prepared, &original, &Tree::read(&data)?)?;
    }
    Ok(restored)
}

/// Additional bytes that the copies of these files will occupy.
fn growth(prepared: &Path, data: &Path, files: &[&PathBuf]) -> u64 {
    let of = |root: &Path| -> u64 {
        files.iter().filter_map(|path| fs::metadata(root.join(path)).ok()).map(|found| held(&found)).sum()
    };
    of(prepared).saturating_sub(of(data))
}

/// Servers require that their folders are closed to other users.
fn make_folder(path: &Path) -> Result<(), EngineError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if !path.is_dir() => Err(EngineError::io("create the directory", path, error)),
        _ => Ok(()),
    }
}

/// Removes what the prepared data do not contain, or contain as another type of file.
fn remove_strangers(data: &Path, original: &Tree, found: &Tree) -> Result<(), EngineError> {
    let failed = |path: PathBuf| move |source| EngineError::io("remove", &path, source);
    let files = found.files.keys().filter(|path| !original.files.contains_key(*path));
    for path in files.chain(&found.others).map(|path| data.join(path)) {
        fs::remove_file(&path).map_err(failed(path))?;
    }
    // In this order an inner folder comes after its outer one, so it is removed first.
    for path in found.folders.iter().rev().filter(|path| !original.folders.contains(*path)) {
        let path = data.join(path);
        fs::remove_dir(&path).map_err(failed(path))?;
    }
    Ok(())
}

/// Removes unused working copies, at the end of a run.
pub fn remove_working_copies(cache: &Path) -> Result<Vec<PathBuf>, EngineError> {
    let Some(folder) = PrivateFolder::open(cache, Access::Closed).map_err(not_private)? else {
        return Ok(Vec::new());
    };
    let mut removed = Vec::new();
    let names = folder.names().map_err(not_private)?;
    for name in names.into_iter().filter(|name| name.starts_with(PREFIX) && !name.ends_with(".lock")) {
        if let Some(_lock) = lock(&folder, &name)? {
            let path = folder.path().join(&name);
            fs::remove_dir_all(&path).map_err(|source| EngineError::io("remove", &path, source))?;
            folder.remove(&format!("{name}.lock")).map_err(not_private)?;
            removed.push(path);
        }
    }
    Ok(removed)
}

/// Bytes that are compared at a time; a change of one page rewrites this many.
const BLOCK: usize = 64 << 10;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Put {
    /// Whether the two now share their blocks.
    pub shared: bool,
    /// Bytes that were written into the copy.
    pub copied: u64,
    /// Bytes of the original that were read to find what differs.
    pub compared: u64,
}

/// Makes `to` equal to `from`; `to` is a file or does not exist. Checks `room` before anything is copied.
fn put_back(from: &Path, to: &Path, room: &mut Room<'_>) -> Result<Put, EngineError> {
    let failed = |error| EngineError::io("copy data to", to, error);
    let source = File::open(from).map_err(|error| EngineError::io("read", from, error))?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let target = options.open(to).map_err(failed)?;
    if share(&source, &target).map_err(failed)? {
        // If the target was longer, its end is still there.
        settle(&source, &target).map_err(failed)?;
        return Ok(Put { shared: true, ..Put::default() });
    }
    room.ask()?;
    write(&source, &target).and_then(|put| settle(&source, &target).map(|()| put)).map_err(failed)
}

fn write(source: &File, target: &File) -> io::Result<Put> {
    match target.metadata()?.len() {
        0 => Ok(Put { copied: copy_without_holes(source, target, &go_on)?, ..Put::default() }),
        was => write_differences(source, target, source.metadata()?.len().min(was)),
    }
}

/// Gives the copy the length and the permissions of the original.
fn settle(source: &File, target: &File) -> io::Result<()> {
    let found = source.metadata()?;
    target.set_len(found.len())?;
    target.set_permissions(found.permissions())
}

fn go_on() -> io::Result<()> {
    if interrupted() { Err(io::Error::other("interrupted")) } else { Ok(()) }
}

/// Writes the blocks of `source` that differ in `target`: compares below `common`, writes everything beyond.
fn write_differences(source: &File, target: &File, common: u64) -> io::Result<Put> {
    let mut put = Put::default();
    // Where both have a hole, both contain only zeros.
    let length = source.metadata()?.len();
    let mut ranges = data_ranges(source, length)?;
    ranges.extend(data_ranges(target, common)?);
    ranges.sort_unstable();
    let (mut mine, mut theirs) = (vec![0; BLOCK], vec![0; BLOCK]);
    let mut at = 0;
    for (from, until) in ranges {
        at = at.max(from - from % BLOCK as u64);
        while at < until.min(length) {
            go_on()?;
            let wanted = (BLOCK as u64).min(length - at) as usize;
            source.read_exact_at(&mut mine[..wanted], at)?;
            put.compared += wanted as u64;
            let known = (common.saturating_sub(at) as usize).min(wanted);
            target.read_exact_at(&mut theirs[..known], at)?;
            if known < wanted || mine[..wanted] != theirs[..wanted] {
                target.write_all_at(&mine[..wanted], at)?;
                put.copied += wanted as u64;
            }
            at += wanted as u64;
        }
    }
    Ok(put)
}

#[cfg(test)]
#[path = "working_tests.rs"]
mod tests;
