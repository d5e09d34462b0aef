//! Whose a file is, and who else could have changed it or put another in its place.

use crate::error::{FilesError, Result};
use crate::group;
use rustix::fs::{Mode, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

/// Permission bits that let others write.
pub(crate) const OTHERS_WRITE: u32 = 0o022;
/// Of these, the one of the group.
const GROUP_WRITES: u32 = 0o020;
/// A folder in which only owners rename and remove their own.
const STICKY: u32 = 0o1000;

/// User id of this process, the one that permissions are asked for.
pub(crate) fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// What an open file or folder is.
pub(crate) fn stat(file: impl AsFd, path: &Path) -> Result<Stat> {
    rustix::fs::fstat(file).map_err(|e| FilesError::io("access", path, e))
}

/// User id of who owns `path`; a link's own, not that of the place it leads to.
///
/// # Errors
/// When it cannot be looked at.
pub fn owner_of(path: &Path) -> Result<u32> {
    Ok(rustix::fs::lstat(path).map_err(|e| FilesError::io("access", path, e))?.st_uid)
}

/// Whose files are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// This user's and root's, where no one else could have changed them or put others in their place.
    Own {
        /// Who called sudo: what is theirs counts as this user's.
        caller: Option<u32>,
    },
    /// Anyone's: they are read as data, or the user has said so.
    Anyone,
}

impl Trust {
    /// This user's and root's alone.
    pub(crate) const OWN: Self = Self::Own { caller: None };

    /// What a path led to: believed when its owner is, and no one else may write to it.
    pub(crate) fn check(self, opened: impl AsFd, path: &Path) -> Result<()> {
        let stat = stat(&opened, path)?;
        self.check_owner(&stat, path)?;
        match self {
            Self::Anyone => Ok(()),
            Self::Own { .. } => check_closed(opened.as_fd(), &stat, path),
        }
    }

    /// A folder on the way must keep others from putting something else under a name in it: owned by one who is
    /// believed, and not open to the writing of others, unless it is sticky as /tmp is.
    pub(crate) fn check_above(self, opened: impl AsFd, path: &Path) -> Result<()> {
        let stat = stat(&opened, path)?;
        self.check_link(&stat, path)?;
        match self {
            Self::Own { .. } if stat.st_mode & STICKY == 0 => check_closed(opened.as_fd(), &stat, path),
            _ => Ok(()),
        }
    }

    /// A link on the way leads where its owner wants.
    pub(crate) fn check_link(self, stat: &Stat, path: &Path) -> Result<()> {
        if self != Self::Anyone && is_outside_this_namespace(stat.st_uid) {
            return Ok(());
        }
        self.check_owner(stat, path)
    }

    fn check_owner(self, stat: &Stat, path: &Path) -> Result<()> {
        let Self::Own { caller } = self else { return Ok(()) };
        let me = me();
        if stat.st_uid == me || stat.st_uid == 0 || caller == Some(stat.st_uid) {
            return Ok(());
        }
        Err(FilesError::Foreign { path: path.to_owned(), owner: stat.st_uid, me })
    }
}

/// No one else may write. A group of one's own (umask 002, as many distributions have it) counts as oneself, but never
/// for root, whose group others may be in.
fn check_closed(opened: BorrowedFd<'_>, stat: &Stat, path: &Path) -> Result<()> {
    let mode = stat.st_mode & 0o7777;
    let of_own_group = || stat.st_gid == rustix::process::getegid().as_raw() && group::is_own() && !has_list(opened);
    match mode & OTHERS_WRITE {
        0 => Ok(()),
        GROUP_WRITES if of_own_group() => Ok(()),
        _ => Err(FilesError::Open { path: path.to_owned(), mode }),
    }
}

/// Whether an access control list says who else may do what: what the group may do is then what anyone in it may
/// (acl(5)).
pub(crate) fn has_list(opened: BorrowedFd<'_>) -> bool {
    let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
    let found = rustix::fs::getxattr(path, "system.posix_acl_access", &mut [0_u8]);
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

/// In a user namespace every owner from outside looks like the overflow user: the folders above a container's.
fn is_outside_this_namespace(uid: u32) -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let overflow: u32 = read("/proc/sys/kernel/overflowuid").trim().parse().unwrap_or(65534);
    uid == overflow && !maps(&read("/proc/self/uid_map"), uid)
}

/// Whether a `uid_map` (user_namespaces(7)) has this id inside.
fn maps(uid_map: &str, uid: u32) -> bool {
    uid_map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        matches!(numbers[..], [inside, _, count] if (inside..inside + count).contains(&u64::from(uid)))
    })
}

/// Permission bits of a folder that is not its owner's alone.
const OTHERS_ENTER: u32 = 0o077;

/// Permissions of a new folder and of the files in it, before the umask takes more away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rights {
    pub folder: Mode,
    pub file: Mode,
}

impl Rights {
    /// For the owner alone.
    pub const PRIVATE: Self = Self { folder: Mode::from_raw_mode(0o700), file: Mode::from_raw_mode(0o600) };
    /// For others to read.
    pub const SHOWN: Self = Self { folder: Mode::from_raw_mode(0o755), file: Mode::from_raw_mode(0o644) };

    /// Of a new folder of results. Root's logs and captures show what others may not see: root says itself who may.
    pub fn of_results() -> Self {
        if rustix::process::geteuid().is_root() { Self::PRIVATE } else { Self::SHOWN }
    }

    /// Of what is made in a folder: private where that is.
    pub fn inside(folder: BorrowedFd<'_>, path: &Path) -> Result<Self> {
        let stat = rustix::fs::fstat(folder).map_err(|e| FilesError::io("access the folder of", path, e))?;
        Ok(if stat.st_mode & OTHERS_ENTER == 0 { Self::PRIVATE } else { Self::SHOWN })
    }
}

/// Who gets at what was read, as its open handle says: its name may lead elsewhere a moment later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audience {
    /// Others too, as far as its own rights let them.
    #[default]
    Anyone,
    /// No one but its owner.
    Owner,
}

impl Audience {
    /// Of a file or folder that is open; `path` is for the error.
    ///
    /// # Errors
    /// What the system says.
    pub fn of(open: impl AsFd, path: &Path) -> Result<Self> {
        let stat = rustix::fs::fstat(open).map_err(|e| FilesError::io("access", path, e))?;
        Ok(if stat.st_mode & OTHERS_ENTER == 0 { Self::Owner } else { Self::Anyone })
    }

    /// Of what is made of all of these.
    pub fn of_all(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().max().unwrap_or_default()
    }
}

/// From here on nothing that this process or its children make can be written to by others, whatever umask it was
/// started with.
pub fn close_to_others() {
    let closed = Mode::from_raw_mode(OTHERS_WRITE);
    let found = rustix::process::umask(closed);
    rustix::process::umask(found | closed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_map_of_a_whole_machine_has_the_overflow_user() {
        assert!(maps("         0          0 4294967295\n", 65534));
        assert!(!maps("         0       1000          1\n", 65534));
        assert!(!maps("", 65534));
    }
}
