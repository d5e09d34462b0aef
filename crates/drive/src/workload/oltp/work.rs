//! What one connection does for a transaction.

use super::OltpError;
use super::times::StatementTimes;
use tare_engine::Session;
use tare_load::{Queries, Random};

/// The transactions of a workload, over a connection.
pub(super) trait Work: Send {
    /// Runs one, or as much of it as succeeds; what was sent is added to `sent`.
    fn attempt(&mut self, session: &mut dyn Session, random: &mut Random, sent: &mut Queries) -> Result<(), OltpError>;

    /// Whether a transaction is open on the server after an attempt has failed.
    fn leaves_open(&self) -> bool {
        false
    }

    /// Whether a row that is there already comes of how the clients meet, so that the event is run again, as sysbench
    /// does; elsewhere it is an error.
    fn may_collide(&self) -> bool {
        false
    }

    /// Where it times its statements; none of work that has only one.
    fn times(&mut self) -> Option<&mut StatementTimes> {
        None
    }

    /// Sends what is still kept back, at the end. No one waits for it or hears of it.
    fn finish(&mut self, _session: &mut dyn Session) {}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSlot {
    pub index: usize,
    pub clients: usize,
}

impl ClientSlot {
    /// The seat of a connection that is alone.
    pub const ONLY: Self = Self { index: 0, clients: 1 };
}
