//! Copies of files that may have holes: a file of others may have the length of a disk and no content.

use rustix::fs::SeekFrom as Find;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

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
