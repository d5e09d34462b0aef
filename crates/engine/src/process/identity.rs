//! A process that cannot be mistaken for another one.

use procfs::process::Process;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a killed process may take to be gone.
const GONE: Duration = Duration::from_secs(10);

/// A process of this boot by number *and* start time: a number that the kernel gave to someone else is another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub pid: i32,
    /// Field 22 of `/proc/<pid>/stat`: clock ticks between boot and its start.
    pub start_ticks: u64,
}

impl Identity {
    /// The process of this number, unless it has ended.
    pub(crate) fn of(pid: i32) -> Option<Self> {
        let stat = Process::new(pid).and_then(|process| process.stat()).ok()?;
        // A zombie runs nothing any more.
        (stat.state != 'Z').then_some(Self { pid, start_ticks: stat.starttime })
    }

    pub(crate) fn lives(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Kills it unless the number belongs to someone else by now, and waits until it is gone.
    pub(crate) fn kill(self) -> bool {
        let Some(pid) = Pid::from_raw(self.pid) else { return false };
        // Opened before the check: from then on the descriptor means one process only.
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        if !self.lives() || pidfd_send_signal(&handle, Signal::KILL).is_err() {
            return false;
        }
        let deadline = Instant::now() + GONE;
        while self.lives() && Instant::now() < deadline {
            sleep(Duration::from_millis(2));
        }
        true
    }
}
