//! Reading what may come from anyone: regular files alone, no link followed, never more than a limit.

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

/// Opening for reading: a pipe without a writer must not hold us, and what it is is asked afterwards.
pub(crate) const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// [`READ`] for what the user named: a link is followed, and a terminal does not become this program's.
const READ_NAMED: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// The whole content of a regular file; none when there is no such file.
///
/// # Errors
/// [`FilesError::Link`], [`FilesError::WrongKind`] for pipes, devices and folders, [`FilesError::TooLarge`], and what
/// the system says.
pub fn read_regular(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    open_regular(path)?.map(|file| read_all(file, path, limit)).transpose()
}

/// The whole content of what the user named: a link is followed, and a pipe that a program writes to is read to its
/// end, which comes at once where no one writes. What is returned is of what was checked.
///
/// # Errors
/// What is not believed, [`FilesError::TooLarge`], and what the system says.
pub fn read_named(path: &Path, limit: u64, trust: Trust) -> Result<Vec<u8>> {
    let failed = |e| FilesError::io("read", path, e);
    let file = walk::open(path, READ_NAMED, trust, Last::Followed)?.ok_or_else(|| failed(Errno::NOENT))?;
    // Opening waits for no one; from here on the one who writes to a pipe is waited for. What calls itself a regular
    // file has its content: /proc/kmsg does, and would be waited for without end.
    if FileType::from_raw_mode(stat(&file, path)?.st_mode) != FileType::RegularFile {
        rustix::fs::fcntl_setfl(&file, OFlags::empty()).map_err(failed)?;
    }
    read_all(File::from(file), path, limit)
}

/// A regular file that the user named, open for reading: a link is followed, and opening waits for no one. None when
/// there is no such file.
///
/// # Errors
/// [`FilesError::WrongKind`] for pipes, devices and folders, and what the system says.
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

/// A regular file, open for reading; none when there is no such file.
///
/// # Errors
/// [`FilesError::Link`], [`FilesError::WrongKind`] for pipes, devices and folders, and what the system says.
pub fn open_regular(path: &Path) -> Result<Option<File>> {
    opened(open_at(CWD, path, READ), path)
}

/// The folders of a path that lies inside another, and its last name.
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

/// Opens a regular file. Anything else is opened to be looked at and no more: the writer of a pipe would go on, and
/// some devices do something, as a watchdog that then waits for who opened it.
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
        // Without /proc.
        Err(Errno::NOENT) => rustix::fs::openat(&folder, name, flags, Mode::empty()),
        opened => opened,
    }
}

/// What an open for reading gave, when it is a regular file.
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

/// Refuses everything but regular files.
pub(crate) fn check_regular(file: impl AsFd, path: &Path) -> Result<()> {
    let stat = stat(file, path)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(FilesError::WrongKind { path: path.to_owned(), expected: "regular file" }),
    }
}

/// Reads to the end, or says that the end is too far.
///
/// # Errors
/// [`FilesError::TooLarge`], and what the system says.
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

    /// Root may read the kernel's log there, which never ends; for others it is refused.
    #[test]
    fn a_file_without_an_end_is_not_waited_for() {
        let (done, waiting) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(read_named(Path::new("/proc/kmsg"), 1 << 24, Trust::Anyone).is_err()));
        assert_eq!(waiting.recv_timeout(std::time::Duration::from_secs(20)), Ok(true));
    }

    #[test]
    fn what_is_no_file_is_not_even_opened() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let (opened, waiting) = std::sync::mpsc::channel();
        let to = pipe.clone();
        // It waits until someone opens the pipe for reading.
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
