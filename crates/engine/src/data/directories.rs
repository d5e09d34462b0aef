//! Directories with the lifetime of a server: run directories and private copies of data, and the space for copies of
//! files: blocks are shared if the file system supports it; otherwise free space is checked before the first byte is
//! written.

use crate::{DataDirectory, EngineError};
use rustix::fs::{Advice, fadvise};
use rustix::io::Errno;
use std::fs::{DirBuilder, File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};
use tare_files::{Access, FilesError, PrivateFolder, check_room, crash};

const MIB: u64 = 1 << 20;
/// Bytes of a file that are copied before the next check for an interruption: a fraction of a second on a slow disk.
const COPIED_AT_ONCE: u64 = 64 * MIB;
/// Limit on the size of a file that describes data or a build, bytes: CMake's cache has half a megabyte.
const LARGEST_NOTE: u64 = 16 * MIB;
/// Longest path of a Unix socket, without the terminating NUL (`sun_path` has 108 bytes).
const SOCKET_PATH_LIMIT: usize = 107;

pub(crate) fn not_private(error: FilesError) -> EngineError {
    match error {
        FilesError::Io { doing, path, source } => EngineError::io(doing, &path, source),
        other => EngineError::Directory { path: other.path().to_owned(), reason: other.to_string() },
    }
}

/// A private directory, removed with everything in it when dropped.
#[derive(Debug)]
pub(crate) struct PrivateDirectory {
    path: PathBuf,
}

impl PrivateDirectory {
    /// Creates it with mode 0700 in a place where no other user can replace it, because it is used by its name.
    pub(crate) fn create(path: &Path) -> Result<Self, EngineError> {
        let created = DirBuilder::new().mode(0o700).create(path);
        created.map_err(|source| EngineError::io("create the directory", path, source))?;
        crash::point("directory of a server: made");
        let path = fs::canonicalize(path).map_err(|source| EngineError::io("resolve", path, source))?;
        let made = Self { path };
        PrivateFolder::open(made.path(), Access::Closed).map_err(not_private)?;
        Ok(made)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
        crash::point("directory of a server: removed");
    }
}

/// The data directory of a running server; a private copy is removed when dropped.
#[derive(Debug)]
pub(crate) enum DataInUse {
    InPlace(PathBuf),
    Private(PrivateDirectory),
}

impl DataInUse {
    /// Creates the private copy if one was requested.
    pub(crate) fn make(data: &DataDirectory) -> Result<Self, EngineError> {
        match data {
            DataDirectory::InPlace(path) => {
                let path = fs::canonicalize(path)
                    .map_err(|source| EngineError::io("open the data directory", path, source))?;
                Ok(Self::InPlace(path))
            }
            DataDirectory::CopyOf { prepared, at } => {
                // Owned from the first byte on, so that an incomplete copy is removed.
                let copy = PrivateDirectory::create(at)?;
                copy_tree(prepared, copy.path(), &mut Room::new(copy.path(), held_below(prepared)))?;
                Ok(Self::Private(copy))
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::InPlace(path) => path,
            Self::Private(directory) => directory.path(),
        }
    }
}

/// The text of a small descriptive file in a data directory or in the tree of a server program. The path may come
/// from a study of an unknown author, so it is checked before it is read. None if it is not a regular file or too
/// large.
pub(crate) fn small_file(path: &Path) -> Option<String> {
    let bytes = tare_files::read_named_file(path, LARGEST_NOTE).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Copies the files and directories below `from` into the existing directory `to`. The copy shares blocks if the file
/// system supports it. Sockets, links and the like are no part of a stopped server's data and are skipped.
pub(crate) fn copy_tree(from: &Path, to: &Path, room: &mut Room<'_>) -> Result<(), EngineError> {
    let list = fs::read_dir(from).map_err(|source| EngineError::io("list the data directory", from, source))?;
    for entry in list {
        let entry = entry.map_err(|source| EngineError::io("list the data directory", from, source))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|error| EngineError::io("access", &source, error))?;
        if kind.is_dir() {
            DirBuilder::new()
                .mode(0o700)
                .create(&target)
                .map_err(|e| EngineError::io("create the directory", &target, e))?;
            copy_tree(&source, &target, room)?;
        } else if kind.is_file() {
            copy_file(&source, &target, room)?;
        }
    }
    Ok(())
}

/// Copies a file with its mode, in parts, so that an interruption need not wait for the rest of a large file.
fn copy_file(from: &Path, to: &Path, room: &mut Room<'_>) -> Result<(), EngineError> {
    let failed = |error| EngineError::io("copy data to", to, error);
    let mut source = File::open(from).map_err(|error| EngineError::io("open the data file", from, error))?;
    let mode = source.metadata().map_err(failed)?.permissions();
    let mut target = File::create_new(to).map_err(failed)?;
    target.set_permissions(mode).map_err(failed)?;
    if share(&source, &target).map_err(failed)? {
        return Ok(());
    }
    room.ask()?;
    loop {
        EngineError::unless_interrupted()?;
        if io::copy(&mut (&mut source).take(COPIED_AT_ONCE), &mut target).map_err(failed)? == 0 {
            return Ok(());
        }
    }
}

/// The size of a server's buffer pool for a data directory, bytes.
pub(crate) fn memory_for(data: &Path) -> u64 {
    memory_for_bytes(bytes_below(data, &Metadata::len))
}

/// Twice the size of the files, so that neither reading nor growth evicts pages; at least 256 MiB; in steps of 128
/// MiB; at most half of the memory.
pub(crate) fn memory_for_bytes(data_bytes: u64) -> u64 {
    let wanted = (2 * data_bytes).max(256 * MIB).next_multiple_of(128 * MIB);
    let memory = rustix::system::sysinfo();
    let half = (memory.totalram as u64).saturating_mul(u64::from(memory.mem_unit)) / 2;
    wanted.min((half / (128 * MIB)).max(1) * 128 * MIB)
}

/// The sum of `of` over the files below a folder; unreadable entries count as 0.
fn bytes_below(folder: &Path, of: &dyn Fn(&Metadata) -> u64) -> u64 {
    let Ok(list) = fs::read_dir(folder) else { return 0 };
    list.flatten()
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_below(&entry.path(), of),
            Ok(found) => of(&found),
            Err(_) => 0,
        })
        .sum()
}

/// The path of a socket, checked against the limit of socket addresses.
pub(crate) fn socket_path(run_directory: &Path, name: &str) -> Result<PathBuf, EngineError> {
    let path = run_directory.join(name);
    let length = path.as_os_str().as_bytes().len();
    if length > SOCKET_PATH_LIMIT {
        return Err(EngineError::SocketPathTooLong { path, length, limit: SOCKET_PATH_LIMIT });
    }
    Ok(path)
}

/// Evicts the files below a directory from the page cache. Pages that this program read are charged to its own
/// control group: a server with a memory limit would use them without being charged for them.
pub(crate) fn leave_page_cache(directory: &Path) -> Result<(), EngineError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| EngineError::io("drop from the page cache", &path, source)
    };
    for entry in fs::read_dir(directory).map_err(failed(directory))? {
        let entry = entry.map_err(failed(directory))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed(directory))?);
        if kind.is_dir() {
            leave_page_cache(&path)?;
        } else if kind.is_file() {
            let file = File::open(&path).map_err(failed(&path))?;
            // Only clean pages can be evicted.
            file.sync_all().map_err(failed(&path))?;
            fadvise(&file, 0, None, Advice::DontNeed).map_err(|source| failed(&path)(source.into()))?;
        }
    }
    Ok(())
}

/// Checks the size of a copy against the free space of its file system: once, and only if blocks are not shared.
pub(crate) struct Room<'a> {
    place: &'a Path,
    needed: u64,
    is_there: bool,
}

impl<'a> Room<'a> {
    pub(crate) fn new(place: &'a Path, needed: u64) -> Self {
        Self { place, needed, is_there: false }
    }

    pub(crate) fn ask(&mut self) -> Result<(), EngineError> {
        if !self.is_there {
            check_room(self.place, "the copy of the data", self.needed)
                .map_err(|full| EngineError::DiskFull { place: full.path.clone(), detail: full.detail() })?;
            self.is_there = true;
        }
        Ok(())
    }
}

/// Bytes that a file occupies on disk, without its holes.
pub(crate) fn held(found: &Metadata) -> u64 {
    // In units of 512 bytes, whatever the block size of the file system (stat(2)).
    found.blocks() * 512
}

/// Bytes that the files below a folder occupy on disk.
pub(crate) fn held_below(folder: &Path) -> u64 {
    bytes_below(folder, &held)
}

/// Makes both files share all blocks; false if the file system cannot.
pub(crate) fn share(source: &File, target: &File) -> io::Result<bool> {
    match rustix::fs::ioctl_ficlone(target, source) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::NOTTY | Errno::NOSYS | Errno::PERM) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, PermissionsExt};

    #[test]
    fn a_run_directory_is_new_and_private_and_goes_with_its_contents() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let run = PrivateDirectory::create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(path.join("file"), "x").unwrap();
        assert!(PrivateDirectory::create(&path).is_err() && path.join("file").exists());
        drop(run);
        assert!(!path.exists());
    }

    #[test]
    fn a_run_directory_that_another_user_could_replace_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        for (mode, fits) in [(0o777, false), (0o1777, true), (0o755, true)] {
            fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
            let refused = PrivateDirectory::create(&path).map(drop).map_err(|error| error.to_string());
            assert_eq!(refused.is_ok(), fits, "{mode:o}: {refused:?}");
            assert!(refused.err().is_none_or(|why| why.contains("others may write to")));
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_copy_has_the_same_bytes_and_is_removed_while_the_original_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (prepared, at) = (folder.path().join("prepared"), folder.path().join("copy"));
        fs::create_dir_all(prepared.join("db")).unwrap();
        fs::write(prepared.join("db/table"), "rows").unwrap();
        let copy = DataInUse::make(&DataDirectory::CopyOf { prepared: prepared.clone(), at: at.clone() }).unwrap();
        assert_eq!(fs::read_to_string(copy.path().join("db/table")).unwrap(), "rows");
        assert_eq!(bytes_below(copy.path(), &Metadata::len), 4);
        drop(copy);
        assert!(!at.exists() && prepared.join("db/table").exists());
    }

    #[test]
    fn notes_in_data_and_builds_are_read_from_regular_files_up_to_a_limit() {
        let folder = tempfile::tempdir().unwrap();
        let [note, large, device] = ["note", "large", "device"].map(|name| folder.path().join(name));
        fs::write(&note, "10.11\n").unwrap();
        File::create(&large).unwrap().set_len(LARGEST_NOTE + 1).unwrap();
        std::os::unix::fs::symlink("/dev/null", &device).unwrap();
        assert_eq!([&note, &large, &device].map(|path| small_file(path)), [Some("10.11\n".to_owned()), None, None]);
    }

    #[test]
    fn the_memory_of_pages_holds_the_data_in_whole_steps() {
        assert_eq!(memory_for_bytes(0), 256 * MIB);
        assert_eq!(memory_for_bytes(200 * MIB), 512 * MIB);
    }

    #[test]
    fn a_socket_path_that_does_not_fit_says_so() {
        let deep = PathBuf::from(format!("/{}", "d".repeat(100)));
        assert!(socket_path(&deep, "s").is_ok());
        let error = socket_path(&deep, "server.sock").unwrap_err().to_string();
        assert!(error.contains("113 bytes") && error.contains("107"), "{error}");
    }

    #[test]
    fn sparse_files_need_no_space_and_a_copy_that_does_not_fit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        let file = File::create(folder.path().join("inner/sparse")).unwrap();
        file.set_len(1 << 30).unwrap();
        file.write_all_at(&[1; 10_000], 1 << 20).unwrap();
        file.sync_all().unwrap();
        let needed = held_below(folder.path());
        assert!((10_000..1 << 20).contains(&needed), "{needed}");
        assert!(Room::new(folder.path(), needed).ask().is_ok());
        let refused = Room::new(folder.path(), u64::MAX).ask().unwrap_err();
        assert!(matches!(refused, EngineError::DiskFull { .. }), "{refused}");
        assert!(refused.to_string().contains("18446744073709551615 bytes"), "{refused}");
    }
}
