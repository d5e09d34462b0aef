//! Writes a file completely or not at all: it is on the disk before its name appears, and no link is followed.

use crate::crash;
use crate::error::{FilesError, Result};
use crate::owner::{Audience, Rights, me, stat};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes `path` completely or not at all: writes and syncs an unnamed file, renames it over an existing one, and syncs
/// the folder. A link at `path` is replaced and not followed. If the writer is killed, no partial file remains, except
/// on file systems without O_TMPFILE or at the moment before the rename.
///
/// # Errors
/// The system's error, with the path. The old content then remains, unless only the final sync of the folder failed.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write_whole_with(path, |file| file.write_all(bytes))
}

/// As [`write_whole`], for content that is too large for memory: `content` writes it, through a buffer.
///
/// # Errors
/// As [`write_whole`]; the error of `content`.
pub(crate) fn write_whole_with(
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<()> {
    let (opened, name) = folder_of(path)?;
    write_in(opened.as_fd(), name, content, Rights::inside(opened.as_fd(), path)?.file, path)
}

/// Writes output to a path that the user named. `audience` is that of the inputs: output made from private inputs is
/// private. A file is written completely or not at all. A pipe, a device or an open descriptor (`/dev/stdout`) is
/// written into; a pipe or device of another user is replaced by a file instead.
///
/// # Errors
/// As [`write_whole`]; the error of `content`.
pub fn write_named(
    audience: Audience,
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> Result<()> {
    if let Some(stream) = stream(path).map_err(|e| FilesError::io("open", path, e))? {
        let mut buffer = BufWriter::new(stream);
        return content(&mut buffer).and_then(|()| buffer.flush()).map_err(|e| FilesError::io("write", path, e));
    }
    let (opened, name) = folder_of(path)?;
    let rights = match audience {
        Audience::Owner => Rights::PRIVATE,
        Audience::Anyone => Rights::inside(opened.as_fd(), path)?,
    };
    write_in(opened.as_fd(), name, content, rights.file, path)
}

/// Appends output to a file that the user named; creates it if missing. `audience` is that of the inputs, as in
/// [`write_named`]. A pipe or device is written into, as in [`write_named`].
///
/// # Errors
/// [`FilesError::Link`]; [`FilesError::Linked`]; [`FilesError::WrongKind`]; [`FilesError::Foreign`] for another user's
/// file when the output is private; the system's error.
pub fn append_named(audience: Audience, path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |e: io::Error| FilesError::io("write", path, e);
    if let Some(mut stream) = stream(path).map_err(|e| failed(e.into()))? {
        return stream.write_all(bytes).map_err(failed);
    }
    let (opened, name) = folder_of(path)?;
    let mode = match audience {
        Audience::Owner => Rights::PRIVATE.file,
        Audience::Anyone => Rights::inside(opened.as_fd(), path)?.file,
    };
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = rustix::fs::openat(&opened, name, flags | OFlags::CLOEXEC, mode).map_err(|e| failed(e.into()))?;
    let found = stat(&file, path)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(FilesError::WrongKind { path: path.to_owned(), expected: "regular file" });
    }
    if found.st_nlink > 1 {
        return Err(FilesError::Linked(path.to_owned()));
    }
    if audience == Audience::Owner {
        if found.st_uid != me() {
            return Err(FilesError::Foreign { path: path.to_owned(), owner: found.st_uid, me: me() });
        }
        rustix::fs::fchmod(&file, mode).map_err(|e| failed(e.into()))?;
    }
    File::from(file).write_all(bytes).map_err(failed)
}

/// Paths that stand for open descriptors.
const OPEN: [&str; 4] = ["/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];

/// Opens a pipe, device or open descriptor; `None` for a regular or missing file, and for another user's pipe or
/// device.
fn stream(path: &Path) -> rustix::io::Result<Option<File>> {
    let open = |path: &Path, flags: OFlags| rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty());
    if OPEN.iter().any(|open| path.starts_with(open)) {
        return open(path, OFlags::WRONLY).map(|file| Some(File::from(file)));
    }
    let Ok(found) = open(path, OFlags::PATH | OFlags::NOFOLLOW) else { return Ok(None) };
    let stat = rustix::fs::fstat(&found)?;
    let ours = stat.st_uid == 0 || stat.st_uid == rustix::process::geteuid().as_raw();
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo | FileType::CharacterDevice | FileType::BlockDevice if ours => {
            let same = format!("/proc/self/fd/{}", found.as_raw_fd());
            open(Path::new(&same), OFlags::WRONLY).map(|file| Some(File::from(file)))
        }
        _ => Ok(None),
    }
}

/// Writes a file completely or not at all in an open folder; `path` is for the error.
pub(crate) fn write_in(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    mode: Mode,
    path: &Path,
) -> Result<()> {
    let failed = |e: io::Error| FilesError::io("write", path, e);
    crash::point("whole write: before it");
    let (file, temporary) = begin(folder, mode).map_err(|e| failed(e.into()))?;
    let file = File::from(file);
    let mut buffer = BufWriter::new(&file);
    let written = content(&mut buffer).and_then(|()| buffer.flush());
    drop(buffer);
    crash::point("whole write: written, not synced");
    let written = written.and_then(|()| file.sync_all());
    crash::point("whole write: synced, without a name");
    let named = written.and_then(|()| match temporary {
        Some(temporary) => Ok(temporary),
        None => Ok(link(folder, &file)?),
    });
    let temporary = named.map_err(failed)?;
    crash::point("whole write: not renamed yet");
    let renamed = rustix::fs::renameat(folder, &temporary, folder, name).map_err(|e| failed(e.into()));
    if renamed.is_err() {
        // The error of the rename is returned; one of this removal would add nothing.
        let _ = rustix::fs::unlinkat(folder, &temporary, AtFlags::empty());
    }
    renamed?;
    crash::point("whole write: renamed, folder not synced");
    rustix::fs::fsync(folder).map_err(|e| FilesError::io("sync the folder of", path, e))?;
    crash::point("whole write: done");
    Ok(())
}

/// Opens an unnamed file, or a new one with a temporary name if the file system does not support unnamed files.
fn begin(folder: BorrowedFd<'_>, mode: Mode) -> rustix::io::Result<(OwnedFd, Option<String>)> {
    let unnamed = rustix::fs::openat(folder, ".", OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC, mode);
    if let Ok(file) = unnamed
        && Path::new("/proc/self/fd").exists()
    {
        return Ok((file, None));
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    with_a_free_name(|name| rustix::fs::openat(folder, name, flags, mode)).map(|(file, name)| (file, Some(name)))
}

/// Links the unnamed file under a temporary name (open(2), O_TMPFILE): a rename can replace a file, a link cannot.
fn link(folder: BorrowedFd<'_>, file: &File) -> rustix::io::Result<String> {
    let from = format!("/proc/self/fd/{}", file.as_raw_fd());
    with_a_free_name(|name| rustix::fs::linkat(CWD, &from, folder, name, AtFlags::SYMLINK_FOLLOW)).map(|(_, name)| name)
}

/// Tries names until one is free. They need not be secret, because creation fails if the name exists.
fn with_a_free_name<T>(mut make: impl FnMut(&str) -> rustix::io::Result<T>) -> rustix::io::Result<(T, String)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    for _ in 0..1000 {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!(".tare-{}-{number}.new", std::process::id());
        match make(&name) {
            Err(rustix::io::Errno::EXIST) => {}
            other => return other.map(|made| (made, name)),
        }
    }
    Err(rustix::io::Errno::EXIST)
}

/// Creates a new empty file in an open folder, with `more` flags. An existing one is removed first, so that no link is
/// followed and no older file of another owner is written to.
pub(crate) fn new_in(folder: BorrowedFd<'_>, name: &OsStr, more: OFlags, mode: Mode, path: &Path) -> Result<File> {
    match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => {}
        Err(e) => return Err(FilesError::io("replace", path, e)),
    }
    crash::point("log: the older one is removed");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags | more, mode).map(File::from).map_err(|e| FilesError::io("create", path, e))
}

/// Opens the folder of a path that the user named, and returns the name in it. A link to the folder is followed.
pub(crate) fn folder_of(path: &Path) -> Result<(OwnedFd, &OsStr)> {
    let name = path.file_name().ok_or_else(|| FilesError::io("write", path, rustix::io::Errno::ISDIR))?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(folder, flags, Mode::empty()).map_err(|e| FilesError::io("open", folder, e))?;
    Ok((opened, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogFile;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_is_replaced_and_its_target_untouched() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, path) = (folder.path().join("victim"), folder.path().join("report.html"));
        std::fs::write(&victim, "precious").unwrap();
        for planted in ["report.html", "report.html.part", "report.tmp"] {
            symlink(&victim, folder.path().join(planted)).unwrap();
        }
        write_whole(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert!(!path.is_symlink());
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        let log = folder.path().join("log");
        symlink(&victim, &log).unwrap();
        LogFile::at(&log).unwrap().begin().unwrap().write_all(b"log").unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
    }

    #[test]
    fn output_derived_from_private_results_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            path
        };
        let (private, shown) = (at("private", 0o700), at("shown", 0o755));
        let made = |sources: &[&Path]| {
            let path = shown.join("export.csv");
            let audience = |source: &&Path| Audience::of(File::open(source).unwrap(), source).unwrap();
            write_named(Audience::of_all(sources.iter().map(audience)), &path, |file| file.write_all(b"a")).unwrap();
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o777
        };
        assert_eq!((made(&[&shown]), made(&[&shown, &private])), (0o644, 0o600));
    }

    #[test]
    fn what_is_appended_goes_through_no_link_and_is_for_no_one_who_may_not_read_its_source() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (file, victim) = (folder.path().join("summary.md"), folder.path().join("victim"));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        append_named(Audience::Anyone, &file, b"one ").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        append_named(Audience::Anyone, &file, b"two ").unwrap();
        assert_eq!(mode(&file), 0o644);
        append_named(Audience::Owner, &file, b"three").unwrap();
        assert_eq!((std::fs::read(&file).unwrap().as_slice(), mode(&file)), (b"one two three".as_slice(), 0o600));
        std::fs::write(&victim, "precious").unwrap();
        for (name, hard) in [("soft", false), ("hard", true)] {
            let path = folder.path().join(name);
            let made = if hard { std::fs::hard_link(&victim, &path) } else { symlink(&victim, &path) };
            made.unwrap();
            assert!(append_named(Audience::Anyone, &path, b"x").is_err(), "{name}");
        }
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        if std::os::unix::fs::chown(&file, Some(12_345), None).is_ok() {
            assert!(append_named(Audience::Owner, &file, b"secret").is_err(), "another user reads it");
        }
    }

    #[test]
    fn a_pipe_is_written_into_and_one_of_another_user_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (own, foreign) = (folder.path().join("own"), folder.path().join("foreign"));
        for pipe in [&own, &foreign] {
            rustix::fs::mknodat(CWD, pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        }
        let read = |path: &Path| {
            let reader = rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty()).unwrap();
            write_named(Audience::Anyone, path, |file| file.write_all(b"page")).unwrap();
            io::read_to_string(File::from(reader)).unwrap()
        };
        assert_eq!(read(&own), "page");
        if std::os::unix::fs::chown(&foreign, Some(12_345), None).is_ok() {
            assert_eq!(read(&foreign), "", "another user reads it");
            assert_eq!(std::fs::read(&foreign).unwrap(), b"page");
        }
    }

    /// Replacing it by a file would break the device for every other program of the machine.
    #[test]
    fn output_to_an_open_file_descriptor_is_written_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("output")).unwrap();
        let open = format!("/proc/self/fd/{}", file.as_raw_fd());
        write_named(Audience::Anyone, Path::new(&open), |file| file.write_all(b"page")).unwrap();
        assert_eq!(std::fs::read(folder.path().join("output")).unwrap(), b"page");
    }

    #[test]
    fn a_failed_write_leaves_the_older_content_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        std::fs::create_dir(&path).unwrap();
        assert!(write_whole(&path, b"new").unwrap_err().to_string().contains("taken"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_whole(&folder.path().join("absent/file"), b"").unwrap_err().to_string().contains("absent"));
    }

    #[test]
    fn many_writers_of_one_file_leave_one_whole_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::thread::scope(|scope| {
            for digit in b'0'..b'8' {
                let path = &path;
                scope.spawn(move || (0..10).for_each(|_| write_whole(path, &[digit; 4096]).unwrap()));
            }
        });
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.len() == 4096 && bytes.iter().all(|byte| *byte == bytes[0]));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
