//! Who runs a trial. Here trials are child processes, one at a time but for duets; a cluster's scheduler can run the
//! same ones, for a trial that is handed nothing needs no more than the results directory and its number.

use super::{Failure, RunError};
use std::time::Duration;
use tare_drive::workload::Progress;
use tare_results::schema::{Plan, TrialRecord};
use tare_study::language::spec::Study;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// Number of the trial in the plan.
    pub trial: usize,
    /// The first one is 1.
    pub attempt: u32,
    /// What it may take before it is stopped.
    pub timeout: Duration,
}

/// What is known of an attempt when it is over.
#[derive(Debug)]
pub enum Ended {
    /// It left a record, of a failure too.
    Recorded(Box<TrialRecord>),
    /// It left none.
    NoRecord {
        reason: String,
        /// When it began, RFC 3339 in UTC.
        started_at: String,
        elapsed_s: f64,
    },
    /// The user wants the run to end.
    Interrupted,
}

/// How making the data ended.
#[derive(Debug)]
pub enum Prepared {
    Done,
    /// They cannot be made.
    Failed(Failure),
    /// The user wants the run to end.
    Interrupted,
}

/// Runs trials: one at a time, or the two of a duet.
pub trait Runner {
    /// What the next attempts are of; one that starts no process has no one to hand it to.
    fn take(&mut self, _study: &Study, _plan: &Plan) -> Result<(), RunError> {
        Ok(())
    }
    /// Makes the data for the condition of a trial.
    fn prepare(&mut self, trial: usize, hear: &mut dyn FnMut(Progress)) -> Result<Prepared, RunError>;
    fn run(&mut self, attempt: &Attempt, hear: &mut dyn FnMut(Progress)) -> Result<Ended, RunError>;
    /// Runs two attempts at the same time to their ends.
    ///
    /// # Errors
    /// As [`Runner::run`].
    fn run_both(&mut self, attempts: &[Attempt; 2], hear: &mut dyn FnMut(Progress)) -> Result<[Ended; 2], RunError>;
}
