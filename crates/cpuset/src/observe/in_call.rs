//! Whether a thread runs at this moment, and if not, in which system call it sleeps, from
//! `/proc/PID/task/TID/syscall` (proc_pid_syscall(5)).

use super::error::ObserveError;
use super::proc_file::about_descriptor;
use super::thread_ref::ThreadRef;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::str::FromStr;

/// Bytes, more than any line that the kernel writes: nine numbers of at most 20 characters.
const LONGEST: usize = 256;

/// What a thread does at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InCall {
    /// It runs, or is runnable and waits for a CPU.
    Running,
    /// It sleeps outside a system call: in a page fault, or stopped.
    Outside,
    /// It sleeps in a system call.
    Call(Call),
}

/// A system call with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// Its number, which differs between architectures.
    pub number: i64,
    /// The six argument registers, including those that this call does not use.
    pub arguments: [u64; 6],
    /// The stack pointer, an address.
    pub stack: u64,
    /// The program counter, an address.
    pub program: u64,
}

/// A line in an unknown format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected `running`, `-1 STACK PROGRAM`, or the number of a call, six arguments, STACK and PROGRAM")]
pub struct NoCall;

impl FromStr for InCall {
    type Err = NoCall;

    fn from_str(text: &str) -> Result<Self, NoCall> {
        let mut words = text.split_ascii_whitespace();
        let first = words.next().ok_or(NoCall)?;
        let found = if first == "running" {
            Self::Running
        } else {
            let number: i64 = first.parse().map_err(|_| NoCall)?;
            let mut next = || words.next().and_then(hexadecimal).ok_or(NoCall);
            if number < 0 {
                let _ = (next()?, next()?);
                Self::Outside
            } else {
                let mut arguments = [0; 6];
                for argument in &mut arguments {
                    *argument = next()?;
                }
                Self::Call(Call { number, arguments, stack: next()?, program: next()? })
            }
        };
        if words.next().is_some() { Err(NoCall) } else { Ok(found) }
    }
}

fn hexadecimal(word: &str) -> Option<u64> {
    let digits = word.strip_prefix("0x").filter(|digits| !digits.starts_with('+'))?;
    u64::from_str_radix(digits, 16).ok()
}

/// The open `syscall` file of one thread. Each observation is one read.
#[derive(Debug)]
pub struct InCallFile {
    path: String,
    file: File,
}

impl InCallFile {
    /// Opens the file of a thread. The kernel checks the permission at each read, not here.
    ///
    /// # Errors
    /// When the thread has ended, or the kernel has no such file.
    pub fn open(thread: ThreadRef) -> Result<Self, ObserveError> {
        let path = format!("{}/syscall", thread.folder());
        let file = File::open(&path).map_err(|e| ObserveError::of_io(&path, &e))?;
        Ok(Self { path, file })
    }

    /// What the thread does now.
    ///
    /// # Errors
    /// When it has ended, when it belongs to another user, or when the line has an unknown format.
    pub fn read(&self) -> Result<InCall, ObserveError> {
        let mut line = [0; LONGEST];
        let read = self.file.read_at(&mut line, 0).map_err(|e| ObserveError::of_io(&self.path, &e))?;
        let text = std::str::from_utf8(&line[..read]).map_err(|e| ObserveError::format(&self.path, e))?;
        text.parse().map_err(|e| ObserveError::format(&self.path, e))
    }
}

/// What a thread does at this moment.
///
/// # Errors
/// As [`InCallFile::open`] and [`InCallFile::read`].
pub fn in_call(thread: ThreadRef) -> Result<InCall, ObserveError> {
    InCallFile::open(thread)?.read()
}

/// The descriptors that an epoll descriptor of a process watches: lines `tfd: NUMBER ...` of its file in
/// `/proc/PID/fdinfo` (proc_pid_fdinfo(5)). Empty for a descriptor of another kind.
///
/// # Errors
/// When the process has ended, the descriptor is not open, or the process belongs to another user.
pub fn epoll_watches(pid: i32, descriptor: i32) -> Result<Vec<i32>, ObserveError> {
    let path = format!("/proc/{pid}/fdinfo/{descriptor}");
    let text = about_descriptor(&path).map_err(|e| ObserveError::of_io(&path, &e))?;
    let watched = text.lines().filter_map(|line| line.strip_prefix("tfd:")?.split_whitespace().next()?.parse().ok());
    Ok(watched.collect())
}
