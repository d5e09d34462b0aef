//! The CPU of a thread at one moment, from `/proc/PID/task/TID/stat` (proc_pid_stat(5)).

use super::error::ObserveError;
use super::thread_ref::ThreadRef;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Bytes, more than 39 fields can have: a number has at most 20 characters, a name 64.
const LONGEST: usize = 1024;

/// A thread as its `stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sighting {
    /// The CPU it runs on, or ran on last.
    pub cpu: u32,
    /// Whether a signal (SIGSTOP, SIGTSTP) stopped it and it has not continued.
    pub is_stopped: bool,
}

/// The open `stat` file of one thread. Each sighting is one read; opening the file takes twice as long. The number of
/// a thread that has ended may belong to another one, but never its open file.
#[derive(Debug)]
pub struct SightingFile {
    path: String,
    file: File,
}

impl SightingFile {
    /// Opens the file of a thread.
    ///
    /// # Errors
    /// When it has ended, or this process has too many open files.
    pub fn open(thread: ThreadRef) -> Result<Self, ObserveError> {
        let path = format!("{}/stat", thread.folder());
        let file = File::open(&path).map_err(|e| ObserveError::of_io(&path, &e))?;
        Ok(Self { path, file })
    }

    /// The CPU of the thread and whether it is stopped, by one system call.
    ///
    /// # Errors
    /// When it has ended, or cannot be read.
    pub fn read(&self) -> Result<Sighting, ObserveError> {
        let mut line = [0; LONGEST];
        let read = self.file.read_at(&mut line, 0).map_err(|e| ObserveError::of_io(&self.path, &e))?;
        sighted(&line[..read]).ok_or_else(|| no_processor(&self.path))
    }
}

/// Fields are counted from the end of the name, which may contain any byte; the first one after it is field 3.
fn sighted(line: &[u8]) -> Option<Sighting> {
    let name_ends = line.iter().rposition(|byte| *byte == b')')?;
    let mut fields = std::str::from_utf8(&line[name_ends + 1..]).ok()?.split_ascii_whitespace();
    let is_stopped = fields.next()? == "T";
    Some(Sighting { cpu: fields.nth(39 - 4)?.parse().ok()?, is_stopped })
}

pub(super) fn no_processor(path: &str) -> ObserveError {
    ObserveError::format(path, "field 39, the processor, is missing")
}

/// A thread now. Opens and reads one small file.
///
/// # Errors
/// As [`SightingFile::open`] and [`SightingFile::read`].
pub fn sighting(thread: ThreadRef) -> Result<Sighting, ObserveError> {
    SightingFile::open(thread)?.read()
}

/// The CPU a thread runs on, or ran on last: field 39 of its `stat`. Opens and reads one small file.
///
/// # Errors
/// As [`sighting`].
pub fn last_cpu(thread: ThreadRef) -> Result<u32, ObserveError> {
    sighting(thread).map(|seen| seen.cpu)
}
