//! Space for copies of files: blocks are shared if the file system supports it; otherwise free space is checked
//! before the first byte is written.

use crate::EngineError;
use rustix::io::Errno;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tare_files::check_room;

/// Checks the size of a copy against the free space of its file system: once, and only if blocks are not shared.
pub(crate) struct Room<'a> {
    place: &'a Path,
    needed: u64,
    is_there: bool,
}

impl<'a> Room<'a> {
    pub(crate) fn new(place: &'a Path, needed: u64) -> Self {
        Self { place, needed, is_there: false }
    }

    pub(crate) fn ask(&mut self) -> Result<(), EngineError> {
        if !self.is_there {
            check_room(self.place, "the copy of the data", self.needed)
                .map_err(|full| EngineError::DiskFull { place: full.path.clone(), detail: full.detail() })?;
            self.is_there = true;
        }
        Ok(())
    }
}

/// Bytes that a file occupies on disk, without its holes.
pub(crate) fn held(found: &Metadata) -> u64 {
    // In units of 512 bytes, whatever the block size of the file system (stat(2)).
    found.blocks() * 512
}

/// Bytes that the files below a folder occupy on disk; unreadable entries count as 0.
pub(crate) fn held_below(folder: &Path) -> u64 {
    let Ok(list) = fs::read_dir(folder) else { return 0 };
    list.flatten()
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => held_below(&entry.path()),
            Ok(found) => held(&found),
            Err(_) => 0,
        })
        .sum()
}

/// Makes both files share all blocks; false if the file system cannot.
pub(crate) fn share(source: &File, target: &File) -> io::Result<bool> {
    match rustix::fs::ioctl_ficlone(target, source) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL | Errno::NOTTY | Errno::NOSYS | Errno::PERM) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn sparse_files_need_no_space_and_a_copy_that_does_not_fit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        let file = File::create(folder.path().join("inner/sparse")).unwrap();
        file.set_len(1 << 30).unwrap();
        file.write_all_at(&[1; 10_000], 1 << 20).unwrap();
        file.sync_all().unwrap();
        let needed = held_below(folder.path());
        assert!((10_000..1 << 20).contains(&needed), "{needed}");
        assert!(Room::new(folder.path(), needed).ask().is_ok());
        let refused = Room::new(folder.path(), u64::MAX).ask().unwrap_err();
        assert!(matches!(refused, EngineError::DiskFull { .. }), "{refused}");
        assert!(refused.to_string().contains("18446744073709551615 bytes"), "{refused}");
    }
}
