//! Disk usage of files, and a check for free space before anything is written.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file system has less free space than needed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no space left on the file system of {}: {}", path.display(), self.detail())]
pub struct NoRoom {
    /// The path that would be written.
    pub path: PathBuf,
    /// What would be written, for example "the copy of the data".
    pub what: &'static str,
    /// Bytes that it needs.
    pub needed: u64,
    /// Bytes that are free there for this user.
    pub free: u64,
}

impl NoRoom {
    /// The needed and the free space as text, without the path.
    pub fn detail(&self) -> String {
        let amount = |bytes: u64| format!("{:.1} MB ({bytes} bytes)", bytes as f64 / 1e6);
        format!("{} needs {}, and {} are free", self.what, amount(self.needed), amount(self.free))
    }
}

/// Checks that the file system of `path` (or of the nearest existing folder above it) has `needed` bytes free. A file
/// system that does not report its size passes.
///
/// # Errors
/// [`NoRoom`], with the figures.
pub fn check_room(path: &Path, what: &'static str, needed: u64) -> Result<(), NoRoom> {
    let existing = path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
    let Ok(found) = rustix::fs::statvfs(existing) else { return Ok(()) };
    // Root may use the blocks that are reserved for root.
    let blocks = if rustix::process::geteuid().is_root() { found.f_bfree } else { found.f_bavail };
    let free = blocks.saturating_mul(found.f_frsize);
    // No block count: a tmpfs without a limit, or one of many user-space file systems.
    if found.f_blocks == 0 || needed <= free {
        return Ok(());
    }
    Err(NoRoom { path: path.to_owned(), what, needed, free })
}

/// Disk space in bytes that a file or folder uses, recursively. Links are not followed; unreadable entries count as 0.
pub fn disk_bytes(path: &Path) -> u64 {
    let Ok(entry) = std::fs::symlink_metadata(path) else { return 0 };
    let inner = std::fs::read_dir(path).into_iter().flatten().flatten().filter(|_| entry.is_dir());
    entry.blocks() * 512 + inner.map(|inner| disk_bytes(&inner.path())).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_path_needed_and_free_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("not/there/yet");
        assert_eq!(check_room(&inside, "a byte", 1), Ok(()));
        let refused = check_room(&inside, "everything", u64::MAX).unwrap_err();
        assert!(refused.free > 0 && refused.needed == u64::MAX, "{refused:?}");
        let text = refused.to_string();
        for part in ["not/there/yet", "everything needs", "18446744073709551615 bytes", &refused.free.to_string()] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
