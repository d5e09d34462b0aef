//! Signals to this program and to its servers. A server is ended when this program is interrupted, so that every wait
//! for it returns. A server that fills the disk with its log is ended too; its log is cut, with the reason as its last
//! line. Processes that were stopped by a signal and continued are counted, as a batch scheduler stops the jobs that it
//! suspends.

use super::process_tree::ProcessTree;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid};
use signal_hook::consts::SIGCONT;
use signal_hook::flag::register;
use std::io::{self, Write};
use std::iter::from_fn;
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

/// The number of processes that were stopped by a signal (SIGSTOP, SIGTSTP) and have continued since the last call:
/// this one and its children. The first call does not see stops of this process.
pub fn stopped_processes() -> usize {
    static CONTINUED: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    let own = CONTINUED.get_or_init(|| {
        let continued = Arc::default();
        // Without the handler only stops of children are seen.
        let _ = register(SIGCONT, Arc::clone(&continued));
        continued
    });
    let look = WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG;
    // Each call reports one child, once. It fails if there is no child.
    let children = from_fn(|| waitid(WaitId::All, look).ok().flatten()).count();
    usize::from(own.swap(false, Ordering::Relaxed)) + children
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::kill_process;
    use std::process::Command;

    #[test]
    fn a_stop_of_this_process_or_of_a_child_is_counted_once() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&child);
        assert_eq!(stopped_processes(), 0);
        kill_process(pid, Signal::STOP).unwrap();
        waitid(WaitId::Pid(pid), WaitIdOptions::STOPPED).unwrap();
        assert_eq!(stopped_processes(), 0, "it has not continued");
        kill_process(pid, Signal::CONT).unwrap();
        assert_eq!((stopped_processes(), stopped_processes()), (1, 0));
        signal_hook::low_level::raise(SIGCONT).unwrap();
        assert_eq!((stopped_processes(), stopped_processes()), (1, 0));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
