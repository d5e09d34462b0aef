//! CPU time of the calling thread.

use std::mem::MaybeUninit;

/// CPU time used by one thread, seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CpuTime {
    pub(crate) user_s: f64,
    pub(crate) system_s: f64,
}

impl CpuTime {
    /// CPU time of the calling thread since its start (`RUSAGE_THREAD`). The kernel measures the sum to the nanosecond
    /// and splits it into user and system time by its clock ticks, so the split of a short interval is coarse.
    pub(crate) fn of_this_thread() -> Self {
        let mut usage = MaybeUninit::<libc::rusage>::uninit();
        // SAFETY: the kernel writes one `rusage` to the address, which has room for it and belongs to this call; it is
        // read only when the kernel says that it has written it.
        let usage =
            unsafe { (libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) == 0).then(|| usage.assume_init()) };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        // It fails only for an unknown `who` or a bad address, neither of which can occur here.
        usage
            .map(|usage| Self { user_s: seconds(usage.ru_utime), system_s: seconds(usage.ru_stime) })
            .unwrap_or_default()
    }

    /// The difference to an earlier reading; never negative.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self { user_s: (self.user_s - earlier.user_s).max(0.0), system_s: (self.system_s - earlier.system_s).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_this_thread_excludes_other_threads() {
        let before = CpuTime::of_this_thread();
        std::thread::spawn(|| {
            // The thread uses CPU time until the kernel has accounted 100 ms more to it.
            let begun = CpuTime::of_this_thread();
            let used = || CpuTime::of_this_thread().since(begun);
            while used().user_s + used().system_s < 0.1 {}
        })
        .join()
        .unwrap();
        let used = CpuTime::of_this_thread().since(before);
        assert!(used.user_s + used.system_s < 0.05, "{used:?}");
    }
}
