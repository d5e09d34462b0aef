//! A user namespace in which root is called `nobody`: for servers that refuse to run as root.
//!
//! To the kernel outside it is still root, without its powers: it owns, and can enter, what root made for it alone, and
//! nothing has to be given to another user. Its System V shared memory is a world of its own, which ends with it: a
//! killed server leaves none behind.

use std::ffi::CStr;
use std::io;

use nix::sched::{CloneFlags, unshare};
use rustix::fs::{Mode, OFlags, open};

/// `nobody` has this number everywhere, and a name, which some servers want.
const NUMBERS: &[u8] = b"65534 0 1\n";

/// Enters it. Only makes system calls and allocates nothing: meant for the moment between fork and exec.
pub(crate) fn hide_root() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWIPC)?;
    write(c"/proc/self/setgroups", b"deny")?;
    write(c"/proc/self/uid_map", NUMBERS)?;
    write(c"/proc/self/gid_map", NUMBERS)
}

fn write(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    let file = open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, bytes)?;
    Ok(())
}
