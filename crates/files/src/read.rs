//! Reads files that may come from other users: only regular files, up to a size limit, without following links unless
//! the user named the file.

use crate::error::{FilesError, Result};
use crate::owner::{Trust, stat};
use crate::walk::{self, Last};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path};

/// Opening for reading. NONBLOCK, because opening a pipe without a writer would block; the kind is checked afterwards.
pub(crate) const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// As [`READ`], for files that the user named: a link is followed, and a terminal does not become the controlling one.
const READ_NAMED: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The whole content of a file that the user named. A link is followed. A pipe is read to its end; without a writer it
/// ends immediately. The file that is checked is the one that is read.
///
/// # Errors
/// [`FilesError::Foreign`] and [`FilesError::Open`] for a file that is not trusted; [`FilesError::TooLarge`]; the
/// system's error.
pub fn read_named(path: &Path, limit: u64, trust: Trust) -> Result<Vec<u8>> {
    let failed = |e| FilesError::io("read", path, e);
    let file = walk::open(path, READ_NAMED, trust, Last::Followed)?.ok_or_else(|| failed(Errno::NOENT))?;
    // The open did not block; from here on reads wait for the writer of a pipe. Regular files stay nonblocking:
    // /proc/kmsg is one, and a read of it would block forever.
    if FileType::from_raw_mode(stat(&file, path)?.st_mode) != FileType::RegularFile {
        rustix::fs::fcntl_setfl(&file, OFlags::empty()).map_err(failed)?;
    }
    read_all(File::from(file), path, limit)
}

/// Opens a regular file that the user named for reading; `None` if it does not exist. A link is followed. The open does
/// not block.
///
/// # Errors
/// [`FilesError::WrongKind`] for pipes, devices and folders; the system's error.
pub fn open_named(path: &Path) -> Result<Option<File>> {
    opened(open_at(CWD, path, READ_NAMED), path)
}

/// The whole content of a regular file that the user named; a link is followed.
///
/// # Errors
/// As [`open_named`], also when there is no such file, and [`FilesError::TooLarge`].
pub fn read_named_file(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let absent = || FilesError::io("open", path, Errno::NOENT);
    read_all(open_named(path)?.ok_or_else(absent)?, path, limit)
}

/// Opens a regular file for reading; `None` if it does not exist.
///
/// # Errors
/// [`FilesError::Link`]; [`FilesError::WrongKind`] for pipes, devices and folders; the system's error.
pub fn open_regular(path: &Path) -> Result<Option<File>> {
    opened(open_at(CWD, path, READ), path)
}

/// The folder names of a relative path inside `folder`, and its last name.
pub(crate) fn names_inside<'a>(path: &'a Path, folder: &Path) -> Result<(Vec<&'a OsStr>, &'a OsStr)> {
    let outside = || FilesError::Outside { path: path.to_owned(), folder: folder.to_owned() };
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            _ => return Err(outside()),
        }
    }
    let last = names.pop().ok_or_else(outside)?;
    Ok((names, last))
}

/// Opens a regular file. Anything else is opened with O_PATH only, because a real open has side effects: it unblocks
/// the writer of a pipe, and starts some devices, for example a watchdog.
pub(crate) fn open_at(folder: impl AsFd, name: impl Arg + Copy, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let look = OFlags::PATH | OFlags::CLOEXEC | flags.intersection(OFlags::NOFOLLOW);
    let found = rustix::fs::openat(&folder, name, look, Mode::empty())?;
    match FileType::from_raw_mode(rustix::fs::fstat(&found)?.st_mode) {
        FileType::RegularFile => {}
        FileType::Symlink => return Err(Errno::LOOP),
        _ => return Ok(found),
    }
    let same = format!("/proc/self/fd/{}", found.as_raw_fd());
    match rustix::fs::open(same, flags.difference(OFlags::NOFOLLOW), Mode::empty()) {
        // /proc is not mounted.
        Err(Errno::NOENT) => rustix::fs::openat(&folder, name, flags, Mode::empty()),
        opened => opened,
    }
}

/// Checks the result of an open: it must be a regular file; `None` if it does not exist.
pub(crate) fn opened(opened: rustix::io::Result<OwnedFd>, path: &Path) -> Result<Option<File>> {
    match opened {
        Ok(file) => {
            check_regular(&file, path)?;
            Ok(Some(File::from(file)))
        }
        Err(e) if std::io::Error::from(e).kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(FilesError::io("open", path, e)),
    }
}

/// Refuses everything except regular files.
pub(crate) fn check_regular(file: impl AsFd, path: &Path) -> Result<()> {
    let stat = stat(file, path)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(FilesError::WrongKind { path: path.to_owned(), expected: "regular file" }),
    }
}

/// Reads a file to its end, at most `limit` bytes.
///
/// # Errors
/// [`FilesError::TooLarge`] if the file is longer; the system's error.
pub fn read_all(file: File, path: &Path, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| FilesError::io("read", path, e))?;
    if bytes.len() as u64 > limit {
        return Err(FilesError::TooLarge { path: path.to_owned(), limit });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn read_regular(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
        open_regular(path)?.map(|file| read_all(file, path, limit)).transpose()
    }

    #[test]
    fn only_regular_files_within_the_limit_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        assert!(read_regular(&path("absent"), 10).unwrap().is_none());
        std::fs::write(path("file"), "12345").unwrap();
        assert_eq!(read_regular(&path("file"), 5).unwrap().unwrap(), b"12345");
        assert!(matches!(read_regular(&path("file"), 4), Err(FilesError::TooLarge { limit: 4, .. })));
        symlink(path("file"), path("link")).unwrap();
        assert!(matches!(read_regular(&path("link"), 5), Err(FilesError::Link(_))));
        assert!(matches!(read_regular(folder.path(), 5), Err(FilesError::WrongKind { .. })));
    }

    /// Root may read the kernel's log there, which never ends; other users are refused.
    #[test]
    fn a_file_without_an_end_is_not_waited_for() {
        let (done, waiting) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(read_named(Path::new("/proc/kmsg"), 1 << 24, Trust::Anyone).is_err()));
        assert_eq!(waiting.recv_timeout(std::time::Duration::from_secs(20)), Ok(true));
    }

    #[test]
    fn a_path_that_is_no_regular_file_is_never_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let (opened, waiting) = std::sync::mpsc::channel();
        let to = pipe.clone();
        // This open blocks until the pipe is opened for reading.
        let writer = std::thread::spawn(move || opened.send(File::options().write(true).open(to).is_ok()));
        let results = crate::Folder::open(folder.path(), Trust::Anyone).unwrap().unwrap();
        for _ in 0..100 {
            assert!(read_regular(&pipe, 5).is_err() && open_named(&pipe).is_err() && results.file("pipe").is_err());
            assert!(waiting.recv_timeout(std::time::Duration::from_millis(2)).is_err(), "its writer went on");
        }
        drop(File::open(&pipe).unwrap());
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn a_pipe_without_a_writer_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(matches!(read_regular(&pipe, 5), Err(FilesError::WrongKind { .. })));
    }
}
