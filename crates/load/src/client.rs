//! The traits that a caller implements: connections that run transactions.

use crate::random::Random;
use std::time::Duration;
use tare_cpuset::ThreadRef;

/// Numbers of queries sent, in the categories of sysbench.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queries {
    /// Queries that returned rows.
    pub read: u64,
    /// Queries that changed at least one row.
    pub write: u64,
    /// Everything else: BEGIN, COMMIT, changes that matched no row.
    pub other: u64,
}

impl std::ops::AddAssign for Queries {
    fn add_assign(&mut self, more: Self) {
        self.read += more.read;
        self.write += more.write;
        self.other += more.other;
    }
}

/// How one attempt at a transaction ended, and the queries it sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The transaction is complete.
    Done(Queries),
    /// The database requests that it runs again (deadlock, lock timeout, busy). [`Client::transaction`] is called again
    /// immediately, with new random numbers. The latency includes all attempts, and the transaction counts once.
    Restart(Queries),
    /// The server is not reachable, and the client has already waited a moment. [`Client::transaction`] is called again
    /// immediately. Nothing is counted, and the latency continues.
    Away,
}

/// One connection. It is created, used and dropped in one thread.
pub trait Client: Send {
    /// Why a transaction failed permanently; it ends the run.
    type Error: Send;

    /// Runs one transaction, or one attempt at it.
    ///
    /// # Errors
    /// When it failed permanently, which ends the run.
    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, Self::Error>;

    /// Keying and think time before its next transaction, in closed loop. Latencies do not include it.
    #[inline]
    fn pause(&mut self, random: &mut Random) -> Duration {
        let _ = random;
        Duration::ZERO
    }

    /// In closed loop: how long to wait and then ask again, if there is no work yet; `None` to begin the next
    /// transaction. Latencies do not include the wait.
    #[inline]
    fn idle(&mut self) -> Option<Duration> {
        None
    }

    /// A count that the client keeps itself since its creation. An [`crate::Interval`] reports its rate per second.
    #[inline]
    fn counted(&self) -> u64 {
        0
    }

    /// Called when a sample begins, or right before its end if a transaction lasted for all of it: the client resets
    /// counts of its own.
    fn sample_begins(&mut self) {}

    /// Called when sample number `sample`, from 0, is over: the client must hand over its own counts of the sample now,
    /// because the run may end afterwards. A transaction that was running at the end of the sample still belongs to it.
    fn sample_ended(&mut self, sample: usize) {
        let _ = sample;
    }
}

/// A client thread: its number in the run and in the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientThread {
    /// Number in the run, from 0.
    pub index: usize,
    /// The kernel thread, to bind or observe it.
    pub id: ThreadRef,
}

/// Creates the clients. Both functions run in the client thread, so that the memory they allocate and touch is on the
/// NUMA node where the thread runs.
pub trait Connect: Sync {
    /// The type of the clients.
    type Client: Client<Error = Self::Error>;
    /// Why a thread could not be bound or connected, or a transaction failed.
    type Error: Send;

    /// Binds the calling thread, before anything else happens in it. By default, threads are not bound.
    ///
    /// # Errors
    /// When it cannot be bound, which ends the run.
    fn bind(&self, thread: ClientThread) -> Result<(), Self::Error> {
        let _ = thread;
        Ok(())
    }

    /// Opens the connection of a thread, after [`Connect::bind`].
    ///
    /// # Errors
    /// When it cannot be connected, which ends the run.
    fn connect(&self, thread: ClientThread) -> Result<Self::Client, Self::Error>;
}

/// A function can serve as [`Connect`] for threads that need no binding.
impl<F, C> Connect for F
where
    F: Fn(ClientThread) -> Result<C, C::Error> + Sync,
    C: Client,
{
    type Client = C;
    type Error = C::Error;

    fn connect(&self, thread: ClientThread) -> Result<C, C::Error> {
        self(thread)
    }
}
