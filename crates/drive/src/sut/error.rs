//! What can go wrong with threads that are to be bound, watched and proved.

use tare_cpuset::observe::ObserveError;
use tare_cpuset::{AffinityError, ThreadRef, ThreadRefused};
use tare_topology::bind::BindError;
use thiserror::Error;

/// Why a system under test's threads are not where they were asked to be, or no one can tell.
#[derive(Debug, Error)]
pub enum SutError {
    #[error(transparent)]
    Bind(#[from] AffinityError),
    /// A program could not be started where it belongs, or the starting thread not be put back.
    #[error(transparent)]
    Place(#[from] BindError),
    #[error(transparent)]
    Thread(#[from] ThreadRefused),
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// A connection whose server thread no one knows cannot be bound.
    #[error("the server does not say which thread serves connection {0}, so that thread cannot be bound")]
    NoServerThread(usize),
    /// Threads of two programs that cannot be told which belong together.
    #[error(transparent)]
    Unpaired(#[from] Unpaired),
    /// A thread of someone else's server could not be bound under the promise to put it back, or a probe be read where
    /// the threads are.
    #[error(transparent)]
    Others(#[from] tare_noise::NoiseError),
    /// Threads of someone else's server are bound only where what they had is on disk.
    #[error("this server is someone else's: its threads are not bound without a journal to put them back from")]
    NoJournal,
    #[error(
        "the server's process is not known, so its background threads cannot be bound: that needs a server on this \
         machine that says which thread serves a connection"
    )]
    NoProcess,
    /// Connections do not have a thread each, so none can be placed alongside its client.
    #[error("connections {0} and {1} are served by the same {2}: server threads cannot be bound by connection")]
    Shared(usize, usize, ThreadRef),
    /// Several processes work for one connection, so it has no one place.
    #[error(
        "a parallel worker of PostgreSQL (process {0}) worked for a connection: it sits where the server's first process \
         does, and not where the connection was placed; set max_parallel_workers_per_gather = 0 in the server, or leave \
         out the server's placement, bind and pairing"
    )]
    Parallel(u32),
    /// A thread that the other host names is none of the server's.
    #[error(
        "the clients' host says that thread {tid} here serves connection {connection}, and that thread is in none of the \
         server's processes: it was not bound; expected the number that the server itself gives, so find out what runs \
         on the clients' host"
    )]
    NotOfServer { connection: usize, tid: i32 },
    /// The half of it on the other host failed there, or that host is gone.
    #[error("on the other host: {0}")]
    OtherHost(String),
    /// A thread or page was elsewhere than it was told to be.
    #[error("placement not kept: {0}")]
    Stray(String),
}

/// Why connections cannot be told apart by threads.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unpaired {
    #[error(
        "{found} connections between client and server were found, and {expected} were expected (workload.threads)"
    )]
    Count { found: usize, expected: usize },
    /// A thread that drives several: it can sit alongside one of their server threads, and not alongside the others.
    #[error(
        "client thread {} of process {} drives {connections} connections: it can sit next to one server thread only; \
         give the client as many threads as connections, or use bind = \"set\"", .thread.tid, .thread.pid
    )]
    Several { thread: ThreadRef, connections: usize },
    /// Several threads that work for one connection, as those of a pool do.
    #[error(
        "{side} threads {} all work for one connection: none of them belongs to it (a thread pool?)",
        .threads.iter().map(|thread| thread.tid.to_string()).collect::<Vec<_>>().join(", ")
    )]
    Pool { side: &'static str, threads: Vec<ThreadRef> },
    #[error(
        "no {side} thread was seen to wait in {connections} of {expected} connections: give the client a longer warm-up \
         (sampling.warmup_s), in which its threads are looked at"
    )]
    Unseen { side: &'static str, connections: usize, expected: usize },
}
