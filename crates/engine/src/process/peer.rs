//! The process at the other end of a connection, and the thread that a server means by a number.

use procfs::process::Status;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use tare_cpuset::ThreadRef;
use tare_cpuset::observe::{descendants, parse, threads_of};

/// The process that listens at the other end; `None` if it is outside this process's PID namespace.
pub(crate) fn listener(stream: &UnixStream) -> Option<i32> {
    // The kernel reports process 0 for one outside (unix(7)), and rustix's type has no such process.
    let mut found = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    let at = (&raw mut found).cast();
    // SAFETY: getsockopt writes at most `length` bytes to `found`, in which any bytes are valid numbers.
    let outcome =
        unsafe { libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, at, &raw mut length) };
    (outcome == 0 && found.pid > 0).then_some(found.pid)
}

/// The thread that a server on this machine calls `reported`; `None` if it cannot be found for sure.
///
/// A server in a PID namespace of its own, such as that of a container, has numbers of its own: here, the same number
/// belongs to another process (pid_namespaces(7)). So the thread must be one of the process `listener`, which listens
/// at the server's socket, or of a child of it, or of a process whose name contains one of `names`.
pub(crate) fn thread_of(reported: i32, listener: Option<i32>, names: &[&str]) -> Option<ThreadRef> {
    let in_nested = listener.filter(|pid| status(*pid, *pid).is_some_and(|status| is_nested(&status)));
    if let Some(listener) = in_nested {
        let is_it = |thread: &ThreadRef| {
            let numbers = status(thread.pid, thread.tid).and_then(|status| status.nspid);
            numbers.is_some_and(|numbers| numbers.last() == Some(&reported))
        };
        // The newest first: a client asks after it connected, and the others need not be read.
        let newest = |pid: i32| threads_of(pid).unwrap_or_default().into_iter().rev().find(is_it);
        return newest(listener).or_else(|| descendants(listener).into_iter().rev().find_map(newest));
    }
    let thread = ThreadRef::of_tid(reported).ok()?;
    let process = status(thread.pid, thread.pid)?;
    let is_of_listener = listener.is_some_and(|listener| listener == thread.pid || listener == process.ppid);
    let is_named = names.iter().any(|name| process.name.contains(name));
    (!is_nested(&process) && (is_of_listener || is_named)).then_some(thread)
}

fn status(pid: i32, tid: i32) -> Option<Status> {
    parse(&format!("/proc/{pid}/task/{tid}/status")).ok()
}

/// Whether it is in a PID namespace below that of /proc.
fn is_nested(status: &Status) -> bool {
    status.nspid.as_ref().is_some_and(|numbers| numbers.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::process::Command;
    use std::time::{Duration, Instant};

    #[test]
    fn the_listener_of_a_socket_is_found_with_its_threads_and_no_stranger() {
        let folder = tempfile::tempdir().unwrap();
        let _listener = UnixListener::bind(folder.path().join("s")).unwrap();
        let own = std::process::id().cast_signed();
        let found = listener(&UnixStream::connect(folder.path().join("s")).unwrap());
        assert_eq!(found, Some(own));
        let here = ThreadRef::of_this_thread();
        assert_eq!(thread_of(here.tid, found, &[]), Some(here));
        assert_eq!(thread_of(here.tid, None, &["tare_engine"]), Some(here));
        assert_eq!(thread_of(here.tid, None, &["mysqld"]), None);
        assert_eq!(thread_of(i32::MAX, found, &["tare_engine"]), None);
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id().cast_signed();
        let of_child = thread_of(pid, found, &[]);
        child.kill().and_then(|()| child.wait()).unwrap();
        assert_eq!(of_child, Some(ThreadRef::main_of(pid)), "as PostgreSQL's processes");
    }

    #[test]
    fn a_number_of_another_pid_namespace_is_translated_or_refused() {
        if !rustix::process::geteuid().is_root() {
            return; // Only root makes such a namespace everywhere.
        }
        let mut outside =
            Command::new("unshare").args(["--pid", "--fork", "--kill-child", "sleep", "60"]).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(20);
        let first = loop {
            let found = descendants(outside.id().cast_signed()).first().copied();
            if found.is_some() || Instant::now() > deadline {
                break found;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let translated = thread_of(1, first, &[]);
        let by_name = first.and_then(|pid| thread_of(pid, None, &["unshare", "sleep"]));
        outside.kill().and_then(|()| outside.wait()).unwrap();
        assert_eq!(translated, first.map(ThreadRef::main_of), "its first process");
        assert!(first.is_some() && by_name.is_none(), "{first:?} {by_name:?}");
    }
}
