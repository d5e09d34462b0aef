//! Why a load gave no result, and why its data could not be made.

use super::sessions::NotAsked;
use crate::sut::SutError;
use std::error::Error;
use tare_cpuset::LimitTooLow;
use tare_engine::EngineError;

const SHOWN: usize = 120;

pub(super) fn shown(sql: &str) -> String {
    let mut shown: String = sql.chars().take(SHOWN).collect();
    if shown.len() < sql.len() {
        shown.push_str(" ...");
    }
    shown
}

/// An error of one load's own; its cause can be found in its chain of sources.
type OwnError = Box<dyn Error + Send + Sync>;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The one who asked for the load wants it to stop.
    #[error("interrupted")]
    Interrupted,
    /// No connection, or the server cannot say which thread serves it.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A thread could not be bound, or was not where it belongs.
    #[error(transparent)]
    SystemUnderTest(#[from] SutError),
    /// A transaction or query failed for good, answered wrongly, or could not be asked.
    #[error(transparent)]
    Own(OwnError),
    /// The load ran out of patience and has ended the server itself.
    #[error(transparent)]
    Ended(OwnError),
    #[error("{0}")]
    Generator(String),
    /// The server does not hold what was read: its pool is too small for it, or something else took the room.
    #[error(
        "preload: the server's pool holds {held} pages of the data's {data}, less than 99%: give it a larger pool, or \
         smaller tables"
    )]
    NotResident {
        /// Pages that it holds more than when it had started.
        held: u64,
        data: u64,
    },
    #[error("{threads} client threads: {source}")]
    Limit { threads: usize, source: LimitTooLow },
    #[error("this load drives a server, and none was started for it")]
    NoServer,
}

impl LoadError {
    pub fn own(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Own(Box::new(error))
    }
}

impl From<NotAsked> for LoadError {
    fn from(error: NotAsked) -> Self {
        Self::own(error)
    }
}

/// Why the data of a load could not be made; the cause is in the chain of sources, where engines look for a full disk.
pub type FillError = OwnError;
