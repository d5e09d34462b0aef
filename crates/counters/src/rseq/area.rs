//! The rseq area of a thread: glibc's, or this crate's own.

use super::arch::{own_area_offset, thread_pointer};
use std::arch::global_asm;
use std::cell::Cell;
use std::ffi::{CStr, c_long, c_uint};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// The signature before every abort handler; the kernel refuses to jump to an address without it.
const SIGNATURE: c_uint = if cfg!(target_arch = "aarch64") { 0xd428_bc00 } else { 0x5305_3053 };
/// The size of the first version of `struct rseq`, which every kernel accepts.
const SIZE: c_uint = 32;
const UNREGISTER: c_uint = 1;

// The thread's own area: 32 bytes, 32-aligned, `cpu_id` -1 (not registered) until the kernel writes it. Defined here
// and not by `thread_local!`, because only an initial-exec symbol has the same offset in all threads. Weak: two
// versions of this crate in a program share the area, because a thread can register only one.
global_asm!(
    ".pushsection .tdata.tare_counters_rseq, \"awT\", %progbits",
    ".weak __tare_counters_rseq_area",
    ".hidden __tare_counters_rseq_area",
    ".type __tare_counters_rseq_area, %object",
    ".balign 32",
    "__tare_counters_rseq_area:",
    ".long 0, -1",
    ".quad 0",
    ".long 0, 0, 0, 0",
    ".size __tare_counters_rseq_area, 32",
    ".popsection",
);

/// Offset of the area that glibc registered for every thread, or why there is none.
pub(crate) fn glibc() -> Result<isize, String> {
    let (Some(offset), Some(size)) = (symbol(c"__rseq_offset"), symbol(c"__rseq_size")) else {
        return Err("the C library does not register rseq (glibc does since 2.35)".to_owned());
    };
    // SAFETY: glibc documents both as constants, a ptrdiff_t and an unsigned int.
    let (offset, size) = unsafe { (*offset.cast::<isize>(), *size.cast::<c_uint>()) };
    if size == 0 {
        return Err("glibc is configured not to register rseq, or the kernel refused it".to_owned());
    }
    let cpu = cpu_id(offset).load(Ordering::Relaxed);
    if cpu.cast_signed() < 0 { Err(format!("glibc's rseq area holds no CPU number ({cpu:#x})")) } else { Ok(offset) }
}

/// Offset of this crate's own area, after registering it for the calling thread, or why that failed.
pub(crate) fn own() -> Result<isize, String> {
    if glibc().is_ok() {
        return Err("glibc has registered its own area; GLIBC_TUNABLES=glibc.pthread.rseq=0 would free it".to_owned());
    }
    if register_thread() {
        Ok(own_area_offset())
    } else {
        Err(format!("the kernel refused to register rseq: {}", io::Error::last_os_error()))
    }
}

/// Registers this crate's area for the calling thread, once; returns whether it is registered. The thread unregisters
/// it before its memory is freed: after that (in later thread-local destructors) this returns false.
#[cold]
pub(crate) fn register_thread() -> bool {
    thread_local!(static REGISTRATION: Registration = const { Registration(Cell::new(State::New)) });
    REGISTRATION.try_with(Registration::get).unwrap_or(false)
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Registered,
    Refused,
}

struct Registration(Cell<State>);

impl Registration {
    fn get(&self) -> bool {
        if self.0.get() == State::New {
            // EBUSY: this same area is already registered, by a signal handler or another version of this crate.
            let registered = rseq(0).map_or_else(|error| error.raw_os_error() == Some(libc::EBUSY), |()| true);
            self.0.set(if registered { State::Registered } else { State::Refused });
        }
        self.0.get() == State::Registered
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.0.get() == State::Registered {
            // The kernel writes to the area whenever the thread is scheduled, so it must stop before the memory is
            // freed. It also sets `cpu_id` back to -1, which sends later adds to the slow path.
            let _ = rseq(UNREGISTER);
        }
    }
}

/// Registers or unregisters the calling thread's area.
fn rseq(flags: c_uint) -> io::Result<()> {
    let area = thread_pointer().wrapping_add_signed(own_area_offset());
    // SAFETY: the area is 32 bytes, 32-aligned, lives as long as the thread and is written by nothing but the kernel
    // and the adds.
    let answer: c_long = unsafe { libc::syscall(libc::SYS_rseq, area, SIZE, flags, SIGNATURE) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn symbol(name: &CStr) -> Option<*const u8> {
    // SAFETY: a C string and a pseudo-handle that is always valid.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found.cast_const().cast())
}

/// The `cpu_id` word of the calling thread. Atomic, because the kernel writes it.
fn cpu_id(offset: isize) -> &'static AtomicU32 {
    let at = thread_pointer().wrapping_add_signed(offset) + 4;
    // SAFETY: the area outlives every use in this module: the word is read at once, by the thread that owns it.
    unsafe { &*(at as *const AtomicU32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_area_is_aligned_and_starts_unregistered_in_every_thread() {
        for _ in 0..4 {
            std::thread::spawn(|| {
                let area = thread_pointer().wrapping_add_signed(own_area_offset());
                assert_eq!(area % 32, 0);
                assert_eq!(cpu_id(own_area_offset()).load(Ordering::Relaxed), u32::MAX);
            })
            .join()
            .unwrap();
        }
    }
}
