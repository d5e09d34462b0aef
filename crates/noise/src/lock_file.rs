//! The file of a lock: opens it safely, and finds the holder of the lock.

use crate::error::{NoiseError, Result};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, test_kill_process};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use tare_cpuset::observe::{arguments, proc_text};

/// Folder of root's own locks: other users can see that they are held, but cannot hold them.
pub(crate) const ROOT_DIR: &str = "/run/tare";

pub(super) fn write_error(action: &'static str, path: &Path, source: io::Error) -> NoiseError {
    NoiseError::Write { action, path: path.to_owned(), source }
}

/// Opens the lock file; creates it if missing. Never follows a symbolic link, and never opens an existing file with
/// O_CREAT, which the kernel forbids for other users' files in sticky folders (fs.protected_regular, proc_sys_fs(5)).
pub(super) fn open(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let bad = |what| NoiseError::BadLockFile { path: path.to_owned(), what };
    for _ in 0..100 {
        let file = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(file) => file,
            Err(rustix::io::Errno::NOENT) => {
                let all = mode(path);
                match rustix::fs::open(path, flags | OFlags::CREATE | OFlags::EXCL, all) {
                    Ok(file) => {
                        // Independent of the umask, because other users must be able to open it.
                        rustix::fs::fchmod(&file, all).map_err(|e| write_error("chmod", path, e.into()))?;
                        file
                    }
                    Err(rustix::io::Errno::EXIST) => continue,
                    Err(e) => return Err(write_error("create", path, e.into())),
                }
            }
            Err(rustix::io::Errno::LOOP) => return Err(bad("it is a symbolic link")),
            // Between another process's creation of the file and its fchmod, this process may not open it.
            Err(rustix::io::Errno::ACCESS) => {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(e) => return Err(write_error("open", path, e.into())),
        };
        let is_file = File::from(file.try_clone().map_err(|e| write_error("open", path, e))?)
            .metadata()
            .is_ok_and(|m| m.is_file());
        return if is_file { Ok(file) } else { Err(bad("it is not a regular file")) };
    }
    Err(bad("it cannot be opened for reading"))
}

/// The mode of the file. Users who can open it can hold the lock as long as they like: all users, or for root's own
/// file only root.
fn mode(path: &Path) -> Mode {
    match path.starts_with(ROOT_DIR) {
        true => Mode::RUSR | Mode::WUSR,
        false => Mode::RUSR | Mode::RGRP | Mode::ROTH,
    }
}

/// The process that holds the lock, from /proc/locks. `None` if it is not visible: it is in another PID namespace, or
/// the file system reports device numbers that differ from the kernel's.
pub(super) fn holder(path: &Path) -> Option<i32> {
    let meta = fs::symlink_metadata(path).ok()?;
    let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", meta.ino());
    // Read line by line, because any user can make the list very long.
    let locks = BufReader::new(File::open("/proc/locks").ok()?);
    locks.lines().map_while(io::Result::ok).find_map(|line| {
        // "1: FLOCK  ADVISORY  WRITE 1234 00:1a:77 0 EOF"; waiters have "->" as their second word.
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[_, "FLOCK", _, _, pid, file, ..] = words.as_slice() else { return None };
        pid.parse().ok().filter(|pid| file == wanted && *pid > 0)
    })
}

/// Whether a descriptor of this process holds the lock, from /proc/PID/fdinfo (proc_pid_fdinfo(5)). [`holder`] finds
/// nothing where a file system, such as btrfs, reports another device number to stat(2) than to /proc/locks.
pub(super) fn holds(pid: i32, path: &Path) -> bool {
    let Ok(lock) = fs::symlink_metadata(path) else { return false };
    let is_lock = |file: fs::Metadata| (file.dev(), file.ino()) == (lock.dev(), lock.ino());
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    descriptors.filter(|entry| fs::metadata(entry.path()).is_ok_and(is_lock)).any(|entry| {
        let about = format!("/proc/{pid}/fdinfo/{}", entry.file_name().to_string_lossy());
        let about = proc_text(&about).unwrap_or_default();
        let mut locks = about.lines().filter_map(|line| line.strip_prefix("lock:"));
        locks.any(|lock| lock.split_whitespace().any(|word| word == "FLOCK"))
    })
}

/// Whether a process exists. /proc does not list those of other users where it is mounted with hidepid (proc(5)).
pub(super) fn lives(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// Characters of a command that are printed at most.
const COMMAND: usize = 200;

pub(super) fn describe(holder: Option<i32>) -> String {
    let Some(pid) = holder else { return "a process that is not visible from here".to_owned() };
    let command = arguments(pid).unwrap_or_default().replace('\0', " ");
    // The command may be another user's, with megabytes of lines.
    let command: String = tare_text::shown_name(command.trim()).chars().take(COMMAND).collect();
    let user = fs::metadata(format!("/proc/{pid}")).map_or(String::new(), |process| {
        let user = process.uid();
        // Only the local file is read: a directory service on the network may not answer.
        let users = proc_text("/etc/passwd").unwrap_or_default();
        let is_this = |line: &&str| line.split(':').nth(2) == Some(&user.to_string());
        let name = users.lines().find(is_this).and_then(|line| line.split(':').next());
        name.map_or_else(|| format!(" of user {user}"), |name| format!(" of user {name}"))
    });
    format!("process {pid}{user} ({command})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn the_descriptor_that_holds_a_lock_is_found_without_the_kernels_list() {
        let folder = tempfile::tempdir().unwrap();
        let (path, own) = (folder.path().join("l"), std::process::id().cast_signed());
        let file = open(&path).unwrap();
        assert!(!holds(own, &path), "open, and not locked");
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
        let other = open(&path).unwrap();
        assert!(holds(own, &path));
        drop(file);
        assert!(!holds(own, &path), "{other:?} did not lock it");
    }

    #[test]
    fn the_command_of_a_holder_is_one_short_line() {
        let line = format!("read _; :\n::stop-commands::x\n\u{1b}[31m{}", "x".repeat(100_000));
        // Its input ends with this test.
        let mut holder = Command::new("sh").args(["-c", &line]).stdin(Stdio::piped()).spawn().unwrap();
        let pid = holder.id().cast_signed();
        // A new process has no arguments for a moment.
        let deadline = std::time::Instant::now() + Duration::from_secs(10);
        while !describe(Some(pid)).contains("read") && std::time::Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let message = describe(Some(pid));
        holder.kill().and_then(|()| holder.wait()).unwrap();
        assert!(message.contains("read _; :\\u{a}") && message.len() < COMMAND + 100, "{message}");
        assert!(!message.contains(|c: char| c.is_control()), "{message:?}");
    }
}
