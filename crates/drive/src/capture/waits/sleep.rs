//! Why a thread sleeps, derived from its system call.

use std::collections::HashMap;
use std::path::Path;
use tare_cpuset::observe::{Call, epoll_watches};
use tare_results::waits::{FutexOperation, TimeUse};

/// Flags of a futex operation (futex(2)): FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
const PRIVATE: u64 = 128;
const REAL_TIME: u64 = 256;
const WAIT: u64 = 0;
const WAIT_BITSET: u64 = 9;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Sleep {
    Futex(Futex),
    In(TimeUse, Option<String>),
}

impl Sleep {
    /// What it waits for; none for a futex, which may be of many kinds.
    pub(crate) fn kind(&self) -> Option<TimeUse> {
        match self {
            Self::Futex(_) => None,
            Self::In(time, _) => Some(*time),
        }
    }
}

/// A futex and the operation on it: threads with equal values wait for the same lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Futex {
    /// The process of the address; None if processes share the futex, which then has the same address in all of them.
    pub process: Option<i32>,
    pub address: u64,
    pub operation: FutexOperation,
}

/// Why a thread of process `pid` sleeps.
pub(super) fn sleep(pid: i32, call: &Call, descriptors: &mut Descriptors) -> Sleep {
    let [first, second, ..] = call.arguments;
    let of_file = |time, descriptors: &mut Descriptors| match descriptors.of(pid, first) {
        Descriptor::Socket => Sleep::In(TimeUse::Client, None),
        Descriptor::File(name) => Sleep::In(time, Some(name)),
        Descriptor::Other => Sleep::In(TimeUse::WakeUp, None),
    };
    if let Some(found) = older(pid, call, descriptors) {
        return found;
    }
    match call.number {
        libc::SYS_futex => Sleep::Futex(Futex {
            process: (second & PRIVATE != 0).then_some(pid),
            address: first,
            operation: match second & !(PRIVATE | REAL_TIME) {
                WAIT => FutexOperation::Wait,
                WAIT_BITSET => FutexOperation::WaitBitset,
                _ => FutexOperation::Other,
            },
        }),
        libc::SYS_recvfrom | libc::SYS_recvmsg | libc::SYS_sendto | libc::SYS_sendmsg => {
            Sleep::In(TimeUse::Client, None)
        }
        libc::SYS_accept | libc::SYS_accept4 => Sleep::In(TimeUse::Client, None),
        libc::SYS_ppoll => of_descriptors(second),
        libc::SYS_pselect6 => of_descriptors(first),
        libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => epoll(pid, first, descriptors),
        libc::SYS_read | libc::SYS_readv | libc::SYS_pread64 | libc::SYS_preadv | libc::SYS_preadv2 => {
            of_file(TimeUse::Read, descriptors)
        }
        libc::SYS_write | libc::SYS_writev | libc::SYS_pwrite64 | libc::SYS_pwritev | libc::SYS_pwritev2 => {
            of_file(TimeUse::Write, descriptors)
        }
        libc::SYS_fallocate | libc::SYS_ftruncate => of_file(TimeUse::Write, descriptors),
        libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_sync_file_range => of_file(TimeUse::Flush, descriptors),
        libc::SYS_msync => Sleep::In(TimeUse::Flush, None),
        libc::SYS_fcntl | libc::SYS_flock => of_file(TimeUse::FileLock, descriptors),
        libc::SYS_io_getevents | libc::SYS_io_uring_enter => Sleep::In(TimeUse::SubmittedIo, None),
        libc::SYS_semop | libc::SYS_semtimedop => Sleep::In(TimeUse::Semaphore, None),
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Sleep::In(TimeUse::Pause, None),
        libc::SYS_rt_sigtimedwait | libc::SYS_rt_sigsuspend => Sleep::In(TimeUse::WakeUp, None),
        other => Sleep::In(TimeUse::Other, Some(format!("call {other}"))),
    }
}

/// System calls that newer architectures do not have.
#[cfg(target_arch = "x86_64")]
fn older(pid: i32, call: &Call, descriptors: &mut Descriptors) -> Option<Sleep> {
    match call.number {
        libc::SYS_poll => Some(of_descriptors(call.arguments[1])),
        libc::SYS_select => Some(of_descriptors(call.arguments[0])),
        libc::SYS_epoll_wait => Some(epoll(pid, call.arguments[0], descriptors)),
        _ => None,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_: i32, _: &Call, _: &mut Descriptors) -> Option<Sleep> {
    None
}

/// A wait for this number of descriptors: for the client, or if there are none, a pause (PostgreSQL's pg_usleep in
/// older versions).
fn of_descriptors(number: u64) -> Sleep {
    Sleep::In(if number == 0 { TimeUse::Pause } else { TimeUse::Client }, None)
}

/// A process waits for its client if a socket is among the watched descriptors, and otherwise for a signal of another
/// process.
fn epoll(pid: i32, descriptor: u64, descriptors: &mut Descriptors) -> Sleep {
    Sleep::In(if descriptors.watches_a_socket(pid, descriptor) { TimeUse::Client } else { TimeUse::WakeUp }, None)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Descriptor {
    Socket,
    File(String),
    Other,
}

/// Cache for one sample of which epoll descriptors watch a socket: this does not change, and reading it is slow.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    with_socket: HashMap<(i32, i32), bool>,
}

impl Descriptors {
    /// What the descriptor argument refers to. A register holds 64 bits, of which the lower 32 are the descriptor.
    fn of(&self, pid: i32, argument: u64) -> Descriptor {
        look(pid, (argument as u32).cast_signed())
    }

    fn watches_a_socket(&mut self, pid: i32, argument: u64) -> bool {
        let descriptor = (argument as u32).cast_signed();
        *self.with_socket.entry((pid, descriptor)).or_insert_with(|| {
            let watched = epoll_watches(pid, descriptor).unwrap_or_default();
            watched.into_iter().any(|watched| look(pid, watched) == Descriptor::Socket)
        })
    }
}

fn look(pid: i32, descriptor: i32) -> Descriptor {
    let Ok(target) = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}")) else { return Descriptor::Other };
    if !target.is_absolute() {
        return if target.to_string_lossy().starts_with("socket:") { Descriptor::Socket } else { Descriptor::Other };
    }
    Descriptor::File(named(&target))
}

/// The name of a file. A file whose name is a number is replaced by its directory, because there are many such files.
fn named(path: &Path) -> String {
    let part =
        |path: &Path| path.file_name().map(|name| name.to_string_lossy().trim_end_matches(" (deleted)").to_owned());
    let name = part(path).unwrap_or_default();
    let is_number = name.contains(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| matches!(c, '0'..='9' | 'A'..='F' | '.' | '_'));
    let folder = path.parent().and_then(part).filter(|_| is_number);
    folder.map_or(name, |folder| format!("{folder}/*"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::AsRawFd;

    fn call(number: i64, first: u64, second: u64) -> Call {
        Call { number, arguments: [first, second, 0, 0, 0, 0], stack: 0, program: 0 }
    }

    #[test]
    fn a_private_futex_belongs_to_its_process_and_a_shared_one_to_all() {
        let mut descriptors = Descriptors::default();
        let mut of = |operation| match sleep(7, &call(libc::SYS_futex, 0x1000, operation), &mut descriptors) {
            Sleep::Futex(futex) => (futex.process, futex.operation),
            Sleep::In(time, _) => panic!("{time}"),
        };
        assert_eq!(of(PRIVATE), (Some(7), FutexOperation::Wait));
        assert_eq!(of(0), (None, FutexOperation::Wait));
        assert_eq!(of(PRIVATE | REAL_TIME | WAIT_BITSET), (Some(7), FutexOperation::WaitBitset));
        assert_eq!(of(6), (None, FutexOperation::Other));
    }

    #[test]
    fn a_sleep_on_a_file_names_it_and_a_sleep_on_a_socket_is_the_client() {
        let own = std::process::id().cast_signed();
        let folder = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(folder.path().join("ib_logfile0")).unwrap();
        let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut descriptors = Descriptors::default();
        let mut of = |number, fd: &dyn AsRawFd| {
            sleep(own, &call(number, u64::from(fd.as_raw_fd().cast_unsigned()), 0), &mut descriptors)
        };
        assert_eq!(of(libc::SYS_fdatasync, &file), Sleep::In(TimeUse::Flush, Some("ib_logfile0".into())));
        assert_eq!(of(libc::SYS_pread64, &file), Sleep::In(TimeUse::Read, Some("ib_logfile0".into())));
        assert_eq!(of(libc::SYS_read, &socket), Sleep::In(TimeUse::Client, None));
        assert_eq!(of(libc::SYS_getpid, &file), Sleep::In(TimeUse::Other, Some("call 39".into())));
        let mut waits_for = |number, first, second| sleep(own, &call(number, first, second), &mut descriptors);
        for number in [libc::SYS_pselect6, libc::SYS_ppoll] {
            assert_eq!(waits_for(number, 8, 8), Sleep::In(TimeUse::Client, None));
            assert_eq!(waits_for(number, 0, 0), Sleep::In(TimeUse::Pause, None));
        }
    }

    proptest! {
        #[test]
        fn no_call_makes_it_panic(number in -2_i64..500, arguments in any::<[u64; 6]>()) {
            let call = Call { number, arguments, stack: 0, program: 0 };
            let _ = sleep(std::process::id().cast_signed(), &call, &mut Descriptors::default());
        }
    }

    #[test]
    fn numbered_files_are_named_by_their_folder() {
        for (path, expected) in [
            ("/data/ib_logfile0", "ib_logfile0"),
            ("/data/pg_wal/0000000100000000000000A3", "pg_wal/*"),
            ("/data/base/16384/16401.1", "16384/*"),
            ("/data/sbtest/sbtest1.ibd", "sbtest1.ibd"),
            ("/data/x (deleted)", "x"),
        ] {
            assert_eq!(named(Path::new(path)), expected);
        }
    }
}
