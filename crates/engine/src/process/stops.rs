//! Processes that were stopped by a signal and continued, as a batch scheduler stops the jobs that it suspends.

use rustix::process::{WaitId, WaitIdOptions, waitid};
use signal_hook::consts::SIGCONT;
use signal_hook::flag::register;
use std::iter::from_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

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
    use rustix::process::{Pid, Signal, kill_process};
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
