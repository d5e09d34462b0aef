//! One connection that runs the transactions of a workload.

use super::grouped::Grouped;
use super::inserts::{Bulk, Insert};
use super::random_selects::RandomSelect;
use super::times::StatementTimes;
use super::work::{ClientSlot, Work};
use super::{OltpError, OltpSettings, SessionError, Workload};
use crate::workload::sessions::roll_back;
use tare_cpuset::ThreadRef;
use tare_engine::{Dialect, Session, SqlError, SqlErrorKind};
use tare_load::{Attempt, Client, Queries, Random};

pub struct OltpClient {
    session: Box<dyn Session>,
    dialect: &'static dyn Dialect,
    work: Box<dyn Work>,
    sent: Queries,
}

impl OltpClient {
    /// Prepares every statement of the workload for every table on the session: 5 * tables + 2 for read_only, 9 *
    /// tables + 2 for read_write. It is the only connection of its load.
    pub fn new(
        session: Box<dyn Session>,
        settings: &OltpSettings,
        dialect: &'static dyn Dialect,
    ) -> Result<Self, OltpError> {
        Self::at(ClientSlot::ONLY, session, settings, dialect)
    }

    /// One of several clients; in some workloads each draws from a range of its own.
    pub fn at(
        slot: ClientSlot,
        mut session: Box<dyn Session>,
        settings: &OltpSettings,
        dialect: &'static dyn Dialect,
    ) -> Result<Self, OltpError> {
        settings.tables.check()?;
        let open = session.as_mut();
        let work: Box<dyn Work> = match settings.workload {
            Workload::Insert => Box::new(Insert::new(settings, dialect)),
            Workload::BulkInsert => Box::new(Bulk::new(open, slot)?),
            Workload::SelectRandomPoints | Workload::SelectRandomRanges => {
                Box::new(RandomSelect::new(open, settings, dialect, slot)?)
            }
            _ => Box::new(Grouped::new(open, settings, dialect)?),
        };
        Ok(Self { session, dialect, work, sent: Queries::default() })
    }

    pub fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError> {
        self.session.server_thread()
    }

    pub(super) fn times(&mut self) -> Option<&mut StatementTimes> {
        self.work.times()
    }

    fn roll_back(&mut self) -> Result<(), OltpError> {
        if self.work.leaves_open() {
            roll_back(self.session.as_mut()).map_err(|source| SessionError::statement("ROLLBACK", source))?;
        }
        Ok(())
    }

    fn is_to_be_run_again(&self, error: &SqlError) -> bool {
        error.kind == SqlErrorKind::Retry || (self.work.may_collide() && self.dialect.is_duplicate(error))
    }
}

impl Client for OltpClient {
    type Error = OltpError;

    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, OltpError> {
        self.sent = Queries::default();
        match self.work.attempt(self.session.as_mut(), random, &mut self.sent) {
            Ok(()) => Ok(Attempt::Done(self.sent)),
            Err(OltpError::Session(SessionError::Statement { source, .. })) if self.is_to_be_run_again(&source) => {
                self.roll_back()?;
                Ok(Attempt::Restart(self.sent))
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for OltpClient {
    fn drop(&mut self) {
        self.work.finish(self.session.as_mut());
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
