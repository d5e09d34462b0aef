//! Why the threads of two programs cannot be told which belong together.

use tare_cpuset::ThreadRef;
use thiserror::Error;

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
