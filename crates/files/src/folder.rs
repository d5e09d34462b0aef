//! A folder that is open: what it holds is found through its handle, whatever becomes of its name, and through no link.

use crate::error::{FilesError, Result};
use crate::owner::{Audience, Rights, Trust, me, stat};
use crate::read::{READ, check_regular, names_inside, open_at, opened, read_all};
use crate::walk::{self, Last, no_folder};
use crate::whole::{new_in, write_in};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, dumpable_behavior, getpid};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// An open folder of results. What is opened in it is checked as the folder itself was; what is made in it is never
/// open to the writing of others, and private where it is: root's is, unless root has opened it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: OwnedFd,
    trust: Trust,
}

impl Folder {
    /// Opens a folder; none when there is none of that name. Links on the way and at its end are followed where they
    /// are believed.
    ///
    /// # Errors
    /// [`FilesError::Foreign`] and [`FilesError::Open`] when it, or a folder or link on the way, is another's or open
    /// to the writing of others; [`FilesError::WrongKind`] for what is no folder, and what the system says.
    pub fn open(path: &Path, trust: Trust) -> Result<Option<Self>> {
        let handle = walk::open(path, FOLDER, trust, Last::Followed)?;
        Ok(handle.map(|handle| Self { path: path.to_owned(), handle, trust }))
    }

    /// Opens a folder, with those above it made where missing.
    ///
    /// # Errors
    /// As [`Folder::open`].
    pub fn open_or_create(path: &Path, trust: Trust) -> Result<Self> {
        if let Some(folder) = Self::open(path, trust)? {
            return Ok(folder);
        }
        let (above, name) = split(path)?;
        let above = made_above(above, trust)?;
        Self::make_in(above.as_fd(), name, Rights::of_results(), path.to_owned(), trust)
    }

    fn make_in(above: BorrowedFd<'_>, name: &OsStr, rights: Rights, path: PathBuf, trust: Trust) -> Result<Self> {
        make(above, name, rights, &path)?;
        let handle = rustix::fs::openat(above, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
        let handle = handle.map_err(|e| no_folder(e, &path))?;
        trust.check(&handle, &path)?;
        // A list for new files that goes with the folder above would take the umask's place in it (acl(5)).
        let _ = rustix::fs::fremovexattr(&handle, "system.posix_acl_default");
        Ok(Self { path, handle, trust })
    }

    /// A folder in it, made where missing.
    ///
    /// # Errors
    /// As [`Folder::sub`].
    pub fn make_sub(&self, name: &str) -> Result<Self> {
        Self::make_in(self.handle.as_fd(), OsStr::new(name), self.rights()?, self.path.join(name), self.trust)
    }

    /// A folder in it; none when there is none of that name. No link is followed.
    ///
    /// # Errors
    /// [`FilesError::WrongKind`] for a link or a file, what [`Folder::open`] refuses, and what the system says.
    pub fn sub(&self, name: impl AsRef<OsStr>) -> Result<Option<Self>> {
        let path = self.path.join(name.as_ref());
        match rustix::fs::openat(&self.handle, name.as_ref(), FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(handle) => {
                self.trust.check(&handle, &path)?;
                Ok(Some(Self { path, handle, trust: self.trust }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(no_folder(e, &path)),
        }
    }

    /// Its path, as it was given: for programs that take nothing else, and for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A regular file in it, open for reading; none when there is no such file.
    ///
    /// # Errors
    /// [`FilesError::Link`], [`FilesError::WrongKind`], what is not believed, and what the system says.
    pub fn file(&self, name: impl AsRef<OsStr>) -> Result<Option<File>> {
        let path = self.path.join(name.as_ref());
        let file = open_at(&self.handle, name.as_ref(), READ);
        opened(file, &path)?.map(|file| self.believed(file, &path)).transpose()
    }

    /// The content of a regular file in it; none when there is no such file.
    ///
    /// # Errors
    /// As [`Folder::file`], and [`FilesError::TooLarge`].
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        self.file(name)?.map(|file| read_all(file, &self.path.join(name), limit)).transpose()
    }

    /// The content of a regular file below it; none when there is no such file. No link is followed on the way either,
    /// so that what is read lies inside.
    ///
    /// # Errors
    /// As [`Folder::read`]; a path that is absolute or steps out by `..` is [`FilesError::Outside`].
    pub fn read_beneath(&self, path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
        let (folders, last) = names_inside(path, &self.path)?;
        let mut below: Option<Self> = None;
        for name in folders {
            let Some(next) = below.as_ref().unwrap_or(self).sub(name)? else { return Ok(None) };
            below = Some(next);
        }
        let at = below.as_ref().unwrap_or(self);
        at.file(last)?.map(|file| read_all(file, &at.path.join(last), limit)).transpose()
    }

    /// Writes a file in it whole or not at all, synced.
    ///
    /// # Errors
    /// What the system says; an older content is untouched then.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.write_with(name, |file| file.write_all(bytes))
    }

    /// Writes whole what is too large to be held in memory: `content` writes it, through a buffer.
    ///
    /// # Errors
    /// As [`Folder::write`], and what `content` says.
    pub fn write_with(
        &self,
        name: &str,
        content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<()> {
        let (mode, path) = (self.rights()?.file, self.path.join(name));
        write_in(self.handle.as_fd(), OsStr::new(name), content, mode, &path)
    }

    /// Opens a regular file in it for appending and reading; made where missing.
    ///
    /// # Errors
    /// As [`Folder::file`].
    pub fn append(&self, name: &str) -> Result<File> {
        self.append_with(name, self.rights()?)
    }

    /// Opens a file in it for a lock; made where missing. Whoever can open a file can hold its lock: no one else can.
    ///
    /// # Errors
    /// As [`Folder::file`].
    pub fn lock_file(&self, name: &str) -> Result<File> {
        let file = self.append_with(name, Rights::PRIVATE)?;
        let path = self.path.join(name);
        if stat(&file, &path)?.st_uid == me() {
            // Older versions made it for others to read.
            rustix::fs::fchmod(&file, Rights::PRIVATE.file).map_err(|e| FilesError::io("close", &path, e))?;
        }
        Ok(file)
    }

    fn append_with(&self, name: &str, rights: Rights) -> Result<File> {
        let path = self.path.join(name);
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.handle, name, flags | OFlags::CLOEXEC, rights.file);
        let file = file.map_err(|e| FilesError::io("open", &path, e))?;
        check_regular(&file, &path)?;
        // Who may write to the folder could have given any file its name (proc_sys_fs(5), protected_hardlinks).
        if self.trust == Trust::Anyone && stat(&file, &path)?.st_nlink > 1 {
            return Err(FilesError::Linked(path));
        }
        self.believed(File::from(file), &path)
    }

    /// A fresh empty file in it for a log. What has its name is removed first, so that no older file of another owner
    /// is written to.
    ///
    /// # Errors
    /// What the system says, with the file.
    pub fn new_log(&self, name: &str) -> Result<File> {
        new_in(self.handle.as_fd(), OsStr::new(name), self.rights()?.file, &self.path.join(name))
    }

    /// A fresh empty file for the copy of another, which no one may read who may not read that one.
    ///
    /// # Errors
    /// As [`Folder::new_log`].
    pub fn new_copy(&self, name: &str, of: &File) -> Result<File> {
        let path = self.path.join(name);
        let stat = stat(of, &path)?;
        let mode = self.rights()?.file & Mode::from_raw_mode(stat.st_mode);
        new_in(self.handle.as_fd(), OsStr::new(name), mode, &path)
    }

    /// The same folder, by a handle of its own.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    pub fn again(&self) -> Result<Self> {
        let handle = self.handle.try_clone().map_err(|source| FilesError::Io {
            doing: "open",
            path: self.path.clone(),
            source,
        })?;
        Ok(Self { path: self.path.clone(), handle, trust: self.trust })
    }

    /// The path of a name in it, through its handle: for what takes nothing else. Good while it lives.
    /// Where the kernel gives what belongs to this process to root, other programs could not go there: then it is
    /// the path by name.
    pub fn path_by_handle(&self, name: &str) -> PathBuf {
        match dumpable_behavior() {
            Ok(DumpableBehavior::Dumpable) => {
                let (process, handle) = (getpid().as_raw_nonzero(), self.handle.as_raw_fd());
                PathBuf::from(format!("/proc/{process}/fd/{handle}")).join(name)
            }
            _ => self.path.join(name),
        }
    }

    /// Removes a file in it; one that is not there is as good.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.unlink(name, AtFlags::empty())
    }

    /// Removes an empty folder in it; one that is not there is as good.
    ///
    /// # Errors
    /// What the system says, of one that is not empty among it.
    pub fn remove_sub(&self, name: &str) -> Result<()> {
        self.unlink(name, AtFlags::REMOVEDIR)
    }

    /// Removes what has this name in it, with all that it holds; no link is followed. What is not there is as good.
    ///
    /// # Errors
    /// What the system says.
    pub fn remove_all(&self, name: &str) -> Result<()> {
        // By the handle; the library follows no link either.
        let through = Path::new("/proc/self/fd").join(self.handle.as_raw_fd().to_string()).join(name);
        match std::fs::remove_dir_all(through) {
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => self.remove(name),
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(FilesError::io("remove", &self.path.join(name), e)),
            _ => Ok(()),
        }
    }

    fn unlink(&self, name: &str, flags: AtFlags) -> Result<()> {
        match rustix::fs::unlinkat(&self.handle, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(FilesError::io("remove", &self.path.join(name), e)),
        }
    }

    /// Who gets at it.
    ///
    /// # Errors
    /// What the system says.
    pub fn audience(&self) -> Result<Audience> {
        Audience::of(&self.handle, &self.path)
    }

    /// Takes the rights of all but its owner.
    ///
    /// # Errors
    /// What the system says.
    pub fn make_private(&self) -> Result<()> {
        rustix::fs::fchmod(&self.handle, Rights::PRIVATE.folder).map_err(|e| FilesError::io("close", &self.path, e))
    }

    /// What no other folder has as long as this one is there: its device and its number on it.
    ///
    /// # Errors
    /// What the system says.
    pub fn identity(&self) -> Result<(u64, u64)> {
        let stat = stat(&self.handle, &self.path)?;
        Ok((stat.st_dev, stat.st_ino))
    }

    fn rights(&self) -> Result<Rights> {
        Rights::inside(self.handle.as_fd(), &self.path)
    }

    /// The names in it that are text, sorted.
    ///
    /// # Errors
    /// What the system says.
    pub fn names(&self) -> Result<Vec<String>> {
        names(self.handle.as_fd(), &self.path)
    }

    /// Returns when the names in it are on the disk.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> Result<()> {
        rustix::fs::fsync(&self.handle).map_err(|e| FilesError::io("sync", &self.path, e))
    }

    fn believed(&self, file: File, path: &Path) -> Result<File> {
        self.trust.check(&file, path)?;
        // Who owns a folder of anyone's could have given a file of this user's a name in it, and what is made of it is
        // for all who may read the folder.
        if self.trust == Trust::Anyone {
            let found = stat(&file, path)?;
            if found.st_nlink > 1 && found.st_uid != stat(&self.handle, &self.path)?.st_uid {
                return Err(FilesError::Linked(path.to_owned()));
            }
        }
        Ok(file)
    }
}

/// The names in an open folder that are text, sorted.
pub(crate) fn names(folder: BorrowedFd<'_>, path: &Path) -> Result<Vec<String>> {
    let failed = |e| FilesError::io("list", path, e);
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_str().map(str::to_owned);
        names.extend(name.ok().filter(|name| name != "." && name != ".."));
    }
    names.sort();
    Ok(names)
}

/// The folder that a path is made in, and its name there.
fn split(path: &Path) -> Result<(&Path, &OsStr)> {
    let name = path.file_name().ok_or_else(|| FilesError::io("create", path, Errno::NOENT))?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    Ok((above.unwrap_or(Path::new(".")), name))
}

/// A folder to make another in, with those above it made where missing. Nothing is made where it would not be believed.
fn made_above(path: &Path, trust: Trust) -> Result<OwnedFd> {
    if let Some(folder) = walk::open_above(path, trust)? {
        return Ok(folder);
    }
    let (above, name) = split(path)?;
    make(made_above(above, trust)?.as_fd(), name, Rights::of_results(), path)?;
    walk::open_above(path, trust)?.ok_or_else(|| FilesError::io("create", path, Errno::NOENT))
}

/// Makes a folder; one that is there already is looked at by who opens it.
fn make(above: BorrowedFd<'_>, name: &OsStr, rights: Rights, path: &Path) -> Result<()> {
    match rustix::fs::mkdirat(above, name, rights.folder) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(e) => Err(FilesError::io("create", path, e)),
    }
}
