//! Stops a client briefly: every thread of its server then waits in its own connection.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// Processes that are stopped until this is dropped.
pub(crate) struct StopGuard(Vec<Pid>);

impl StopGuard {
    pub(crate) fn stop(processes: &[i32]) -> Self {
        let pids = processes.iter().filter_map(|pid| Pid::from_raw(*pid));
        Self(pids.filter(|pid| kill_process(*pid, Signal::STOP).is_ok()).collect())
    }
}

impl Drop for StopGuard {
    fn drop(&mut self) {
        for pid in &self.0 {
            // The process may have ended.
            let _ = kill_process(*pid, Signal::CONT);
            // Otherwise it would count as stopped by someone else.
            let _ = waitid(WaitId::Pid(*pid), WaitIdOptions::CONTINUED | WaitIdOptions::NOHANG);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::{Duration, Instant};

    /// Whether the process reaches a state, given as the kernel's letter (proc_pid_stat(5)).
    fn becomes(pid: i32, wanted: char) -> bool {
        let until = Instant::now() + Duration::from_secs(10);
        let state = || {
            let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
            text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
        };
        while state() != Some(wanted) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        state() == Some(wanted)
    }

    #[test]
    fn a_stopped_client_process_runs_again_after_the_guard_is_dropped() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id().cast_signed();
        let held = StopGuard::stop(&[pid, i32::MAX]);
        assert!(becomes(pid, 'T'), "stopped");
        drop(held);
        assert!(becomes(pid, 'S'), "asleep again");
        assert_eq!(tare_engine::stopped_processes(), 0, "no one else stopped it");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
