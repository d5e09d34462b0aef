//! Why a trial has no result.

use crate::state::StateError;
use std::error::Error;
use std::io::{self, ErrorKind};
use tare_drive::workload::LoadError;
use tare_engine::{EngineError, SqlError, SqlErrorKind, UnknownEngine};
use tare_files::NoRoom;
use tare_noise::NoiseError;
use tare_results::store::DirectoryError;
use tare_study::hosts::HostError;
use tare_study::plan::task::{OtherMachine, TaskError};
use tare_topology::MachineError;
use tare_topology::bind::BindError;

#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The results directory: no record could be written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Files(#[from] tare_files::FilesError),
    /// The plan has no such trial, or holds what this program cannot read.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// This machine is no longer the one that the plan was made for.
    #[error(transparent)]
    OtherMachine(#[from] OtherMachine),
    #[error(transparent)]
    Host(#[from] HostError),
    /// The clients' host is no longer the one that the plan was made for.
    #[error("on client.host {host}: {changed}")]
    OtherClientHost { host: String, changed: OtherMachine },
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    State(#[from] StateError),
    /// The plan names an engine that this program does not have.
    #[error(transparent)]
    UnknownEngine(#[from] UnknownEngine),
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A property of the server process cannot be had any more.
    #[error("{0}")]
    Process(String),
    /// The load, or a thread that was not where it belongs.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The results directory has no room for what this trial would leave there.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// A sample has no result: a throughput of nothing, or a metric that is no number or cannot be.
    #[error("sample {sample} has no result: {metric} is {value:?}")]
    NoResult { sample: usize, metric: String, value: f64 },
    /// The samples of one trial are not of one client.
    #[error("the client's program was exchanged for another one between two samples: leave it alone while a run lasts")]
    ClientExchanged,
    #[error("the server died: {reason}\n{tail}")]
    ServerDied { reason: String, tail: String },
}

impl TrialError {
    /// Its run is gone, and so no one counts its attempts.
    pub fn is_orphaned(&self) -> bool {
        matches!(self, Self::State(StateError::Noise(NoiseError::NotParentsLock { .. })))
    }

    /// There is no room left: for the copy of the data, the server, a log or the record.
    pub fn is_disk_full(&self) -> bool {
        let mut cause: Option<&(dyn Error + 'static)> = match self {
            Self::NoRoom(_) => return true,
            // What is transparent does not name what it holds as its source.
            Self::Load(LoadError::Own(own) | LoadError::Ended(own)) => Some(own.as_ref()),
            Self::Load(LoadError::Engine(engine)) | Self::Engine(engine) => Some(engine),
            other => Some(other),
        };
        while let Some(error) = cause {
            let engine = error.downcast_ref::<EngineError>();
            let sql = error.downcast_ref::<SqlError>();
            let io = error.downcast_ref::<io::Error>();
            if matches!(engine, Some(EngineError::DiskFull { .. }))
                || sql.is_some_and(|sql| sql.kind == SqlErrorKind::DiskFull)
                || io.is_some_and(|io| matches!(io.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
            {
                return true;
            }
            cause = error.source();
        }
        false
    }

    pub fn is_interrupted(&self) -> bool {
        matches!(
            self,
            Self::Load(LoadError::Interrupted | LoadError::Engine(EngineError::Interrupted))
                | Self::Host(HostError::Interrupted)
                | Self::Engine(EngineError::Interrupted)
        )
    }
}
