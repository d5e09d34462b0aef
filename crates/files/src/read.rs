//! Reading what may come from anybody: regular files alone, no link followed, never more than a limit.

use crate::error::{FilesError, Result};
use rustix::fs::{FileType, Mode, OFlags};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

/// Opening for reading: a pipe without a writer must not hold us, and what it is is asked afterwards.
pub(crate) const READ: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// The whole content of a regular file; none when there is no such file.
///
/// # Errors
/// [`FilesError::Link`], [`FilesError::WrongKind`] for pipes, devices and folders, [`FilesError::TooLarge`], and what
/// the system says.
pub fn read_regular(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    open_regular(path)?.map(|file| read_all(file, path, limit)).transpose()
}

/// The whole content of what the user named: a link is followed, and a pipe that a program writes to is read to its
/// end, which comes at once where no one writes.
///
/// # Errors
/// [`FilesError::TooLarge`], and what the system says.
pub fn read_named(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let failed = |e| FilesError::io("read", path, e);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
    // Opening waits for no one; from here on the one who writes is waited for.
    rustix::fs::fcntl_setfl(&file, OFlags::empty()).map_err(failed)?;
    read_all(File::from(file), path, limit)
}

/// A regular file that the user named, open for reading: a link is followed, and opening waits for no one. None when
/// there is no such file.
///
/// # Errors
/// [`FilesError::WrongKind`] for pipes, devices and folders, and what the system says.
pub fn open_named(path: &Path) -> Result<Option<File>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    opened(rustix::fs::open(path, flags, Mode::empty()), path)
}

/// The whole content of a regular file that the user named; a link is followed.
///
/// # Errors
/// As [`open_named`], also when there is no such file, and [`FilesError::TooLarge`].
pub fn read_named_file(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let absent = || FilesError::io("open", path, rustix::io::Errno::NOENT);
    read_all(open_named(path)?.ok_or_else(absent)?, path, limit)
}

/// A regular file, open for reading; none when there is no such file.
///
/// # Errors
/// [`FilesError::Link`], [`FilesError::WrongKind`] for pipes, devices and folders, and what the system says.
pub fn open_regular(path: &Path) -> Result<Option<File>> {
    opened(rustix::fs::open(path, READ, Mode::empty()), path)
}

/// The whole content of a regular file below a folder; none when there is no such file. No link is followed on the way
/// either, so that what is read lies inside.
///
/// # Errors
/// As [`read_regular`]; a path that is absolute or steps out by `..` is [`FilesError::Outside`].
pub fn read_beneath(folder: &Path, path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    let whole = folder.join(path);
    let outside = || FilesError::Outside { path: path.to_owned(), folder: folder.to_owned() };
    let mut names = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name),
            _ => return Err(outside()),
        }
    }
    let (last, folders) = names.split_last().ok_or_else(outside)?;
    // The user named the folder, so a link to it is followed.
    let step = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(folder, step, Mode::empty()).map_err(|e| FilesError::io("open", folder, e))?;
    for name in folders {
        at = match rustix::fs::openat(&at, *name, step | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(next) => next,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(rustix::io::Errno::NOTDIR) => return Err(FilesError::WrongKind { path: whole, expected: "folder" }),
            Err(e) => return Err(FilesError::io("open", &whole, e)),
        };
    }
    let file = opened(rustix::fs::openat(&at, *last, READ, Mode::empty()), &whole)?;
    file.map(|file| read_all(file, &whole, limit)).transpose()
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
    let stat = rustix::fs::fstat(file).map_err(|e| FilesError::io("look at", path, e))?;
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

    #[test]
    fn nothing_outside_a_folder_is_read_whatever_links_stand_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("results"), folder.path().join("secrets"));
        std::fs::create_dir_all(inside.join("captures")).unwrap();
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("key"), "secret").unwrap();
        std::fs::write(inside.join("captures/profile"), "profile").unwrap();
        symlink(&outside, inside.join("elsewhere")).unwrap();
        symlink(outside.join("key"), inside.join("captures/link")).unwrap();
        let read = |path: &str| read_beneath(&inside, Path::new(path), 100);
        assert_eq!(read("captures/profile").unwrap().unwrap(), b"profile");
        assert!(read("captures/absent").unwrap().is_none() && read("absent/profile").unwrap().is_none());
        for path in ["elsewhere/key", "captures/link"] {
            let refused = read(path).unwrap_err();
            assert!(matches!(refused, FilesError::Link(_) | FilesError::WrongKind { .. }), "{path}: {refused}");
        }
        for path in ["../secrets/key", "/etc/passwd", "captures/../../secrets/key", ""] {
            assert!(matches!(read(path), Err(FilesError::Outside { .. })), "{path}");
        }
    }

    #[test]
    fn a_pipe_without_a_writer_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        assert!(matches!(read_regular(&pipe, 5), Err(FilesError::WrongKind { .. })));
    }
}
