//! Errors that end a run early.

use tare_cpuset::{LimitTooLow, ThreadRefused};

/// Why a run ended early. `C` is the clients' error, `O` the observer's. All client threads have ended in any case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RunError<C, O> {
    /// A setting is out of its range.
    #[error("{name} is {given}: expected {expected}")]
    Setting { name: &'static str, expected: &'static str, given: String },
    /// A limit of this system does not allow this number of threads.
    #[error("{threads} client threads: {source}")]
    Limit { threads: usize, source: LimitTooLow },
    /// The OS refused to start a thread.
    #[error("client thread {thread} could not be started: {source}")]
    Spawn { thread: usize, source: ThreadRefused },
    /// A thread could not be bound or connected.
    #[error("client thread {thread} could not connect: {source}")]
    Connect { thread: usize, source: C },
    /// A transaction failed permanently.
    #[error("client thread {thread}: {source}")]
    Transaction { thread: usize, source: C },
    /// A client panicked, which is a bug in the client.
    #[error("client thread {thread} panicked, which is an error in tare: report it with the lines above")]
    Panicked { thread: usize },
    /// Clients did not become ready: the server accepted their connections but did not answer their first requests.
    #[error(
        "of the client threads, {threads} did not become ready within {patience_s} s of the previous one: the server does \
         not answer the first requests of a session"
    )]
    NotConnected { threads: usize, patience_s: f64 },
    /// Transactions that were running at the end of a sample got no answer in time.
    #[error(
        "no answer on {threads} of the client threads {patience_s} s after the end of the sample: the server does not answer"
    )]
    Unanswered { threads: usize, patience_s: f64 },
    /// The observer ended the run.
    #[error("{0}")]
    Observer(O),
}
