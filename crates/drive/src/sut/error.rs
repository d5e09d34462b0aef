//! Errors of binding, watching and verifying threads.

use tare_cpuset::observe::ObserveError;
use tare_cpuset::{AffinityError, ThreadRef, ThreadRefused};
use tare_topology::bind::BindError;
use thiserror::Error;

/// Why the threads of a system under test are not where they should be, or why this is unknown.
#[derive(Debug, Error)]
pub enum SutError {
    #[error(transparent)]
    Bind(#[from] AffinityError),
    /// A program could not be started in its placement, or the affinity of the starting thread could not be restored.
    #[error(transparent)]
    Place(#[from] BindError),
    #[error(transparent)]
    Thread(#[from] ThreadRefused),
    #[error(transparent)]
    Observe(#[from] ObserveError),
    #[error(
        "the server does not report which thread of this PID namespace serves connection {0}, so that thread cannot be \
         bound; for a server in a container, run tare in the same one, or on the host through the server's Unix socket"
    )]
    NoServerThread(usize),
    #[error(transparent)]
    Unpaired(#[from] Unpaired),
    /// A thread of a server that tare did not start could not be bound with the guarantee that its affinity is
    /// restored, or a probe could not be read on the threads' CPUs.
    #[error(transparent)]
    Others(#[from] tare_noise::NoiseError),
    #[error(
        "tare did not start this server: its threads are bound only with a journal from which they can be \
        restored"
    )]
    NoJournal,
    #[error(
        "the server's process is not known, so its background threads cannot be bound: this needs a server on this \
         machine that reports which thread serves a connection"
    )]
    NoProcess,
    #[error(
        "connections {0} and {1} are served by the same {2}: server threads cannot be bound by connection; use bind = \
         \"set\", or a server with a thread for each connection"
    )]
    Shared(usize, usize, ThreadRef),
    #[error(
        "a parallel worker of PostgreSQL (process {0}) worked for a connection: it runs where the server's first \
         process runs, not where the connection was placed; set max_parallel_workers_per_gather = 0 in the server, or \
         leave out the server's placement, bind and pairing"
    )]
    Parallel(u32),
    #[error(
        "the clients' host reports that thread {tid} serves connection {connection}, but no process of the server has \
         that thread: it was not bound; check what runs on the clients' host"
    )]
    NotOfServer { connection: usize, tid: i32 },
    #[error("on the other host: {0}")]
    OtherHost(String),
    #[error("placement not kept: {0}")]
    Misplaced(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unpaired {
    #[error(
        "found {found} connections between client and server, expected {expected} (workload.threads): have the client \
         open one for each thread and keep it, or leave out the placement's bind and pairing"
    )]
    Count { found: usize, expected: usize },
    #[error(
        "client thread {} of process {} drives {connections} connections: it can run next to only one server thread; \
         give the client as many threads as connections, or use bind = \"set\"", .thread.tid, .thread.pid
    )]
    Several { thread: ThreadRef, connections: usize },
    #[error(
        "{side} threads {} all work for one connection, so none can be assigned to it (possibly a thread pool); use \
         bind = \"set\"",
        .threads.iter().map(|thread| thread.tid.to_string()).collect::<Vec<_>>().join(", ")
    )]
    Pool { side: &'static str, threads: Vec<ThreadRef> },
    #[error(
        "no {side} thread was seen waiting in {connections} of {expected} connections: give the client a longer \
         warm-up (sampling.warmup_s), during which its threads are observed"
    )]
    Unseen { side: &'static str, connections: usize, expected: usize },
}
