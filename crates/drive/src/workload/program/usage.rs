//! What a process used, as the kernel says when it is waited for.

use rustix::process::Pid;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// What a process and those that it waited for used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Usage {
    /// CPU time in user mode, seconds.
    pub user_s: f64,
    /// CPU time in the kernel, seconds.
    pub system_s: f64,
    /// Resident memory of the largest of them at its largest.
    pub peak_memory_bytes: f64,
    /// Page faults that needed no reading.
    pub minor_faults: f64,
    /// Page faults that read from a disk.
    pub major_faults: f64,
    /// Times one of them gave up its CPU, as to wait.
    pub voluntary_switches: f64,
    /// Times the kernel took the CPU away.
    pub involuntary_switches: f64,
}

impl Usage {
    pub fn add(&mut self, other: &Self) {
        self.user_s += other.user_s;
        self.system_s += other.system_s;
        self.peak_memory_bytes = self.peak_memory_bytes.max(other.peak_memory_bytes);
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
    }

    /// User and kernel together, seconds.
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// Waits for a child of this process to end, and takes it from the kernel's table.
pub fn reap(pid: Pid) -> io::Result<(ExitStatus, Usage)> {
    let mut status = 0;
    // SAFETY: rusage is plain old data, for which zeros are a value.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are of live values of the right types for the whole call.
        let waited = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut used) };
        if waited >= 0 {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let usage = Usage {
        user_s: seconds(used.ru_utime),
        system_s: seconds(used.ru_stime),
        // KiB on Linux (getrusage(2)).
        peak_memory_bytes: used.ru_maxrss as f64 * 1024.0,
        minor_faults: used.ru_minflt as f64,
        major_faults: used.ru_majflt as f64,
        voluntary_switches: used.ru_nvcsw as f64,
        involuntary_switches: used.ru_nivcsw as f64,
    };
    Ok((ExitStatus::from_raw(status), usage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    #[allow(clippy::zombie_processes, reason = "waiting for it is what is tested")]
    fn a_process_that_worked_is_reaped_with_what_it_and_its_children_used() {
        let script = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; exit 3";
        let child = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let (status, usage) = reap(pid).unwrap();
        assert_eq!(status.code(), Some(3));
        assert!(usage.cpu_s() > 0.01 && usage.cpu_s() < 60.0, "{usage:?}");
        assert!(usage.peak_memory_bytes > 500e3 && usage.minor_faults > 10.0, "{usage:?}");
        assert!(reap(pid).is_err(), "it has been waited for");
    }
}
