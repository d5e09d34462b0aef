//! Whose a file is, and who else could have changed it or put another in its place.

use crate::error::{FilesError, Result};
use rustix::fs::{FileType, Stat};
use std::path::{Component, Path, PathBuf};

/// Permission bits that let others write.
pub(crate) const OTHERS_WRITE: u32 = 0o022;
/// A folder in which only owners rename and remove their own.
const STICKY: u32 = 0o1000;

/// User id of this process, the one that permissions are asked for.
pub(crate) fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// User id of who owns `path`; a link's own, not that of the place it leads to.
///
/// # Errors
/// When it cannot be looked at.
pub fn owner_of(path: &Path) -> Result<u32> {
    Ok(rustix::fs::lstat(path).map_err(|e| FilesError::io("look at", path, e))?.st_uid)
}

/// Whether what `path` names is this user's or root's, no link, and closed to the writing of everybody else.
///
/// # Errors
/// [`FilesError::Foreign`], [`FilesError::Open`], [`FilesError::Link`], or that it cannot be looked at.
pub fn check_ours(path: &Path) -> Result<()> {
    let stat = rustix::fs::lstat(path).map_err(|e| FilesError::io("look at", path, e))?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        return Err(FilesError::Link(path.to_owned()));
    }
    check_owner(&stat, path)?;
    check_closed(&stat, path)
}

/// Its owner must be this user or root.
pub(crate) fn check_owner(stat: &Stat, path: &Path) -> Result<()> {
    let me = me();
    if stat.st_uid == me || stat.st_uid == 0 {
        return Ok(());
    }
    Err(FilesError::Foreign { path: path.to_owned(), owner: stat.st_uid, me })
}

/// No one else may write. A group of one's own (umask 002, as many distributions have it) counts as oneself, but never
/// for root, whose group others may be in.
pub(crate) fn check_closed(stat: &Stat, path: &Path) -> Result<()> {
    let mode = stat.st_mode & 0o7777;
    let own_group = !rustix::process::geteuid().is_root() && stat.st_gid == rustix::process::getegid().as_raw();
    let refused = if own_group { 0o002 } else { OTHERS_WRITE };
    if mode & refused == 0 { Ok(()) } else { Err(FilesError::Open { path: path.to_owned(), mode }) }
}

/// Every folder above `path` must keep others from putting something else under its name: owned by root or this user,
/// and not open to the writing of others, unless it is sticky as /tmp is.
pub(crate) fn check_ancestors(path: &Path) -> Result<()> {
    let mut above = PathBuf::new();
    let parts: Vec<Component<'_>> = path.components().collect();
    for part in &parts[..parts.len().saturating_sub(1)] {
        above.push(part);
        // Followed: a link of root's (/var/run) leads where root wants; a link of another's stands in a folder that was
        // checked before it, where sticky does not save it.
        let link = rustix::fs::lstat(&above).map_err(|e| FilesError::io("look at", &above, e))?;
        let stat = rustix::fs::stat(&above).map_err(|e| FilesError::io("look at", &above, e))?;
        for stat in [&link, &stat] {
            if !is_outside_this_namespace(stat.st_uid) {
                check_owner(stat, &above)?;
            }
        }
        if stat.st_mode & STICKY == 0 {
            check_closed(&stat, &above)?;
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_map_of_a_machine_has_nobody_and_the_map_of_one_user_has_not() {
        assert!(maps("         0          0 4294967295\n", 65534));
        assert!(!maps("         0       1000          1\n", 65534));
        assert!(!maps("", 65534));
    }
}
