//! What a child process sets up before exec: its environment, its control group, its death signal, its address space,
//! and its apparent user.

use super::process_tree::GroupFiles;
use crate::Aslr;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::CStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use tare_cpuset::SavedAffinity;

/// Variables that a server may inherit. Any other variable may be a secret, may not be meant for the server
/// (LD_PRELOAD), or changes the size of its stack from one shell to the next.
pub(super) const INHERITED: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "XDG_RUNTIME_DIR",
    "ASAN_OPTIONS",
    "RUST_BACKTRACE",
];

/// Lets the command's process inherit only what servers need. Call it before adding any variable.
pub(crate) fn clean_environment(command: &mut Command) {
    command.env_clear();
    command
        .envs(std::env::vars_os().filter(|(name, _)| {
            name.to_str().is_some_and(|name| INHERITED.contains(&name) || name.starts_with("LC_"))
        }));
}

/// Makes the kernel kill the command's process when the thread that starts it ends, for whatever reason.
pub fn dies_with_parent(command: &mut Command) {
    before_exec(command, Before::default());
}

/// What a child sets up for itself before exec.
#[derive(Debug, Default)]
pub(crate) struct Before {
    pub aslr: Option<Aslr>,
    pub hide_root: bool,
    /// The open files through which it joins its control groups.
    pub groups: GroupFiles,
}

/// What the child does between fork and exec: join its control group, request to die with its parent, and set up its
/// address space, which is kept across exec.
pub(crate) fn before_exec(command: &mut Command, before: Before) {
    let parent = getpid();
    let Before { aslr, hide_root, groups } = before;
    // Before the fork: the first use of the page's size may allocate.
    let aslr = aslr.map(|aslr| (aslr, aslr.stack_limit()));
    let cpus = groups.memory.first().and_then(|_| SavedAffinity::of_this_thread().ok());
    let prepare = move || {
        // While it is still root. If this fails, the process is found by the mark in its environment.
        if let Some(file) = &groups.group {
            let _ = rustix::io::write(file, b"0");
        }
        for file in &groups.memory {
            rustix::io::write(file, b"0")?;
        }
        if let Some(file) = &groups.limits {
            rustix::io::write(file, b"0")?;
        }
        if let Some(cpus) = &cpus {
            cpus.restore()?;
        }
        // Before the death signal is set: a change of credentials clears it.
        if hide_root {
            enter_namespace_without_root()?;
        }
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(parent) {
            // The parent died before the line above: nothing would ever end this process.
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        aslr.map_or(Ok(()), |(aslr, stack_limit)| aslr.set(stack_limit))
    };
    // SAFETY: the closure only makes system calls and allocates nothing, so it is safe in the forked child of a
    // threaded process.
    unsafe { command.pre_exec(prepare) };
}

/// 65534 is the number of `nobody` everywhere; some servers require that their user has a name.
const NUMBERS: &[u8] = b"65534 0 1\n";

/// Enters a user namespace in which root is called `nobody`, for servers that refuse to run as root. Only makes
/// system calls and allocates nothing.
///
/// Outside the namespace it is still root, but without root's capabilities: it owns, and can enter, what root created
/// for itself alone, so no file has to be given to another user. Its System V shared memory is in a namespace of its
/// own, which ends with it: a killed server leaves none behind.
fn enter_namespace_without_root() -> io::Result<()> {
    // SAFETY: without `UnshareFlags::FILES` the table of open files stays as it is, and so does every descriptor that
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

#[cfg(test)]
mod tests {
    use super::super::process_tree::ProcessTree;
    use super::*;

    #[test]
    fn a_server_is_limited_before_anything_of_it_runs() {
        let folder = tempfile::tempdir().unwrap();
        let tasks = folder.path().join("tasks");
        std::fs::write(&tasks, "").unwrap();
        let tree = || ProcessTree::without_group().limited(Some(tasks.clone()));
        let mut command = Command::new("cat");
        let groups = tree().begin(command.arg(&tasks)).unwrap();
        before_exec(&mut command, Before { groups, ..Before::default() });
        assert_eq!(command.output().unwrap().stdout, b"0");
        std::fs::remove_file(&tasks).unwrap();
        assert!(tree().begin(&mut command).is_err(), "a group that is gone");
    }
}
