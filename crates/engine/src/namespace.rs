//! A user namespace in which root is called `nobody`: for servers that refuse to run as root.
//!
//! To the kernel outside it is still root, without its powers: it owns, and can enter, what root made for it alone, and
//! nothing has to be given to another user. Its System V shared memory is a world of its own, which ends with it: a
//! killed server leaves none behind.

use std::ffi::CStr;
use std::io;

use rustix::fs::{Mode, OFlags, open};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// `nobody` has this number everywhere, and a name, which some servers want.
const NUMBERS: &[u8] = b"65534 0 1\n";

/// Enters it. Only makes system calls and allocates nothing: meant for the moment between fork and exec.
pub(super) fn hide_root() -> io::Result<()> {
    // SAFETY: without `UnshareFlags::FILES` the table of open files stays what it is, and so does every descriptor that
    // this program holds; users and System V memory are no part of what Rust's types promise.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWIPC) }?;
    write(c"/proc/self/setgroups", b"deny")?;
    write(c"/proc/self/uid_map", NUMBERS)?;
    write(c"/proc/self/gid_map", NUMBERS)
}

fn write(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, bytes)?;
    Ok(())
}
