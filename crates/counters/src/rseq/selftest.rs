//! Tests whether this kernel aborts a section whose thread was preempted and resumed on the same CPU. arm64 kernels of
//! 6.19 and later are reported not to, and an add of three instructions is then not safe. (On x86-64 the add is one
//! instruction: two threads on one CPU cannot tear it, and a move to another CPU does abort the section.)

use super::arch::spin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// Maximum iterations of a spinning section: long enough to be preempted a few times, about 0.1 s.
const LIMIT: u64 = 100_000_000;
/// Aborted sections that are needed to trust the kernel, and the attempts allowed.
const WANTED: usize = 3;
const ATTEMPTS: usize = 10;

/// Whether adds through this area are safe under this kernel, or why not.
#[cfg(target_arch = "aarch64")]
pub(crate) fn trusted(area: isize) -> Result<(), String> {
    let own = super::glibc() != Ok(area);
    preemption_aborts(area, if own { super::register_thread } else { || true }, true)
}

/// Ok when every section that another thread preempted on its CPU was aborted. `armed` is false only in a test.
fn preemption_aborts(area: isize, register: fn() -> bool, armed: bool) -> Result<(), String> {
    let mut aborted = 0;
    for _ in 0..ATTEMPTS {
        match overtake(area, register, armed) {
            Some(0) => aborted += 1,
            Some(1) => return Err("this kernel does not abort a section preempted on its own CPU".to_owned()),
            _ => {}
        }
        if aborted == WANTED {
            return Ok(());
        }
    }
    Err(format!("the self-test of preemption was inconclusive: {aborted} of {ATTEMPTS} sections aborted"))
}

/// One thread spins in a section; another on the same CPU wakes up, preempts it and sets the flag. Only a section that
/// was resumed instead of aborted can see the flag.
fn overtake(area: isize, register: fn() -> bool, armed: bool) -> Option<u32> {
    let (ready, flag) = (AtomicU32::new(0), AtomicU32::new(0));
    let cpu = current_cpu()?;
    thread::scope(|scope| {
        let spinner = thread::Builder::new().spawn_scoped(scope, || {
            let able = pin(cpu) && register();
            ready.store(1, Ordering::Release);
            // Preempted before it began: the attempt proves nothing.
            let able = able && flag.load(Ordering::Acquire) == 0;
            // SAFETY: `register` made the area the calling thread's registered one.
            able.then(|| unsafe { spin(area, &flag, LIMIT, armed) })
        });
        let spinner = spinner.ok()?;
        let waker = thread::Builder::new().spawn_scoped(scope, || {
            let pinned = pin(cpu);
            while ready.load(Ordering::Acquire) == 0 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(2));
            flag.store(1, Ordering::Release);
            pinned
        });
        let outcome = spinner.join().ok().flatten();
        waker.ok()?.join().ok().filter(|&pinned| pinned).and(outcome)
    })
}

fn current_cpu() -> Option<usize> {
    // SAFETY: no arguments.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// Keeps the calling thread on `cpu`.
fn pin(cpu: usize) -> bool {
    // SAFETY: an all-zero cpu_set_t is the empty set; CPU_SET refuses numbers beyond its size.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if cpu >= 8 * size_of::<libc::cpu_set_t>() {
            return false;
        }
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rseq::{glibc, own, register_thread};

    fn area() -> (isize, fn() -> bool) {
        glibc().map_or_else(|_| (own().unwrap(), register_thread as fn() -> bool), |area| (area, || true))
    }

    #[test]
    fn a_preempted_section_is_aborted() {
        let (area, register) = area();
        assert_eq!(preemption_aborts(area, register, true), Ok(()));
    }

    #[test]
    fn a_kernel_that_does_not_abort_preempted_sections_is_detected() {
        let (area, register) = area();
        assert!(preemption_aborts(area, register, false).unwrap_err().contains("does not abort"));
    }
}
