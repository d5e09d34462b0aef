//! The observed threads of the server, why a thread sleeps (derived from its system call), and counts of samples by
//! class of thread.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Instant;
use tare_cpuset::observe::{Call, InCallFile, ObserveError, epoll_watches};
use tare_cpuset::{ThreadRef, observe};
use tare_results::waits::{FutexOperation, TimeUse};

/// Limits: distinct sleeps, and call chains per sleep. Servers have some thousands; the limits bound the memory for a
/// server that keeps creating new ones.
const SLEEPS: usize = 100_000;
const CALLERS: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub samples: u64,
    pub running: u64,
    /// Samples of page faults and similar are [`Sleep::In`] too.
    pub asleep: HashMap<Sleep, Sightings>,
}

/// Number of samples, and the ids of the threads.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    pub samples: u64,
    pub threads: BTreeSet<i32>,
    /// The process of the thread that was seen first.
    pub process: i32,
    /// Chain number -> samples, for the samples whose stacks were read.
    pub callers: HashMap<usize, u64>,
}

impl Tally {
    /// Samples of sleep by the number of their chain. A stack is lost if its thread wakes while it is read, more often
    /// in short sleeps: so the samples of each sleep are divided among its own chains, and those of a sleep without any
    /// among the chains of its kind.
    pub(crate) fn of_chains(&self) -> HashMap<usize, f64> {
        let mut kinds: HashMap<Option<TimeUse>, (f64, HashMap<usize, u64>)> = HashMap::new();
        let mut chains: HashMap<usize, f64> = HashMap::new();
        for (sleep, seen) in &self.asleep {
            let (unread, of_kind) = kinds.entry(sleep.kind()).or_default();
            match seen.callers.is_empty() {
                true => *unread += seen.samples as f64,
                false => divide(seen.samples as f64, &seen.callers, &mut chains),
            }
            seen.callers.iter().for_each(|(chain, count)| *of_kind.entry(*chain).or_default() += count);
        }
        kinds.values().for_each(|(unread, of_kind)| divide(*unread, of_kind, &mut chains));
        chains
    }

    pub(crate) fn runs(&mut self) {
        self.samples += 1;
        self.running += 1;
    }

    pub(crate) fn sleeps(&mut self, process: i32, thread: i32, sleep: Sleep, caller: Option<usize>) {
        self.samples += 1;
        let is_kept = self.asleep.len() < SLEEPS || self.asleep.contains_key(&sleep);
        let sleep = if is_kept { sleep } else { Sleep::In(TimeUse::Other, None) };
        let seen = self.asleep.entry(sleep).or_insert_with(|| Sightings { process, ..Sightings::default() });
        seen.samples += 1;
        seen.threads.insert(thread);
        if let Some(caller) = caller.filter(|caller| seen.callers.len() < CALLERS || seen.callers.contains_key(caller))
        {
            *seen.callers.entry(caller).or_default() += 1;
        }
    }
}

fn divide(samples: f64, among: &HashMap<usize, u64>, chains: &mut HashMap<usize, f64>) {
    let all: u64 = among.values().sum();
    for (chain, count) in among {
        *chains.entry(*chain).or_default() += samples * *count as f64 / all as f64;
    }
}

/// A thread, its file under /proc, and the kernel's counters when observation began.
pub(super) struct Followed {
    pub thread: ThreadRef,
    pub is_connection: bool,
    pub file: InCallFile,
    since: Instant,
    counted: Option<Counted>,
}

/// Exact figures from the kernel, nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Counted {
    pub elapsed_ns: f64,
    pub ran_ns: f64,
    pub waited_ns: f64,
}

impl Followed {
    pub(crate) fn new(thread: ThreadRef, is_connection: bool) -> Result<Self, ObserveError> {
        let file = InCallFile::open(thread)?;
        Ok(Self { thread, is_connection, file, since: Instant::now(), counted: counted(thread) })
    }

    /// The increase since observation began; None if the kernel does not count, or the thread has ended.
    pub(crate) fn did(&self) -> Option<Counted> {
        let (before, now) = (self.counted?, counted(self.thread)?);
        Some(Counted {
            elapsed_ns: self.since.elapsed().as_nanos() as f64,
            ran_ns: now.ran_ns - before.ran_ns,
            waited_ns: now.waited_ns - before.waited_ns,
        })
    }
}

fn counted(thread: ThreadRef) -> Option<Counted> {
    let now = observe::thread(thread).ok()?;
    Some(Counted { elapsed_ns: 0.0, ran_ns: now.run_ns? as f64, waited_ns: now.wait_ns? as f64 })
}

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

    /// Half of the sleep waits for clients; the other half are short commits, of which 60% of the stacks are lost.
    #[test]
    fn chains_of_short_sleeps_weigh_as_much_as_those_of_long_ones() {
        let mut tally = Tally::default();
        (0..100).for_each(|_| tally.sleeps(1, 1, Sleep::In(TimeUse::Client, None), Some(7)));
        for number in 0..100 {
            // Every second commit sleeps at an address of its own, and some of these were never read.
            let address = if number % 2 == 0 { 0 } else { number };
            let futex = Futex { process: Some(1), address, operation: FutexOperation::Wait };
            tally.sleeps(1, 1, Sleep::Futex(futex), (number % 5 < 2).then_some(8));
        }
        tally.runs();
        let found = tally.of_chains();
        assert!((found[&7] - 100.0).abs() < 1e-9 && (found[&8] - 100.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn sleeps_beyond_the_limit_of_kinds_are_counted_together() {
        let mut tally = Tally::default();
        for number in 0..SLEEPS + 10 {
            tally.sleeps(1, 1, Sleep::In(TimeUse::Read, Some(number.to_string())), Some(number));
            tally.sleeps(1, 1, Sleep::In(TimeUse::Client, None), Some(number));
        }
        assert_eq!(tally.asleep.len(), SLEEPS + 1);
        assert_eq!(tally.asleep[&Sleep::In(TimeUse::Other, None)].samples, 11);
        assert_eq!(tally.asleep[&Sleep::In(TimeUse::Client, None)].callers.len(), CALLERS);
    }

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
