//! Makes one file equal to another: shares the blocks if the file system can, otherwise writes those that differ.

use crate::EngineError;
use crate::data::room::{Room, share};
use crate::process::guard::interrupted;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use tare_files::{copy_without_holes, data_ranges};

/// Bytes that are compared at a time; a change of one page rewrites this many.
const BLOCK: usize = 64 << 10;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Put {
    /// Whether the two now share their blocks.
    pub shared: bool,
    /// Bytes that were written into the copy.
    pub copied: u64,
    /// Bytes of the original that were read to find what differs.
    pub compared: u64,
}

/// Makes `to` equal to `from`; `to` is a file or does not exist. Checks `room` before anything is copied.
pub(super) fn put_back(from: &Path, to: &Path, room: &mut Room<'_>) -> Result<Put, EngineError> {
    let failed = |error| EngineError::io("copy data to", to, error);
    let source = File::open(from).map_err(|error| EngineError::io("read", from, error))?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let target = options.open(to).map_err(failed)?;
    if share(&source, &target).map_err(failed)? {
        // If the target was longer, its end is still there.
        settle(&source, &target).map_err(failed)?;
        return Ok(Put { shared: true, ..Put::default() });
    }
    room.ask()?;
    write(&source, &target).and_then(|put| settle(&source, &target).map(|()| put)).map_err(failed)
}

fn write(source: &File, target: &File) -> io::Result<Put> {
    match target.metadata()?.len() {
        0 => Ok(Put { copied: copy_without_holes(source, target, &go_on)?, ..Put::default() }),
        was => write_differences(source, target, source.metadata()?.len().min(was)),
    }
}

/// Gives the copy the length and the permissions of the original.
fn settle(source: &File, target: &File) -> io::Result<()> {
    let found = source.metadata()?;
    target.set_len(found.len())?;
    target.set_permissions(found.permissions())
}

fn go_on() -> io::Result<()> {
    if interrupted() { Err(io::Error::other("interrupted")) } else { Ok(()) }
}

/// Writes the blocks of `source` that differ in `target`: compares below `common`, writes everything beyond.
fn write_differences(source: &File, target: &File, common: u64) -> io::Result<Put> {
    let mut put = Put::default();
    // Where both have a hole, both contain only zeros.
    let length = source.metadata()?.len();
    let mut ranges = data_ranges(source, length)?;
    ranges.extend(data_ranges(target, common)?);
    ranges.sort_unstable();
    let (mut mine, mut theirs) = (vec![0; BLOCK], vec![0; BLOCK]);
    let mut at = 0;
    for (from, until) in ranges {
        at = at.max(from - from % BLOCK as u64);
        while at < until.min(length) {
            go_on()?;
            let wanted = (BLOCK as u64).min(length - at) as usize;
            source.read_exact_at(&mut mine[..wanted], at)?;
            put.compared += wanted as u64;
            let known = (common.saturating_sub(at) as usize).min(wanted);
            target.read_exact_at(&mut theirs[..known], at)?;
            if known < wanted || mine[..wanted] != theirs[..wanted] {
                target.write_all_at(&mine[..wanted], at)?;
                put.copied += wanted as u64;
            }
            at += wanted as u64;
        }
    }
    Ok(put)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn whatever_a_file_held_it_is_equal_afterwards_and_only_what_differs_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let good: Vec<u8> = (0..5 * BLOCK + 7).map(|at| (at / 251) as u8).collect();
        fs::write(&from, &good).unwrap();
        let mut one_byte = good.clone();
        one_byte[3 * BLOCK + 1] ^= 1;
        let longer = [good.clone(), vec![9; 3 * BLOCK]].concat();
        let others = [vec![], good.clone(), one_byte, longer, good[..BLOCK + 3].to_vec(), vec![0; good.len()]];
        let mut written = Vec::new();
        for held in others {
            fs::write(&to, &held).unwrap();
            let put = put_back(&from, &to, &mut Room::new(folder.path(), 0)).unwrap();
            assert!(fs::read(&to).unwrap() == good, "it held {} bytes", held.len());
            written.push(if put.shared { 0 } else { put.copied });
        }
        if written[0] > 0 {
            assert_eq!(written[..4], [good.len() as u64, 0, BLOCK as u64, 0]);
        }
    }

    #[test]
    fn holes_stay_holes_and_what_was_written_into_one_goes() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let hole = File::create(&from).unwrap();
        hole.set_len(64 << 20).unwrap();
        hole.write_all_at(b"end", (64 << 20) - 3).unwrap();
        let put = put_back(&from, &to, &mut Room::new(folder.path(), 0)).unwrap();
        assert!(put.copied < 1 << 20, "{put:?}");
        OpenOptions::new().write(true).open(&to).unwrap().write_all_at(b"stray", 40 << 20).unwrap();
        let put = put_back(&from, &to, &mut Room::new(folder.path(), 0)).unwrap();
        assert!(put.shared || (put.compared < 1 << 20 && put.copied > 0), "{put:?}");
        assert!(fs::read(&from).unwrap() == fs::read(&to).unwrap());
    }
}
