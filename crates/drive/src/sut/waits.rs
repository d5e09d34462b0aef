//! The descriptors in which a thread waits: all threads of a process share its descriptors, and only the thread that
//! reads from a connection works for it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use tare_cpuset::ThreadRef;
use tare_cpuset::observe::{InCall, epoll_watches, in_call};

/// More descriptors than one thread of a benchmark waits for at a time.
const MOST: u64 = 4096;

/// The descriptors that a thread waits in, or works on, in its current system call. None if the thread runs, the call
/// has no descriptor, or the kernel does not permit the look (a process of another user).
pub(crate) fn waits_in(thread: ThreadRef) -> Option<Vec<i32>> {
    let InCall::Call(call) = in_call(thread).ok()? else { return None };
    let [first, second, ..] = call.arguments;
    let found = match kind(call.number)? {
        Kind::One => return Some(vec![descriptor(first)]),
        Kind::Poll => polled(thread.pid, first, second),
        Kind::Select => selected(thread.pid, first, second),
        Kind::Epoll => epoll_watches(thread.pid, descriptor(first)).ok(),
    };
    // If the thread has run in the meantime, its memory may have changed.
    found.filter(|_| in_call(thread).is_ok_and(|after| after == InCall::Call(call)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    One,
    /// As a list of `struct pollfd`.
    Poll,
    Select,
    /// By those that were added to another descriptor.
    Epoll,
}

fn kind(call: i64) -> Option<Kind> {
    #[cfg(target_arch = "x86_64")]
    match call {
        libc::SYS_poll => return Some(Kind::Poll),
        libc::SYS_select => return Some(Kind::Select),
        libc::SYS_epoll_wait => return Some(Kind::Epoll),
        _ => {}
    }
    match call {
        libc::SYS_read | libc::SYS_readv | libc::SYS_recvfrom | libc::SYS_recvmsg => Some(Kind::One),
        libc::SYS_write | libc::SYS_writev | libc::SYS_sendto | libc::SYS_sendmsg => Some(Kind::One),
        libc::SYS_ppoll => Some(Kind::Poll),
        libc::SYS_pselect6 => Some(Kind::Select),
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => Some(Kind::Epoll),
        _ => None,
    }
}

/// A register holds 64 bits, of which the lower 32 are the descriptor.
fn descriptor(argument: u64) -> i32 {
    (argument as u32).cast_signed()
}

fn memory(pid: i32, at: u64, bytes: usize) -> Option<Vec<u8>> {
    let mut read = vec![0; bytes];
    File::open(format!("/proc/{pid}/mem")).ok()?.read_exact_at(&mut read, at).ok()?;
    Some(read)
}

/// `struct pollfd`: a descriptor of 4 bytes, then requested and returned events, 2 bytes each.
fn polled(pid: i32, at: u64, count: u64) -> Option<Vec<i32>> {
    let count = usize::try_from(count).ok().filter(|_| count <= MOST)?;
    let entries = memory(pid, at, count * 8)?;
    let descriptors = entries.chunks_exact(8).filter_map(|entry| entry[..4].try_into().ok().map(i32::from_ne_bytes));
    // A negative descriptor is ignored (poll(2)).
    Some(descriptors.filter(|descriptor| *descriptor >= 0).collect())
}

/// `fd_set` of the descriptors to be read, one bit each.
fn selected(pid: i32, count: u64, at: u64) -> Option<Vec<i32>> {
    let count = i32::try_from(count).ok().filter(|_| count <= MOST && at != 0)?;
    let bytes = memory(pid, at, count.unsigned_abs().div_ceil(64) as usize * 8)?;
    let is_set = |descriptor: &i32| {
        let bit = descriptor.unsigned_abs() as usize;
        bytes.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    };
    Some((0..count).filter(is_set).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    /// The descriptors in which a thread is seen that waits like this in a connection.
    fn seen(wait: impl FnOnce(&mut UnixStream) + Send) -> (i32, Vec<i32>) {
        let (mut one, other) = UnixStream::pair().unwrap();
        let descriptor = one.as_raw_fd();
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            scope.spawn(move || {
                sender.send(ThreadRef::of_this_thread()).unwrap();
                wait(&mut one);
            });
            let thread = receiver.recv().unwrap();
            let deadline = Instant::now() + Duration::from_secs(10);
            loop {
                if let Some(found) = waits_in(thread).filter(|found| found.contains(&descriptor)) {
                    drop(other);
                    return (descriptor, found);
                }
                assert!(Instant::now() < deadline, "{thread:?} waits in {:?}", waits_in(thread));
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    }

    #[test]
    fn a_thread_that_reads_or_polls_waits_in_its_own_connection() {
        let (descriptor, found) = seen(|stream| drop(stream.read(&mut [0; 8])));
        assert_eq!(found, [descriptor]);
        let (descriptor, found) = seen(|stream| {
            let mut polled = [rustix::event::PollFd::new(stream, rustix::event::PollFlags::IN)];
            let _ = rustix::event::poll(&mut polled, None);
        });
        assert_eq!(found, [descriptor]);
        let (descriptor, found) = seen(|stream| {
            let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC).unwrap();
            let data = rustix::event::epoll::EventData::new_u64(0);
            rustix::event::epoll::add(&epoll, &*stream, data, rustix::event::epoll::EventFlags::IN).unwrap();
            let mut events = Vec::with_capacity(4);
            let _ = rustix::event::epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None);
        });
        assert_eq!(found, [descriptor]);
    }

    #[test]
    fn a_system_call_without_a_descriptor_yields_none() {
        assert_eq!(kind(libc::SYS_futex), None);
        assert_eq!(descriptor(0xffff_ffff), -1);
    }
}
