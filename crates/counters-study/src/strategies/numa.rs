//! NUMA nodes, as the original program determines them.

use std::ffi::{c_int, c_ulong, c_void};
use std::io;
use tare_counters::cpus;

/// The current CPU; 0 where the system does not report it.
#[inline]
pub(super) fn current_cpu() -> usize {
    // SAFETY: no arguments.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// One more than the highest node number of any CPU.
pub(crate) fn node_count() -> usize {
    cpus::nodes().iter().flatten().max().map_or(1, |&last| last as usize + 1)
}

/// libnuma's lookup, loaded at run time because only this strategy needs the library.
#[derive(Clone, Copy)]
pub(super) struct Libnuma(unsafe extern "C" fn(c_int) -> c_int);

impl Libnuma {
    pub(super) fn load() -> Result<Self, String> {
        // SAFETY: C strings; the library's initialiser is libnuma's own; it is never unloaded.
        let (available, lookup) = unsafe {
            let library = libc::dlopen(c"libnuma.so.1".as_ptr(), libc::RTLD_NOW);
            if library.is_null() {
                return Err("libnuma.so.1 is not installed (Debian: apt-get install libnuma1)".to_owned());
            }
            let symbol = |name: &std::ffi::CStr| libc::dlsym(library, name.as_ptr());
            (symbol(c"numa_available"), symbol(c"numa_node_of_cpu"))
        };
        if available.is_null() || lookup.is_null() {
            return Err("libnuma.so.1 lacks numa_available or numa_node_of_cpu".to_owned());
        }
        // SAFETY: the signatures given in numa(3).
        let (available, lookup) = unsafe {
            (
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(available),
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> c_int>(lookup),
            )
        };
        // SAFETY: no arguments; must precede all other calls.
        if unsafe { available() } < 0 {
            return Err("libnuma reports that this kernel has no NUMA interface".to_owned());
        }
        Ok(Self(lookup))
    }

    /// The node of a CPU. libnuma's -1 (unknown) becomes a large number, as in the original program.
    #[inline]
    pub(super) fn node_of_cpu(self, cpu: usize) -> usize {
        // SAFETY: numa_available was called; every number is allowed.
        unsafe { (self.0)(cpu as c_int) as usize }
    }
}

/// Interleaves later allocations of the calling thread over all nodes, until the thread ends.
pub(crate) fn interleave_own_allocations() -> io::Result<()> {
    // The program's name in this file may contain any bytes.
    let allowed = String::from_utf8_lossy(&std::fs::read("/proc/self/status")?)
        .lines()
        .find_map(|line| line.strip_prefix("Mems_allowed_list:").and_then(cpus::parse_list))
        .ok_or(io::ErrorKind::InvalidData)?;
    let bits = c_ulong::BITS;
    let mut mask = vec![0 as c_ulong; (allowed.last().copied().unwrap_or(0) / bits) as usize + 1];
    allowed.iter().for_each(|node| mask[(node / bits) as usize] |= 1 << (node % bits));
    // SAFETY: the kernel reads as many bits of the mask as given (it ignores the last one, hence the number plus one).
    let answer = unsafe {
        libc::syscall(libc::SYS_set_mempolicy, libc::MPOL_INTERLEAVE, mask.as_ptr(), mask.len() * bits as usize + 1)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaving_is_the_threads_own_and_reads_back_with_every_node_that_is_allowed() {
        let stack_of_this_thread = || {
            let maps = std::fs::read_to_string("/proc/thread-self/numa_maps").ok()?;
            maps.lines().find(|line| line.contains(" stack")).map(String::from)
        };
        let requested = std::thread::spawn(move || interleave_own_allocations().map(|()| stack_of_this_thread()));
        match requested.join().unwrap() {
            // A kernel without NUMA does not have the file; the policy is then not checked.
            Ok(stack) => assert!(stack.is_none_or(|line| line.contains(" interleave:0")), "not interleaved"),
            // A container may forbid it: the error is returned, not hidden.
            Err(refused) => {
                assert!(matches!(refused.raw_os_error(), Some(libc::EPERM | libc::ENOSYS | libc::EINVAL)), "{refused}");
            }
        }
        assert!(
            stack_of_this_thread().is_none_or(|line| line.contains(" default ")),
            "another thread's policy changed"
        );
    }

    #[test]
    fn libnuma_agrees_with_the_kernel_on_every_cpu_or_reports_what_is_missing() {
        match Libnuma::load() {
            Ok(libnuma) => {
                for (cpu, node) in cpus::nodes().iter().enumerate() {
                    if let Some(node) = node {
                        assert_eq!(libnuma.node_of_cpu(cpu), *node as usize, "CPU {cpu}");
                    }
                }
            }
            Err(reason) => assert!(reason.starts_with("libnuma"), "{reason}"),
        }
    }
}
