//! Restartable sequences: a few instructions that the kernel restarts from the beginning when the thread was preempted,
//! moved or signalled within them. See rseq(2) and the kernel's `include/uapi/linux/rseq.h`.

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
mod arch;
mod area;
#[cfg(any(target_arch = "aarch64", test))]
mod selftest;

#[cfg(feature = "mutant")]
pub(crate) use arch::add_without_section;
pub(crate) use arch::{Add, add, guess_cpu, increment};
pub(crate) use area::{glibc, own, register_thread};
#[cfg(target_arch = "aarch64")]
pub(crate) use selftest::trusted as preemption_aborts;
