//! Reading a server's log.

use std::io::{Read, Seek, SeekFrom};
use tare_files::LogFile;

/// Limit on how much of a log is read, bytes.
const READ_BYTES: u64 = 256 * 1024;

/// Log text since byte `from`, only the end if it is long; empty if there is no log.
pub(crate) fn text_since(log: &LogFile, from: u64) -> String {
    let Ok(Some(mut file)) = log.read() else { return String::new() };
    let length = file.metadata().map(|m| m.len()).unwrap_or(0);
    let start = from.max(length.saturating_sub(READ_BYTES));
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(start)).is_err() || file.take(READ_BYTES).read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last `lines` lines since byte `from`.
pub(crate) fn tail(log: &LogFile, from: u64, lines: usize) -> Vec<String> {
    let text = text_since(log, from);
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
        let log = LogFile::at(&path).unwrap();
        assert_eq!(tail(&log, 4, 2), ["two", "three"]);
        assert_eq!(tail(&log, 4, 9), ["one", "two", "three"]);
        assert!(tail(&LogFile::at(&folder.path().join("absent")).unwrap(), 0, 9).is_empty());
    }
}
