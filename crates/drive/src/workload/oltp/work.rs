//! The transactions of one connection.

use super::OltpError;
use super::times::StatementTimes;
use tare_engine::Session;
use tare_load::{Queries, Random};

pub(super) trait Work: Send {
    /// Runs one transaction, or as much of it as succeeds; adds the sent statements to `sent`.
    fn attempt(&mut self, session: &mut dyn Session, random: &mut Random, sent: &mut Queries) -> Result<(), OltpError>;

    /// Whether a transaction is open on the server after an attempt has failed.
    fn leaves_open(&self) -> bool {
        false
    }

    /// Whether a duplicate key is a normal collision between clients, so that the event is run again, as in sysbench;
    /// otherwise it is an error.
    fn may_collide(&self) -> bool {
        false
    }

    /// Its statement times; None if it has a single statement.
    fn times(&mut self) -> Option<&mut StatementTimes> {
        None
    }

    /// Sends buffered rows at the end of a run; errors and counts are ignored.
    fn finish(&mut self, _session: &mut dyn Session) {}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSlot {
    pub index: usize,
    pub clients: usize,
}

impl ClientSlot {
    /// The slot of a single connection.
    pub(crate) const ONLY: Self = Self { index: 0, clients: 1 };
}
