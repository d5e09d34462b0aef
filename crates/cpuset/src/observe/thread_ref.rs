//! Identifies a thread by its process and its own kernel number.

use super::error::ObserveError;
use super::proc_file;
use procfs::process::Status;
#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};
use std::fmt;

/// A thread of any process. Binding needs only `tid`; /proc needs both numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct ThreadRef {
    /// The process, as `ps` numbers it (the kernel's "thread group").
    pub pid: i32,
    /// The thread, as the kernel numbers it; equal to `pid` for the main thread.
    pub tid: i32,
}

impl ThreadRef {
    /// The thread that calls this.
    pub fn of_this_thread() -> Self {
        Self {
            pid: rustix::process::getpid().as_raw_nonzero().get(),
            tid: rustix::thread::gettid().as_raw_nonzero().get(),
        }
    }

    /// The main thread of a process.
    pub const fn main_of(pid: i32) -> Self {
        Self { pid, tid: pid }
    }

    /// The thread with this number, in any process, for example a number that a server reports for one of its threads.
    /// Reads one small file.
    ///
    /// # Errors
    /// When the thread does not exist.
    pub fn of_tid(tid: i32) -> Result<Self, ObserveError> {
        let status: Status = proc_file::parse(&format!("/proc/{tid}/status"))?;
        Ok(Self { pid: status.tgid, tid })
    }

    /// A thread of another machine, with its number on that machine. It cannot be looked up in this machine's /proc.
    pub const fn elsewhere(tid: i32) -> Self {
        Self { pid: 0, tid }
    }

    /// Whether it is a thread of another machine.
    pub const fn is_elsewhere(self) -> bool {
        self.pid == 0
    }

    pub(super) fn folder(self) -> String {
        format!("/proc/{}/task/{}", self.pid, self.tid)
    }
}

impl fmt::Display for ThreadRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {} of process {}", self.tid, self.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_found_by_its_number_alone() {
        let main = std::process::id().cast_signed();
        let other = std::thread::spawn(|| {
            let here = ThreadRef::of_this_thread();
            (here, ThreadRef::of_tid(here.tid).unwrap())
        });
        let (here, found) = other.join().unwrap();
        assert_eq!(here, found);
        assert_eq!((here.pid, here.tid == main), (main, false));
        assert_eq!(ThreadRef::of_tid(main).unwrap(), ThreadRef::main_of(main));
        assert!(matches!(ThreadRef::of_tid(i32::MAX), Err(ObserveError::Gone { .. })));
        assert!(matches!(ThreadRef::of_tid(-1), Err(ObserveError::Gone { .. })));
    }

    #[test]
    fn a_thread_reference_is_stored_and_printed_with_both_numbers() {
        let thread = ThreadRef { pid: 7, tid: 9 };
        let json = serde_json::to_string(&thread).unwrap();
        assert_eq!(json, r#"{"pid":7,"tid":9}"#);
        assert_eq!(serde_json::from_str::<ThreadRef>(&json).unwrap(), thread);
        assert_eq!(thread.to_string(), "thread 9 of process 7");
    }
}
