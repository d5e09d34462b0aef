//! Disk usage of files, and a check for free space before anything is written.

use rustix::fs::SeekFrom as Find;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
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

/// Bytes that are copied between two calls of `go_on`: a fraction of a second on a slow disk.
const COPIED_AT_ONCE: u64 = 64 << 20;

/// Copies a file without its holes into an empty file, as long as it is now, in the kernel where possible. Returns the
/// bytes written. `go_on` is called before each part.
///
/// # Errors
/// Those of `go_on`, and of reading and writing.
pub fn copy_without_holes(mut source: &File, mut target: &File, go_on: &dyn Fn() -> io::Result<()>) -> io::Result<u64> {
    let (mut copied, mut end) = (0, 0);
    let length = source.metadata()?.len();
    for (from, until) in data_ranges(source, length)? {
        source.seek(SeekFrom::Start(from))?;
        target.seek(SeekFrom::Start(from))?;
        let mut left = until - from;
        while left > 0 {
            go_on()?;
            let part = io::copy(&mut source.take(left.min(COPIED_AT_ONCE)), &mut target)?;
            if part == 0 {
                break;
            }
            copied += part;
            left -= part;
        }
        end = until - left;
    }
    // Only a file that ends in a hole is not that long already.
    if end < length {
        target.set_len(length)?;
    }
    Ok(copied)
}

/// The ranges of the first `length` bytes of a file that are no holes.
///
/// # Errors
/// Those of lseek(2).
pub fn data_ranges(file: &File, length: u64) -> io::Result<Vec<(u64, u64)>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < length {
        let from = match rustix::fs::seek(file, Find::Data(at)) {
            Ok(from) => from,
            // No more data.
            Err(Errno::NXIO) => break,
            // The file system does not report holes.
            Err(Errno::INVAL) => return Ok(vec![(0, length)]),
            Err(error) => return Err(error.into()),
        };
        let until = rustix::fs::seek(file, Find::Hole(from)).map_err(io::Error::from)?;
        if from < length {
            found.push((from, until.min(length)));
        }
        at = until;
    }
    Ok(found)
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
