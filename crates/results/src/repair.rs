//! Taking damaged lines out of the files of records, kept alongside them.

use super::error::{DirectoryError, io_error};
use super::lines::{self, DamagedLine};
use std::collections::BTreeSet;
use std::io::{ErrorKind, Write};
use tare_files::Folder;

/// The largest file of records that is repaired, bytes.
const LARGEST: u64 = 1 << 30;

/// Moves every damaged line to a file alongside its own, `trials.jsonl.damaged`, and says which. Nothing may be writing
/// records meanwhile: the caller has the directory's lock, and other writers are the user's to know of.
///
/// # Errors
/// When a file cannot be read or written; the records are as they were then.
pub fn repair(directory: &Folder) -> Result<Vec<DamagedLine>, DirectoryError> {
    let damaged = lines::read(directory)?.damaged;
    for name in lines::files(directory)? {
        let path = directory.path().join(&name);
        let bad: BTreeSet<usize> = damaged.iter().filter(|d| d.path == path).map(|d| d.line).collect();
        if bad.is_empty() {
            continue;
        }
        let missing = || io_error("read", &path, ErrorKind::NotFound.into());
        let bytes = directory.read(&name, LARGEST)?.ok_or_else(missing)?;
        let (mut kept, mut aside) = (Vec::new(), Vec::new());
        for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let to = if bad.contains(&(index + 1)) { &mut aside } else { &mut kept };
            to.extend_from_slice(line);
            if !line.ends_with(b"\n") {
                to.push(b'\n');
            }
        }
        // First on the disk alongside, then out of the file.
        let beside = format!("{name}.damaged");
        let mut file = directory.append(&beside)?;
        let written = file.write_all(&aside).and_then(|()| file.sync_all());
        written.map_err(|e| io_error("write", &directory.path().join(&beside), e))?;
        directory.write(&name, &kept)?;
    }
    Ok(damaged)
}
