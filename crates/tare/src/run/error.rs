//! Why a run could not go on.

use serde::{Deserialize, Serialize};
use std::io;
use tare_results::store::DirectoryError;
use tare_study::plan::task::TaskError;
use thiserror::Error;

/// Why a run could not go on. Trials that had finished are kept.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A trial's process could not be started, or its leftovers could not be removed.
    #[error("cannot start the process of a trial: {0}")]
    Spawn(io::Error),
    /// The plan contains something that this program cannot read.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// This machine cannot run any further trial, for instance because its disk is full; no trial counts as failed.
    #[error("the run was stopped: {}", .0.what)]
    Stopped(Failure),
    /// Of a comparison that needs both of its sides, `side` names the one that failed; none: every trial did.
    #[error("every one of the first {trials} trials failed for the same reason: {reason}")]
    SameReason { side: Option<&'static str>, trials: usize, reason: String },
    #[error("cannot prepare the data: {}", .0.what)]
    Prepare(Failure),
    /// A running server cannot be reached, or does not have the tables of the study.
    #[error("{}", .0.what)]
    Running(Failure),
}

/// The complete error of a child process, not parsed from its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub what: String,
    pub place: Option<String>,
    pub expected: Option<String>,
    pub advice: Option<String>,
    pub exit_code: u8,
}
