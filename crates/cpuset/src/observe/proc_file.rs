//! Reads one file under /proc. The error for a process that has ended differs from the one for an unreadable file.

use super::error::ObserveError;
use procfs::{FromRead, ProcError};
use std::fs::File;
use std::io::{self, Read};

/// The most the kernel accepts for arguments and environment together when a program starts (execve(2)), bytes.
const LONGEST_START: u64 = 6 << 20;
/// The most that is read of the file of an epoll descriptor, bytes: enough for 100,000 watched connections.
const LONGEST_WATCHES: u64 = 16 << 20;
/// Initial buffer, bytes: most of these files fit and are then read in one call; their length is not known before.
const USUAL: usize = 4 << 10;

/// The text of a file under /proc. Bytes that are not UTF-8 are replaced: users choose the names of threads and files,
/// and the kernel may cut a name within a character.
///
/// # Errors
/// The system's error.
pub fn proc_text(path: &str) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&beginning(path, u64::MAX)?).into_owned())
}

/// The arguments that a process was started with, each followed by a NUL; bytes that are not UTF-8 become `\u{fffd}`.
///
/// # Errors
/// The system's error.
pub fn arguments(pid: i32) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&beginning(&format!("/proc/{pid}/cmdline"), LONGEST_START)?).into_owned())
}

/// The environment that a process was started with, each variable followed by a NUL.
///
/// # Errors
/// The system's error, for example because the process belongs to another user.
pub fn environment(pid: i32) -> io::Result<Vec<u8>> {
    beginning(&format!("/proc/{pid}/environ"), LONGEST_START)
}

/// The text of a file in /proc/PID/fdinfo. That of an epoll descriptor has a line per watched descriptor, and the
/// observed process controls how many.
pub(super) fn about_descriptor(path: &str) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&beginning(path, LONGEST_WATCHES)?).into_owned())
}

/// Reads at most `limit` bytes: a process can replace the memory that holds its arguments and environment by any other
/// of its memory, of any size (`PR_SET_MM_MAP`, prctl(2)).
fn beginning(path: &str, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL);
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Parses a file under /proc with the crate procfs, from the text that [`proc_text`] returns.
///
/// # Errors
/// When the process has ended, or the file cannot be read or parsed.
pub fn parse<T: FromRead>(path: &str) -> Result<T, ObserveError> {
    // The text is read first, so that a thread that ends between open and read is reported as gone.
    let text = proc_text(path).map_err(|e| ObserveError::of_io(path, &e))?;
    T::from_read(io::Cursor::new(text)).map_err(|e| match e {
        ProcError::NotFound(_) => ObserveError::Gone { path: path.to_owned() },
        e => ObserveError::format(path, e),
    })
}

/// `None` for a file that this kernel does not offer. The caller has read another file of the thread before, so a
/// missing file does not mean that the thread has ended.
pub(super) fn optional<T>(read: Result<T, ObserveError>) -> Result<Option<T>, ObserveError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(ObserveError::Gone { .. }) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_of_a_process_is_read_up_to_a_limit() {
        let own = std::process::id().cast_signed();
        assert!(arguments(own).unwrap().split('\0').next().is_some_and(|program| program.contains("cpuset")));
        assert!(environment(own).unwrap().split(|byte| *byte == 0).any(|variable| variable.starts_with(b"PATH=")));
        let path = std::env::temp_dir().join(format!("tare-cpuset-{own}"));
        File::create(&path).unwrap().set_len(LONGEST_START + 1).unwrap();
        let read = beginning(path.to_str().unwrap(), LONGEST_START).unwrap().len();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read as u64, LONGEST_START);
    }
}
