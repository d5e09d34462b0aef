//! Reading a server's log.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// At most so much of a log is looked at.
const READ_BYTES: u64 = 256 * 1024;

/// Log text since byte `from`, its end when it is long; empty when there is none.
pub(crate) fn text_since(path: &Path, from: u64) -> String {
    let Ok(mut file) = File::open(path) else { return String::new() };
    let length = file.metadata().map(|m| m.len()).unwrap_or(0);
    let start = from.max(length.saturating_sub(READ_BYTES));
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(start)).is_err() || file.take(READ_BYTES).read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last `lines` lines since byte `from`.
pub(crate) fn tail(path: &Path, from: u64, lines: usize) -> Vec<String> {
    let text = text_since(path, from);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_begins_after_what_was_there_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "old\none\ntwo\nthree\n").unwrap();
        assert_eq!(tail(&path, 4, 2), ["two", "three"]);
        assert_eq!(tail(&path, 4, 9), ["one", "two", "three"]);
        assert!(tail(&folder.path().join("absent"), 0, 9).is_empty());
    }
}
