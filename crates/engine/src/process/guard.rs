//! Ends a server when this program is interrupted, so that every wait for it returns. A server that fills the disk
//! with its log is ended too; its log is cut, with the reason as its last line.

use super::process_tree::ProcessTree;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use tare_files::LogFile;

static FLAG: OnceLock<&'static AtomicBool> = OnceLock::new();

/// Registers, once, the flag that the signal handlers of this process set. From then on its servers are ended as soon
/// as the flag is set, and every wait for one returns.
pub fn interrupted_by(flag: &'static AtomicBool) {
    let _ = FLAG.set(flag);
}

pub fn interrupted() -> bool {
    FLAG.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Limit on what a server may write into its log during its lifetime, bytes.
const LIMIT: u64 = 64 << 20;
/// Time between two checks: each takes a few system calls, which is negligible next to what is measured.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Time limit for a killed process to end.
const GONE: Timespec = Timespec { tv_sec: 5, tv_nsec: 0 };

/// Watches a server and its log until it is dropped.
pub(crate) struct Guard {
    more: Option<Sender<OwnedFd>>,
    /// Held while the server is being ended and its log cut.
    ending: Arc<Mutex<()>>,
}

impl Guard {
    /// Watches `child`, the root of a process tree, and what is added to `log` after byte `from`. On a kernel without
    /// pidfds nothing is watched.
    pub(crate) fn start(log: &LogFile, from: u64, child: &Child, tree: ProcessTree) -> Self {
        let Ok(handle) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else {
            return Self { more: None, ending: Arc::default() };
        };
        let (sender, more) = channel();
        let ending = Arc::new(Mutex::new(()));
        let held = Arc::clone(&ending);
        let log = log.clone();
        let watch = move || {
            let mut writers = vec![handle];
            loop {
                match more.recv_timeout(LOOK_EVERY) {
                    Ok(handle) => writers.push(handle),
                    Err(RecvTimeoutError::Disconnected) => return,
                    // Its data are a copy, and an interrupted trial leaves no record: nothing is lost.
                    Err(RecvTimeoutError::Timeout) if interrupted() => {
                        end(&writers, &tree);
                        return;
                    }
                    Err(RecvTimeoutError::Timeout) if length(&log) > from + LIMIT => {
                        let _held = held.lock();
                        end(&writers, &tree);
                        cut(&log, from);
                        return;
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        };
        // Without the thread nothing is watched, but the server runs.
        let started = std::thread::Builder::new().name("tare-guard".to_owned()).spawn(watch);
        Self { more: started.ok().map(|_| sender), ending }
    }

    /// Also watches another process that writes into the log.
    pub(crate) fn also(&self, process: &OwnedFd) {
        if let (Some(sender), Ok(handle)) = (&self.more, process.as_fd().try_clone_to_owned()) {
            let _ = sender.send(handle);
        }
    }

    /// Waits while the log is being cut.
    pub(crate) fn settle(&self) {
        drop(self.ending.lock());
    }
}

fn length(log: &LogFile) -> u64 {
    log.read().ok().flatten().and_then(|file| file.metadata().ok()).map_or(0, |found| found.len())
}

fn end(writers: &[OwnedFd], tree: &ProcessTree) {
    for writer in writers {
        let _ = pidfd_send_signal(writer, Signal::KILL);
    }
    tree.kill();
    for writer in writers {
        // Readable when it has ended: until then it may still write.
        let _ = poll(&mut [PollFd::new(writer, PollFlags::IN)], Some(&GONE));
    }
}

fn cut(log: &LogFile, from: u64) {
    let cut = || -> io::Result<()> {
        let mut file = log.append()?;
        file.set_len(from + LIMIT)?;
        let (path, mib) = (log.path(), LIMIT >> 20);
        writeln!(file, "\ntare: the server wrote more than {mib} MiB into {}, and was killed for it", path.display())
    };
    // If this fails, the log still holds what the server wrote.
    let _ = cut();
}
