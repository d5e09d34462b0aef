//! An open folder. Its files are opened through its handle, so renaming it has no effect. Links are not followed.

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

/// The most names of a folder: the largest plan has some logs for each of its trials, and a folder of others may have
/// any number.
const MOST_NAMES: usize = 4_000_000;

/// An open folder of results. What is opened in it is checked with the same [`Trust`] as the folder itself. New files
/// and folders in it are never writable for others, and are private if the folder is private. A folder that root
/// creates is private unless root changes its mode.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: OwnedFd,
    trust: Trust,
}

impl Folder {
    /// Opens a folder; `None` if it does not exist. Links in the path, including the last component, are followed if
    /// they are trusted.
    ///
    /// # Errors
    /// [`FilesError::Foreign`] and [`FilesError::Open`] when it, or a folder or link in its path, belongs to another
    /// user or is writable for others; [`FilesError::WrongKind`] if it is not a folder; the system's error.
    pub fn open(path: &Path, trust: Trust) -> Result<Option<Self>> {
        let handle = walk::open(path, FOLDER, trust, Last::Followed)?;
        Ok(handle.map(|handle| Self { path: path.to_owned(), handle, trust }))
    }

    /// Opens a folder; creates it and its parents where missing.
    ///
    /// # Errors
    /// As [`Folder::open`].
    pub fn open_or_create(path: &Path, trust: Trust) -> Result<Self> {
        if let Some(folder) = Self::open(path, trust)? {
            return Ok(folder);
        }
        let (above, name) = split(path)?;
        let above = made_above(above, Rights::of_results(), trust)?;
        Self::make_in(above.as_fd(), name, Rights::of_results(), path.to_owned(), trust)
    }

    fn make_in(above: BorrowedFd<'_>, name: &OsStr, rights: Rights, path: PathBuf, trust: Trust) -> Result<Self> {
        make(above, name, rights, &path)?;
        let handle = rustix::fs::openat(above, name, FOLDER | OFlags::NOFOLLOW, Mode::empty());
        let handle = handle.map_err(|e| no_folder(e, &path))?;
        trust.check(&handle, &path)?;
        // A default ACL that is inherited from the parent would replace the umask for new files (acl(5)).
        let _ = rustix::fs::fremovexattr(&handle, "system.posix_acl_default");
        Ok(Self { path, handle, trust })
    }

    /// Opens a subfolder; creates it if missing.
    ///
    /// # Errors
    /// As [`Folder::sub`].
    pub fn make_sub(&self, name: &str) -> Result<Self> {
        let path = self.inside(name)?;
        Self::make_in(self.handle.as_fd(), OsStr::new(name), self.rights()?, path, self.trust)
    }

    /// Opens a subfolder; `None` if it does not exist. Links are not followed.
    ///
    /// # Errors
    /// [`FilesError::WrongKind`] for a link or a file; the errors of [`Folder::open`].
    pub fn sub(&self, name: impl AsRef<OsStr>) -> Result<Option<Self>> {
        let path = self.inside(&name)?;
        match rustix::fs::openat(&self.handle, name.as_ref(), FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(handle) => {
                self.trust.check(&handle, &path)?;
                Ok(Some(Self { path, handle, trust: self.trust }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(no_folder(e, &path)),
        }
    }

    /// Its path, as it was given: for messages, and for programs that only accept a path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file in it for reading; `None` if it does not exist.
    ///
    /// # Errors
    /// [`FilesError::Link`]; [`FilesError::WrongKind`]; if it is not trusted; the system's error.
    pub fn file(&self, name: impl AsRef<OsStr>) -> Result<Option<File>> {
        let path = self.inside(&name)?;
        let file = open_at(&self.handle, name.as_ref(), READ);
        opened(file, &path)?.map(|file| self.believed(file, &path)).transpose()
    }

    /// The content of a regular file in it; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Folder::file`], and [`FilesError::TooLarge`].
    pub fn read(&self, name: &str, limit: u64) -> Result<Option<Vec<u8>>> {
        self.file(name)?.map(|file| read_all(file, &self.path.join(name), limit)).transpose()
    }

    /// The content of a regular file in it or in a folder below it; `None` if it does not exist. No link in the path is
    /// followed, so the file is inside the folder.
    ///
    /// # Errors
    /// As [`Folder::read`]; [`FilesError::Outside`] for a path that is absolute or contains `..`.
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

    /// Writes a file in it completely or not at all, and syncs it.
    ///
    /// # Errors
    /// The system's error. The old content then remains, unless only the final sync of the folder failed.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.write_with(name, |file| file.write_all(bytes))
    }

    /// As [`Folder::write`], for content that is too large for memory: `content` writes it, through a buffer.
    ///
    /// # Errors
    /// As [`Folder::write`]; the error of `content`.
    pub fn write_with(
        &self,
        name: &str,
        content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<()> {
        let (mode, path) = (self.rights()?.file, self.inside(name)?);
        write_in(self.handle.as_fd(), OsStr::new(name), content, mode, &path)
    }

    /// Opens a regular file in it for appending and reading; creates it if missing.
    ///
    /// # Errors
    /// As [`Folder::file`]; [`FilesError::Linked`] for a file with several hard links in a folder of [`Trust::Anyone`].
    pub fn append(&self, name: &str) -> Result<File> {
        self.append_with(name, self.rights()?)
    }

    /// Opens a lock file in it; creates it if missing. Its mode excludes other users: a user who can open it could lock
    /// it.
    ///
    /// # Errors
    /// As [`Folder::append`].
    pub fn lock_file(&self, name: &str) -> Result<File> {
        let file = self.append_with(name, Rights::PRIVATE)?;
        let path = self.path.join(name);
        if stat(&file, &path)?.st_uid == me() {
            // Older versions created it readable for others.
            rustix::fs::fchmod(&file, Rights::PRIVATE.file).map_err(|e| FilesError::io("close", &path, e))?;
        }
        Ok(file)
    }

    fn append_with(&self, name: &str, rights: Rights) -> Result<File> {
        let path = self.inside(name)?;
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = rustix::fs::openat(&self.handle, name, flags | OFlags::CLOEXEC, rights.file);
        let file = file.map_err(|e| FilesError::io("open", &path, e))?;
        check_regular(&file, &path)?;
        // A user who may write to the folder could have hard-linked any file there (proc_sys_fs(5),
        // protected_hardlinks).
        if self.trust == Trust::Anyone && stat(&file, &path)?.st_nlink > 1 {
            return Err(FilesError::Linked(path));
        }
        self.believed(File::from(file), &path)
    }

    /// Creates a new empty file for a log. An existing file of that name is removed first, so that no older file of
    /// another owner is written to.
    ///
    /// # Errors
    /// The system's error, with the path.
    pub fn new_log(&self, name: &str) -> Result<File> {
        new_in(self.handle.as_fd(), OsStr::new(name), OFlags::APPEND, self.rights()?.file, &self.inside(name)?)
    }

    /// Creates a new empty file for a copy of `of`. Its permissions are at most those of `of`.
    ///
    /// # Errors
    /// As [`Folder::new_log`].
    pub fn new_copy(&self, name: &str, of: &File) -> Result<File> {
        let path = self.inside(name)?;
        let stat = stat(of, &path)?;
        let mode = self.rights()?.file & Mode::from_raw_mode(stat.st_mode);
        new_in(self.handle.as_fd(), OsStr::new(name), OFlags::empty(), mode, &path)
    }

    /// The same folder, with a second handle.
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

    /// The path of a name in it through its handle, for functions and programs that only accept a path. Valid while the
    /// folder is open. If this process is not dumpable, its /proc files belong to root and other programs cannot use
    /// them: the plain path is returned then.
    pub fn path_by_handle(&self, name: &str) -> PathBuf {
        match dumpable_behavior() {
            Ok(DumpableBehavior::Dumpable) => {
                let (process, handle) = (getpid().as_raw_nonzero(), self.handle.as_raw_fd());
                PathBuf::from(format!("/proc/{process}/fd/{handle}")).join(name)
            }
            _ => self.path.join(name),
        }
    }

    /// Removes a file in it. A missing file is not an error.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.unlink(name, AtFlags::empty())
    }

    /// Removes an empty subfolder. A missing one is not an error.
    ///
    /// # Errors
    /// The system's error, for example if the subfolder is not empty.
    pub fn remove_sub(&self, name: &str) -> Result<()> {
        self.unlink(name, AtFlags::REMOVEDIR)
    }

    /// Removes a file or subfolder in it, recursively; no link is followed. A missing one is not an error.
    ///
    /// # Errors
    /// The system's error.
    pub fn remove_all(&self, name: &str) -> Result<()> {
        let path = self.inside(name)?;
        // Through the handle; `remove_dir_all` follows no link either.
        let through = Path::new("/proc/self/fd").join(self.handle.as_raw_fd().to_string()).join(name);
        match std::fs::remove_dir_all(through) {
            Err(e) if e.kind() == io::ErrorKind::NotADirectory => self.remove(name),
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(FilesError::io("remove", &path, e)),
            _ => Ok(()),
        }
    }

    fn unlink(&self, name: &str, flags: AtFlags) -> Result<()> {
        let path = self.inside(name)?;
        match rustix::fs::unlinkat(&self.handle, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(e) => Err(FilesError::io("remove", &path, e)),
        }
    }

    /// Which users can access it.
    ///
    /// # Errors
    /// The system's error.
    pub fn audience(&self) -> Result<Audience> {
        Audience::of(&self.handle, &self.path)
    }

    /// Removes the permissions of all users except its owner.
    ///
    /// # Errors
    /// The system's error.
    pub fn make_private(&self) -> Result<()> {
        rustix::fs::fchmod(&self.handle, Rights::PRIVATE.folder).map_err(|e| FilesError::io("close", &self.path, e))
    }

    /// Device and inode number, which are unique as long as the folder exists.
    ///
    /// # Errors
    /// The system's error.
    pub fn identity(&self) -> Result<(u64, u64)> {
        let stat = stat(&self.handle, &self.path)?;
        Ok((stat.st_dev, stat.st_ino))
    }

    /// The path of a name in it: a name with several parts, or `..`, would lead to another folder.
    fn inside(&self, name: impl AsRef<OsStr>) -> Result<PathBuf> {
        let name = Path::new(&name);
        match names_inside(name, &self.path)? {
            (folders, last) if folders.is_empty() && last.len() == name.as_os_str().len() => Ok(self.path.join(last)),
            _ => Err(FilesError::Outside { path: name.to_owned(), folder: self.path.clone() }),
        }
    }

    fn rights(&self) -> Result<Rights> {
        Rights::inside(self.handle.as_fd(), &self.path)
    }

    /// The names in it that are valid UTF-8, sorted.
    ///
    /// # Errors
    /// The system's error.
    pub fn names(&self) -> Result<Vec<String>> {
        names(self.handle.as_fd(), &self.path)
    }

    /// Syncs the folder: returns when the names in it are on the disk.
    ///
    /// # Errors
    /// The system's error.
    pub fn sync(&self) -> Result<()> {
        rustix::fs::fsync(&self.handle).map_err(|e| FilesError::io("sync", &self.path, e))
    }

    fn believed(&self, file: File, path: &Path) -> Result<File> {
        self.trust.check(&file, path)?;
        // The owner of an untrusted folder could have hard-linked a file of this user there. Output that is made from
        // it would then be readable for everyone who may read the folder.
        if self.trust == Trust::Anyone {
            let found = stat(&file, path)?;
            if found.st_nlink > 1 && found.st_uid != stat(&self.handle, &self.path)?.st_uid {
                return Err(FilesError::Linked(path.to_owned()));
            }
        }
        Ok(file)
    }
}

/// The names in an open folder that are valid UTF-8, sorted.
pub(crate) fn names(folder: BorrowedFd<'_>, path: &Path) -> Result<Vec<String>> {
    names_up_to(MOST_NAMES, folder, path)
}

pub(crate) fn names_up_to(limit: usize, folder: BorrowedFd<'_>, path: &Path) -> Result<Vec<String>> {
    let failed = |e| FilesError::io("list", path, e);
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_str().map(str::to_owned);
        names.extend(name.ok().filter(|name| name != "." && name != ".."));
        if names.len() > limit {
            return Err(FilesError::TooMany { path: path.to_owned(), limit });
        }
    }
    names.sort();
    Ok(names)
}

/// The parent folder of a path, and its name there.
pub(crate) fn split(path: &Path) -> Result<(&Path, &OsStr)> {
    let name = path.file_name().ok_or_else(|| FilesError::io("create", path, Errno::NOENT))?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty());
    Ok((above.unwrap_or(Path::new(".")), name))
}

/// Opens a parent folder; creates it and its own parents where missing. Nothing is created in an untrusted place.
pub(crate) fn made_above(path: &Path, rights: Rights, trust: Trust) -> Result<OwnedFd> {
    if let Some(folder) = walk::open_above(path, trust)? {
        return Ok(folder);
    }
    let (above, name) = split(path)?;
    let above = made_above(above, rights, trust)?;
    make(above.as_fd(), name, rights, path)?;
    // Opened in its parent and not by its whole path, whose walk would make the work grow with the square of the depth.
    walk::open_made(&above, name, path, trust)
}

/// Creates a folder. An existing one is not an error here: the function that opens it checks it.
fn make(above: BorrowedFd<'_>, name: &OsStr, rights: Rights, path: &Path) -> Result<()> {
    match rustix::fs::mkdirat(above, name, rights.folder) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(e) => Err(FilesError::io("create", path, e)),
    }
}
