//! What a caller brings: connections that run transactions.

use crate::random::Random;
use std::time::Duration;
use tare_cpuset::ThreadRef;

/// Queries sent, sorted as sysbench sorts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Queries {
    /// Queries that gave back rows.
    pub read: u64,
    /// Queries that changed at least a row.
    pub write: u64,
    /// Everything else: BEGIN, COMMIT, changes that met no row.
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
    /// The database asked to run it again (deadlock, lock timeout, busy). The caller is called again at once, with new
    /// random numbers; the latency goes on, and the transaction will count once.
    Restart(Queries),
    /// There is no server to run it on, and the client has waited a moment for one. The caller is called again at once,
    /// and nothing is counted; the latency goes on.
    Away,
}

/// One connection. Made in the thread that uses it, and dropped there.
pub trait Client: Send {
    /// Why a transaction failed for good; it ends the run.
    type Error: Send;

    /// Runs one transaction, or one attempt at it.
    ///
    /// # Errors
    /// When it failed for good, which ends the run.
    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, Self::Error>;

    /// How long it waits before its next transaction, in closed loop: a person who types and thinks. No latency
    /// contains it.
    #[inline]
    fn pause(&mut self, random: &mut Random) -> Duration {
        let _ = random;
        Duration::ZERO
    }

    /// In closed loop: why it has nothing to do yet, as the time after which it is asked again; none: it begins its
    /// next transaction. No latency contains it.
    #[inline]
    fn idle(&mut self) -> Option<Duration> {
        None
    }

    /// What it has counted for itself since it began, of which an [`crate::Interval`] says how much there was a second.
    #[inline]
    fn counted(&self) -> u64 {
        0
    }

    /// A sample begins: what it counts for itself, it counts from here.
    fn sample_begins(&mut self) {}

    /// Sample number n, from 0, is over: what it counted for itself since its begin is to be handed over now, before
    /// the run can end. A transaction that it was in meanwhile is the last of it.
    fn sample_ended(&mut self, sample: usize) {
        let _ = sample;
    }
}

/// Which client thread: its number here, and the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientThread {
    /// Number in the run, from 0.
    pub index: usize,
    /// The thread itself, for those who bind or watch it.
    pub id: ThreadRef,
}

/// Makes the clients. Both functions run in the client thread itself, so that what they allocate and touch lies on the
/// node where the thread runs.
pub trait Connect: Sync {
    /// The clients it makes.
    type Client: Client<Error = Self::Error>;
    /// Why a thread could not be bound or connected, or a transaction failed.
    type Error: Send;

    /// Binds the calling thread, before anything else happens in it. By default it stays where the OS puts it.
    ///
    /// # Errors
    /// When it cannot be bound, which ends the run.
    fn bind(&self, thread: ClientThread) -> Result<(), Self::Error> {
        let _ = thread;
        Ok(())
    }

    /// Opens the connection of a thread that is bound.
    ///
    /// # Errors
    /// When it cannot be connected, which ends the run.
    fn connect(&self, thread: ClientThread) -> Result<Self::Client, Self::Error>;
}

/// A plain function connects threads that need no binding.
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
