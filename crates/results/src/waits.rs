//! Where the threads of a server spend wall-clock time: the capture `waits`, `captures/trial-NNNNN-A/waits.json`.

use serde::{Deserialize, Serialize};
use strum::Display;

/// Time of the server's threads during a capture sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitsFile {
    pub schema: u32,
    pub elapsed_s: f64,
    pub looks: u64,
    pub looking_cpu_s: f64,
    pub connections: ThreadsTime,
    pub background: ThreadsTime,
    /// The callers of the functions that connections sleep in; none if `wakes` has them, if stacks could not be read,
    /// and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<StackSamples>,
}

/// Stacks of threads that serve connections, read while they slept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StackSamples {
    pub read: u64,
    /// Number of stacks that reach the thread's start function.
    pub whole: u64,
    /// Their chains as in [`WakesFile::callers`]: together the time for which these threads slept.
    pub callers: Vec<CallerShare>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadsTime {
    pub threads: usize,
    /// Number of observations of a thread, over all threads.
    pub samples: u64,
    /// Samples in which a thread ran, or was runnable and waited for a CPU.
    pub running_samples: u64,
    /// Whether [`TimeUse::Ran`] and [`TimeUse::WaitedForCpu`] are the kernel's exact counts (schedstat); else all
    /// running samples are [`TimeUse::Ran`].
    pub exact: bool,
    /// Parts that add up to 1, the largest first; empty if no thread was observed.
    pub parts: Vec<TimePart>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimePart {
    pub time: TimeUse,
    /// What is waited on: the symbol or the mapping of a futex, the name of a file, the number of a call; none if there
    /// is no detail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<FutexOperation>,
    /// For a futex, the nearest function outside the C library that called most of its sleeps, if known from
    /// [`StackSamples`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub addresses: usize,
    pub threads: usize,
    /// Share of the wall-clock time of all threads of the class, 0 to 1.
    pub fraction: f64,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum TimeUse {
    Ran,
    WaitedForCpu,
    /// Asleep on a futex on which other threads sleep too: a lock, or a condition variable with several waiters.
    SharedFutex,
    /// Asleep on a futex on which no other thread was observed: a row lock, a commit, an answer of another thread.
    OwnFutex,
    /// Asleep in a socket: waiting for the client.
    Client,
    /// Asleep until a descriptor other than a socket is ready: a signal of another process.
    WakeUp,
    Read,
    Write,
    /// Making writes durable: fsync, fdatasync, `sync_file_range`.
    Flush,
    /// Waiting for I/O that was submitted before: `io_getevents`, `io_uring_enter`.
    SubmittedIo,
    /// Asleep on a System V semaphore.
    Semaphore,
    FileLock,
    /// Timed sleep: back-off, or the interval of a background thread.
    Pause,
    /// Asleep outside a system call: in a page fault.
    PageFault,
    Other,
}

impl TimeUse {
    /// Whether it is neither running nor waiting for a CPU.
    pub fn is_asleep(self) -> bool {
        !matches!(self, Self::Ran | Self::WaitedForCpu)
    }

    /// Whether it is a wait of the server itself: asleep, but not waiting for a request of the client.
    pub fn is_wait(self) -> bool {
        self.is_asleep() && self != Self::Client
    }
}

/// Names of memory without symbols that contains a futex, as [`TimePart::on`]; a program or library without symbols is
/// in brackets.
pub const PLACES: [&str; 5] = ["heap", "stack", "shared memory", "a mapped file", "unknown"];

/// The wait operation of a futex, futex(2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FutexOperation {
    /// `FUTEX_WAIT`: mutexes of the C library, and locks that servers implement themselves.
    Wait,
    /// `FUTEX_WAIT_BITSET`: condition variables and semaphores of the C library, waits with a time limit, locks of
    /// Rust.
    WaitBitset,
    /// Any other wait operation, such as those with priority inheritance.
    Other,
}

/// Sleeps of the threads that serve connections during a capture sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakesFile {
    pub schema: u32,
    /// From the first to the last event, seconds.
    pub elapsed_s: f64,
    /// Number of observed threads that serve a connection.
    pub threads: usize,
    pub events: u64,
    /// Whether events beyond a limit were left out: then `elapsed_s` is shorter than the sample.
    pub cut: bool,
    /// Share of these threads' time for which they slept until they were woken, 0 to 1.
    pub slept_fraction: f64,
    /// The wakers that ended the sleeps, the largest share first.
    pub woken_by: Vec<WakerShare>,
    /// The same time, attributed to what the waker did meanwhile and, while the waker itself slept, to its own waker.
    pub charged: Vec<ChargedShare>,
    /// The callers of the functions that these threads slept in, the largest share first; empty in older results, and
    /// if perf recorded no call chains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub callers: Vec<CallerShare>,
}

/// The source of the callers of the functions that connections slept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallersSource {
    /// perf's scheduler tracepoint, at the beginning of some sleeps: [`WakesFile::callers`].
    Tracepoints,
    StackSamples,
}

/// Time that connections slept below a chain of functions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallerShare {
    /// `caller;callee`, the innermost last, without kernel functions.
    pub chain: String,
    /// Share of the threads' time, 0 to 1.
    pub fraction: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WakerShare {
    /// `client`, `connection`, `background NAME`, `interrupt`, or the name of another program's thread.
    pub who: String,
    pub wakes: u64,
    /// Share of the threads' time, 0 to 1.
    pub fraction: f64,
}

/// Time that connections slept while another thread did something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChargedShare {
    /// `client`, `connection`, `background NAME`, `interrupt`, or the name of another program's thread.
    pub who: String,
    pub doing: Doing,
    /// Share of the threads' time, 0 to 1.
    pub fraction: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Doing {
    Ran,
    WaitedForCpu,
    /// Asleep: timed, waiting for a device, or with an unobserved waker.
    Asleep,
}
