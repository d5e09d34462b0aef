//! Checks the owner and the permissions of a file: which user could have changed or replaced it, and whether this user
//! is the only member of their group.

use crate::error::{FilesError, Result};
use rustix::fs::{Mode, Stat};
use rustix::io::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use std::sync::OnceLock;

/// Permission bits that let others write.
pub(crate) const OTHERS_WRITE: u32 = 0o022;
/// The permission bit that lets the group write.
const GROUP_WRITES: u32 = 0o020;
/// The sticky bit: in such a folder, users can rename and remove only their own files.
const STICKY: u32 = 0o1000;

/// The effective user id of this process.
pub(crate) fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// The metadata of an open file or folder.
pub(crate) fn stat(file: impl AsFd, path: &Path) -> Result<Stat> {
    rustix::fs::fstat(file).map_err(|e| FilesError::io("access", path, e))
}

/// User id of the owner of `path`. A symbolic link is not followed.
///
/// # Errors
/// When the path does not exist or may not be accessed.
pub fn owner_of(path: &Path) -> Result<u32> {
    Ok(rustix::fs::lstat(path).map_err(|e| FilesError::io("access", path, e))?.st_uid)
}

/// Which owners of files are trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Files of this user and of root, if no other user could have changed or replaced them.
    Own {
        /// The user who called sudo, whose files are trusted as well.
        caller: Option<u32>,
    },
    /// Files of any user: they are only read as data, or the user has accepted them explicitly.
    Anyone,
}

impl Trust {
    /// Only files of this user and of root.
    pub(crate) const OWN: Self = Self::Own { caller: None };

    /// Checks the file or folder at the end of a path: its owner must be trusted, and no other user may write to it.
    pub(crate) fn check(self, opened: impl AsFd, path: &Path) -> Result<()> {
        let stat = stat(&opened, path)?;
        self.check_owner(&stat, path)?;
        match self {
            Self::Anyone => Ok(()),
            Self::Own { .. } => check_closed(opened.as_fd(), &stat, path),
        }
    }

    /// Checks a folder in the path, in which other users must not be able to replace a name: its owner must be trusted,
    /// and others may write to it only if it is sticky, as /tmp is.
    pub(crate) fn check_above(self, opened: impl AsFd, path: &Path) -> Result<()> {
        let stat = stat(&opened, path)?;
        self.check_link(&stat, path)?;
        match self {
            Self::Own { .. } if stat.st_mode & STICKY == 0 => check_closed(opened.as_fd(), &stat, path),
            _ => Ok(()),
        }
    }

    /// Checks the owner of a link in the path, who decides where it leads. Owners outside this namespace are accepted.
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

/// Checks that no other user may write. The user's own group (umask 002 of many distributions) may write, except for
/// root, whose group may have other members.
fn check_closed(opened: BorrowedFd<'_>, stat: &Stat, path: &Path) -> Result<()> {
    let mode = stat.st_mode & 0o7777;
    let of_own_group = || stat.st_gid == rustix::process::getegid().as_raw() && is_own_group() && !has_list(opened);
    match mode & OTHERS_WRITE {
        0 => Ok(()),
        GROUP_WRITES if of_own_group() => Ok(()),
        _ => Err(FilesError::Open { path: path.to_owned(), mode }),
    }
}

/// Whether it has an access control list. The group bits of the mode are then the mask of all entries of the list
/// (acl(5)).
pub(crate) fn has_list(opened: BorrowedFd<'_>) -> bool {
    let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
    let found = rustix::fs::getxattr(path, "system.posix_acl_access", &mut [0_u8]);
    !matches!(found, Err(Errno::NODATA | Errno::OPNOTSUPP))
}

/// Whether the owner is outside this user namespace, as of folders above a container: it appears as the overflow user.
fn is_outside_this_namespace(uid: u32) -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let overflow: u32 = read("/proc/sys/kernel/overflowuid").trim().parse().unwrap_or(65534);
    uid == overflow && !maps(&read("/proc/self/uid_map"), uid)
}

/// Whether a `uid_map` (user_namespaces(7)) maps this id of the namespace.
fn maps(uid_map: &str, uid: u32) -> bool {
    uid_map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        matches!(numbers[..], [inside, _, count] if (inside..inside + count).contains(&u64::from(uid)))
    })
}

/// Permission bits that give access to others than the owner.
const OTHERS_ENTER: u32 = 0o077;

/// Permissions of a new folder and of the files in it, before the umask takes more away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rights {
    pub folder: Mode,
    pub file: Mode,
}

impl Rights {
    /// Access for the owner alone.
    pub(crate) const PRIVATE: Self = Self { folder: Mode::from_raw_mode(0o700), file: Mode::from_raw_mode(0o600) };
    /// Readable for all users.
    pub(crate) const SHOWN: Self = Self { folder: Mode::from_raw_mode(0o755), file: Mode::from_raw_mode(0o644) };

    /// Permissions of a new folder of results. That of root is private, because logs and captures may contain what
    /// other users may not see.
    pub(crate) fn of_results() -> Self {
        if rustix::process::geteuid().is_root() { Self::PRIVATE } else { Self::SHOWN }
    }

    /// Permissions of new files in a folder: private if the folder is.
    pub(crate) fn inside(folder: BorrowedFd<'_>, path: &Path) -> Result<Self> {
        let stat = rustix::fs::fstat(folder).map_err(|e| FilesError::io("access the folder of", path, e))?;
        Ok(if stat.st_mode & OTHERS_ENTER == 0 { Self::PRIVATE } else { Self::SHOWN })
    }
}

/// Which users can access something, read from its open handle because its name may be replaced at any time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audience {
    /// Others too, as far as its permissions allow.
    #[default]
    Anyone,
    /// Only its owner (or root).
    Owner,
}

impl Audience {
    /// The audience of an open file or folder; `path` is for the error.
    ///
    /// # Errors
    /// The system's error.
    pub fn of(open: impl AsFd, path: &Path) -> Result<Self> {
        let stat = rustix::fs::fstat(open).map_err(|e| FilesError::io("access", path, e))?;
        Ok(if stat.st_mode & OTHERS_ENTER == 0 { Self::Owner } else { Self::Anyone })
    }

    /// The audience of output made from several inputs: the narrowest of theirs.
    pub fn of_all(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().max().unwrap_or_default()
    }
}

/// Changes the umask so that files which this process or its children create are not writable for group and others.
pub fn close_to_others() {
    let closed = Mode::from_raw_mode(OTHERS_WRITE);
    let found = rustix::process::umask(closed);
    rustix::process::umask(found | closed);
}

/// Whether the group of this process has no other member except root; always false for root. Only the local files are
/// read, because a directory service on the network may not answer: a group that they do not list may have any member,
/// and the result is false.
fn is_own_group() -> bool {
    static OWN: OnceLock<bool> = OnceLock::new();
    *OWN.get_or_init(|| {
        let read = |path: &str| String::from_utf8_lossy(&std::fs::read(path).unwrap_or_default()).into_owned();
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        !user.is_root() && is_alone_in_group(&read("/etc/passwd"), &read("/etc/group"), user.as_raw(), group.as_raw())
    })
}

/// The decision, from the lines of passwd(5) and group(5).
fn is_alone_in_group(users: &str, groups: &str, user: u32, group: u32) -> bool {
    let number = |line: &str, field: usize| line.split(':').nth(field)?.parse::<u32>().ok();
    let is_root = |line: &str| number(line, 2) == Some(0);
    let is_me = |line: &str| number(line, 2) == Some(user);
    let name = |line: &'_ str| line.split(':').next().unwrap_or_default().to_owned();
    let believed: Vec<String> = users.lines().filter(|line| is_me(line) || is_root(line)).map(name).collect();
    let begins_with_it = |line: &str| number(line, 3) == Some(group) && !is_me(line) && !is_root(line);
    let mut same = groups.lines().filter(|line| number(line, 2) == Some(group)).peekable();
    let is_listed = same.peek().is_some();
    let mut members = same.flat_map(|line| line.split(':').nth(3).unwrap_or_default().split(','));
    is_listed
        && !users.lines().any(begins_with_it)
        && members.all(|member| member.is_empty() || believed.iter().any(|known| known == member))
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

    #[test]
    fn a_group_with_another_member_is_not_private() {
        let users = "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\nben:x:1001:100::/:/bin/sh\n\
                     carl:x:1002:100::/:/bin/sh\n";
        let groups = "ann:x:1000:\nusers:x:100:\nteam:x:2000:ben,ann\nalone:x:2001:root,ann\n";
        let of = |user, group| is_alone_in_group(users, groups, user, group);
        assert!(of(1000, 1000) && of(1000, 2001));
        assert!(!of(1001, 100), "it is also the first group of another user");
        assert!(!of(1000, 2000), "another user is in it");
        assert!(!of(1000, 3000), "not listed");
        assert!(!is_alone_in_group(users, &format!("{groups}other:x:1000:ben\n"), 1000, 1000), "under another name");
        assert!(!is_alone_in_group("", "", 1000, 1000));
    }
}
