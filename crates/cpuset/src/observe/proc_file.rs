//! Reading one file under /proc, in which a process that has ended differs from a file that cannot be read.

use super::error::ObserveError;
use procfs::{FromRead, ProcError};
use std::fs::File;
use std::io::{self, Read};

/// What the kernel takes of arguments and environment together when a program starts, at most (execve(2)), bytes.
const LONGEST_START: u64 = 6 << 20;
/// What is read of the descriptors that one of epoll watches, bytes: those of 100,000 connections.
const LONGEST_WATCHES: u64 = 16 << 20;
/// Room for most of these files, whose length is not known before: read in one call and not in pieces.
const USUAL: usize = 4 << 10;

/// The text of a file under /proc. Names of threads and files stand in it as any user chose them, and the kernel cuts
/// names within a character: bytes that are no UTF-8 are replaced.
///
/// # Errors
/// What the system says.
pub fn proc_text(path: &str) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&beginning(path, u64::MAX)?).into_owned())
}

/// The arguments that a process was started with, each with a NUL behind it; `\u{fffd}` for what is no UTF-8.
///
/// # Errors
/// What the system says.
pub fn arguments(pid: i32) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&beginning(&format!("/proc/{pid}/cmdline"), LONGEST_START)?).into_owned())
}

/// The environment that a process was started with, each variable with a NUL behind it.
///
/// # Errors
/// What the system says, as of processes of another user.
pub fn environment(pid: i32) -> io::Result<Vec<u8>> {
    beginning(&format!("/proc/{pid}/environ"), LONGEST_START)
}

/// What the kernel says of an open file: of a descriptor of epoll a line for each that it watches, as many as its
/// process likes.
pub(super) fn about_descriptor(path: &str) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&beginning(path, LONGEST_WATCHES)?).into_owned())
}

/// Any process can name other memory of its own in the place of what it was started with, and as much of it as it likes
/// (`PR_SET_MM_MAP`, prctl(2)): no more is read than the kernel would have taken.
fn beginning(path: &str, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(USUAL);
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file under /proc that procfs knows how to parse, read as [`proc_text`] reads it.
///
/// # Errors
/// When the process has ended, or the file cannot be read or has another form.
pub fn parse<T: FromRead>(path: &str) -> Result<T, ObserveError> {
    // Read first: an end of the thread between open and read is then seen as such.
    let text = proc_text(path).map_err(|e| ObserveError::of_io(path, &e))?;
    T::from_read(io::Cursor::new(text)).map_err(|e| match e {
        ProcError::NotFound(_) => ObserveError::Gone { path: path.to_owned() },
        e => ObserveError::format(path, e),
    })
}

/// None for a file that this kernel does not offer. Whether the thread is there was seen from its other files.
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
    fn what_a_process_says_it_was_started_with_has_an_end() {
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
