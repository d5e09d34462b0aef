//! Resolves a path component by component: each folder is opened and checked, and the next name is opened relative to
//! its handle. So the folders that were checked are the ones that are used, even if names are replaced meanwhile.

use crate::error::{FilesError, Result};
use crate::owner::{Trust, stat};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// Opening only to inspect or traverse.
const LOOK: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
/// Symbolic links in a path, at most: the kernel's limit.
const MOST_LINKS: u32 = 40;

/// Whether a link in the last component is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    Followed,
    NoLink,
}

/// Opens the file or folder at a path; `None` if it does not exist. It and the folders and links in the path are
/// checked.
///
/// # Errors
/// [`FilesError::Foreign`] and [`FilesError::Open`] for what is not trusted; [`FilesError::Link`];
/// [`FilesError::WrongKind`] for a file in the place of a folder; the system's error.
pub(crate) fn open(path: &Path, flags: OFlags, trust: Trust, last: Last) -> Result<Option<OwnedFd>> {
    let Some(opened) = go(path, flags, trust, last)? else { return Ok(None) };
    trust.check(&opened, path)?;
    Ok(Some(opened))
}

/// Opens a folder in which another is created. It may be sticky and writable for others, as /tmp is, and need not be
/// readable.
pub(crate) fn open_above(path: &Path, trust: Trust) -> Result<Option<OwnedFd>> {
    let Some(opened) = go(path, LOOK | OFlags::DIRECTORY, trust, Last::Followed)? else { return Ok(None) };
    trust.check_above(&opened, path)?;
    Ok(Some(opened))
}

/// Opens a folder that was just created in the open folder `above`, as [`open_above`] opens it. A link in its place is
/// not followed.
pub(crate) fn open_made(above: &OwnedFd, name: &OsStr, path: &Path, trust: Trust) -> Result<OwnedFd> {
    let flags = LOOK | OFlags::DIRECTORY | OFlags::NOFOLLOW;
    let made = rustix::fs::openat(above, name, flags, Mode::empty()).map_err(|e| no_folder(e, path))?;
    trust.check_above(&made, path)?;
    Ok(made)
}

fn go(path: &Path, flags: OFlags, trust: Trust, last: Last) -> Result<Option<OwnedFd>> {
    let whole = std::path::absolute(path).map_err(|e| FilesError::io("resolve", path, e))?;
    let mut walk = Walk::from_root(trust)?;
    walk.go_by(&whole);
    walk.open(flags, last)
}

#[cfg(test)]
thread_local! {
    /// Names that this thread has opened in walks.
    pub(crate) static OPENED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

struct Walk {
    at: OwnedFd,
    /// The path of `at`.
    here: PathBuf,
    /// Remaining names in reverse order: the next one is last.
    rest: Vec<OsString>,
    links: u32,
    trust: Trust,
}

impl Walk {
    fn from_root(trust: Trust) -> Result<Self> {
        let (here, rest) = (PathBuf::from("/"), Vec::new());
        Ok(Self { at: root(&here, trust)?, here, rest, links: 0, trust })
    }

    /// Inserts the names of a path before the remaining ones.
    fn go_by(&mut self, path: &Path) {
        let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        let names: Vec<OsString> = names.map(|part| part.as_os_str().to_owned()).collect();
        self.rest.extend(names.into_iter().rev());
    }

    fn open(&mut self, flags: OFlags, last: Last) -> Result<Option<OwnedFd>> {
        while let Some(name) = self.rest.pop() {
            #[cfg(test)]
            OPENED.set(OPENED.get() + 1);
            let path = self.path_of(&name);
            let next = match rustix::fs::openat(&self.at, &name, LOOK | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) => return Ok(None),
                Err(e) => return Err(FilesError::io("open", &path, e)),
            };
            let found = stat(&next, &path)?;
            let is_last = self.rest.is_empty();
            let mut follow = OFlags::NOFOLLOW;
            if kind(&found) == FileType::Symlink {
                if is_last && last == Last::NoLink {
                    return Err(FilesError::Link(path));
                }
                self.trust.check_link(&found, &path)?;
                if !is_of_the_kernel(&next, &path)? {
                    self.follow(&next, &path)?;
                    continue;
                }
                follow = OFlags::empty();
            }
            if is_last {
                return last_of(&self.at, &name, flags | follow, &path);
            }
            self.enter(&name, follow, path)?;
        }
        last_of(&self.at, OsStr::new("."), flags, &self.here)
    }

    fn path_of(&self, name: &OsStr) -> PathBuf {
        // Links are already resolved, so the parent of `here` is the parent of `at`.
        if name == ".." { self.here.parent().unwrap_or(&self.here).to_owned() } else { self.here.join(name) }
    }

    fn enter(&mut self, name: &OsStr, follow: OFlags, path: PathBuf) -> Result<()> {
        let next = rustix::fs::openat(&self.at, name, LOOK | OFlags::DIRECTORY | follow, Mode::empty());
        self.at = next.map_err(|e| no_folder(e, &path))?;
        self.trust.check_above(&self.at, &path)?;
        self.here = path;
        Ok(())
    }

    /// Continues at the target of an open link.
    fn follow(&mut self, link: &OwnedFd, path: &Path) -> Result<()> {
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(FilesError::io("follow", path, Errno::LOOP));
        }
        let target = rustix::fs::readlinkat(link, "", Vec::new()).map_err(|e| FilesError::io("follow", path, e))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            self.here = PathBuf::from("/");
            self.at = root(&self.here, self.trust)?;
        }
        self.go_by(&target);
        Ok(())
    }
}

fn root(path: &Path, trust: Trust) -> Result<OwnedFd> {
    let root = rustix::fs::open(path, LOOK | OFlags::DIRECTORY, Mode::empty());
    let root = root.map_err(|e| FilesError::io("open", path, e))?;
    trust.check_above(&root, path)?;
    Ok(root)
}

fn last_of(at: &OwnedFd, name: &OsStr, flags: OFlags, path: &Path) -> Result<Option<OwnedFd>> {
    match rustix::fs::openat(at, name, flags | OFlags::CLOEXEC, Mode::empty()) {
        Ok(opened) => Ok(Some(opened)),
        Err(Errno::NOENT) => Ok(None),
        Err(e) => Err(no_folder(e, path)),
    }
}

/// The error for a folder that cannot be opened. With O_DIRECTORY and O_NOFOLLOW, a link also fails with ENOTDIR.
pub(crate) fn no_folder(e: Errno, path: &Path) -> FilesError {
    match e {
        Errno::NOTDIR => FilesError::WrongKind { path: path.to_owned(), expected: "folder" },
        e => FilesError::io("open", path, e),
    }
}

/// Whether it is a link of /proc. The kernel must follow it, because its text does not name its target.
fn is_of_the_kernel(link: &OwnedFd, path: &Path) -> Result<bool> {
    let system = rustix::fs::fstatfs(link).map_err(|e| FilesError::io("access", path, e))?;
    Ok(system.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
