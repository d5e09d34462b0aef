//! Why a trial has no result.

use crate::plan::task::{OtherMachine, TaskError};
use crate::state::StateError;
use crate::workload::LoadError;
use tare_engine::{EngineError, UnknownEngine};
use tare_noise::NoiseError;
use tare_results::store::DirectoryError;
use tare_topology::MachineError;
use tare_topology::bind::BindError;
use thiserror::Error;

/// Why a trial has no result.
#[derive(Debug, Error)]
pub enum TrialError {
    /// The results directory: no record could be written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The plan has no such trial, or holds what this program cannot read.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// This machine is no longer the one that the plan was made for.
    #[error(transparent)]
    OtherMachine(#[from] OtherMachine),
    /// Reading the machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// Binding the server's process.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A machine setting.
    #[error(transparent)]
    State(#[from] StateError),
    /// The plan names an engine that this program does not have.
    #[error(transparent)]
    UnknownEngine(#[from] UnknownEngine),
    /// The server.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A property of the server process cannot be had any more.
    #[error("{0}")]
    Process(String),
    /// The load, or a thread that was not where it belongs.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A sample has no result: a throughput of nothing, or a metric that is no number.
    #[error("sample {sample} has no result: {metric} is {value}")]
    NoResult {
        /// Its number, from 0.
        sample: usize,
        /// The metric in question.
        metric: String,
        /// What was measured.
        value: f64,
    },
    /// The server is gone.
    #[error("the server died: {reason}\n{tail}")]
    ServerDied {
        /// What the clients saw.
        reason: String,
        /// The last lines of its log.
        tail: String,
    },
}

impl TrialError {
    /// Its run is gone, and so nobody counts its attempts.
    pub fn is_orphaned(&self) -> bool {
        matches!(self, Self::State(StateError::Noise(NoiseError::NotParentsLock { .. })))
    }

    /// Whoever asked wants it to stop.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Load(LoadError::Interrupted))
    }
}
