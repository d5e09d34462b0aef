//! Why a run could not go on.

use serde::{Deserialize, Serialize};
use std::io;
use tare_results::store::DirectoryError;
use tare_study::plan::task::TaskError;
use thiserror::Error;

/// Why a run could not go on. What was finished before is kept.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A trial's process could not be started, or what it left could not be put back.
    #[error("cannot run a trial: {0}")]
    Spawn(io::Error),
    /// The plan holds what this program cannot read.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// This machine cannot go on with any trial, as when its disk is full: none is blamed for it.
    #[error("the run was stopped: {}", .0.what)]
    Stopped(Failure),
    #[error("every one of the first {trials} trials failed for the same reason: {reason}")]
    SameReason { trials: usize, reason: String },
    #[error("cannot prepare the data: {}", .0.what)]
    Prepare(Failure),
    /// A server that runs already cannot be reached, or has not the tables of the study.
    #[error("{}", .0.what)]
    Running(Failure),
}

/// An error of a child process, whole: nothing of it is cut or guessed from its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub what: String,
    pub place: Option<String>,
    pub expected: Option<String>,
    pub advice: Option<String>,
    pub exit_code: u8,
}
