//! What files take, and whether a file system has room, asked before anything is written.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file system has less left than what is about to be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no space left on the file system of {}: {}", path.display(), self.detail())]
pub struct NoRoom {
    /// Where it would be written.
    pub path: PathBuf,
    /// What would be, for example "the copy of the data".
    pub what: &'static str,
    /// Bytes that it takes.
    pub needed: u64,
    /// Bytes that are left there for this user.
    pub free: u64,
}

impl NoRoom {
    /// What is needed and what there is, without the place.
    pub fn detail(&self) -> String {
        let said = |bytes: u64| format!("{:.1} MB ({bytes} bytes)", bytes as f64 / 1e6);
        format!("{} needs {}, and {} are free", self.what, said(self.needed), said(self.free))
    }
}

/// Refuses what the file system of `path` (or of the nearest folder above it that exists) has no room for. A file
/// system that does not say how much it holds is believed to have it.
///
/// # Errors
/// [`NoRoom`], with the figures.
pub fn check_room(path: &Path, what: &'static str, needed: u64) -> Result<(), NoRoom> {
    let existing = path.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
    let Ok(found) = rustix::fs::statvfs(existing) else { return Ok(()) };
    // What is reserved for root is there for root.
    let blocks = if rustix::process::geteuid().is_root() { found.f_bfree } else { found.f_bavail };
    let free = blocks.saturating_mul(found.f_frsize);
    // Without blocks: a tmpfs without a limit, or one of many file systems in user space.
    if found.f_blocks == 0 || needed <= free {
        return Ok(());
    }
    Err(NoRoom { path: path.to_owned(), what, needed, free })
}

/// Disk that a file or folder takes; links are not followed, and what cannot be looked at takes none.
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
