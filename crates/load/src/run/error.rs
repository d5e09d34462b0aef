//! Why a run ended before its end.

use tare_cpuset::{LimitTooLow, ThreadRefused};

/// Why a run ended before its end. `C` is the clients' error, `O` the observer's. No thread is left in any case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the fields are")]
pub enum RunError<C, O> {
    /// A setting is out of its range.
    #[error("{name} is {given}: expected {expected}")]
    Setting { name: &'static str, expected: &'static str, given: String },
    /// So many threads are more than a limit of this system leaves room for.
    #[error("{threads} client threads: {source}")]
    Limit { threads: usize, source: LimitTooLow },
    /// The OS gave no more threads.
    #[error("client thread {thread} could not be started: {source}")]
    Spawn { thread: usize, source: ThreadRefused },
    /// A thread could not be bound or connected.
    #[error("client thread {thread} could not connect: {source}")]
    Connect { thread: usize, source: C },
    /// A transaction failed for good.
    #[error("client thread {thread}: {source}")]
    Transaction { thread: usize, source: C },
    /// A client panicked: a bug in the client.
    #[error("client thread {thread} panicked")]
    Panicked { thread: usize },
    /// Clients that never were ready: the server let them in and did not answer what they ask first.
    #[error(
        "{threads} client threads were not connected and ready {patience_s} s after the previous one: the server does \
         not answer the first requests of a session"
    )]
    NotConnected { threads: usize, patience_s: f64 },
    /// Transactions that were under way when a sample ended were not answered.
    #[error(
        "{threads} client threads had no answer {patience_s} s after the end of the sample: the server does not answer"
    )]
    Unanswered { threads: usize, patience_s: f64 },
    /// The observer ended the run.
    #[error("{0}")]
    Observer(O),
}
