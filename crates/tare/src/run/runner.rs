//! The interfaces of a run: who runs a trial, who is notified, and who stores plan and records. Here trials are child
//! processes, one at a time except for pairs that run together. A cluster's scheduler can run the same trials, because
//! without input from a pipe a trial needs only the results directory and its number.

use super::{Failure, RunError};
use std::time::Duration;
use tare_drive::workload::Progress;
use tare_results::schema::{Plan, TrialRecord};
use tare_results::store::{self, Directory, DirectoryError};
use tare_study::language::spec::Study;
use tare_study::plan::queue::Next;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub trial: usize,
    /// The first attempt is 1.
    pub attempt: u32,
    /// The time after which it is stopped.
    pub timeout: Duration,
}

#[derive(Debug)]
pub(crate) enum Ended {
    /// It left a record, possibly of a failure.
    Recorded(Box<TrialRecord>),
    NoRecord {
        reason: String,
        /// When it began, RFC 3339 in UTC.
        started_at: String,
        elapsed_s: f64,
    },
    Interrupted,
}

#[derive(Debug)]
pub(crate) enum Prepared {
    Done,
    /// The data cannot be made.
    Failed(Failure),
    Interrupted,
}

/// Runs trials: one at a time, or both trials of a pair together.
pub(crate) trait Runner {
    /// Sets study and plan of the following attempts; a runner that starts no process can ignore them.
    fn take(&mut self, _study: &Study, _plan: &Plan) -> Result<(), RunError> {
        Ok(())
    }
    /// Makes the data for the condition of a trial.
    fn prepare(&mut self, trial: usize, hear: &mut dyn FnMut(Progress)) -> Result<Prepared, RunError>;
    fn run(&mut self, attempt: &Attempt, hear: &mut dyn FnMut(Progress)) -> Result<Ended, RunError>;
    /// Runs both attempts of a pair to their ends; at the same time or by turns if the runner supports it.
    fn run_both(&mut self, attempts: &[Attempt; 2], hear: &mut dyn FnMut(Progress)) -> Result<[Ended; 2], RunError> {
        Ok([self.run(&attempts[0], hear)?, self.run(&attempts[1], hear)?])
    }
}

pub(crate) trait Listener {
    /// A trial begins. `done` and `left` do not count it.
    fn begin(&mut self, _next: &Next, _done: usize, _left: usize) {}
    fn hear(&mut self, _progress: Progress) {}
    fn end(&mut self, record: &TrialRecord);
    /// All trials planned so far have ended.
    fn looked(&mut self, _plan: &Plan, _records: &[TrialRecord]) {}
    /// The pilot is over, and more trials are planned.
    fn decided(&mut self, _plan: &Plan) {}
    /// The time limit of the run is reached: `_left` of `_of` trials have no result, and `_disturbed` trials count with
    /// their disturbed measurement.
    fn out_of_time(&mut self, _left: usize, _of: usize, _disturbed: usize) {}
    /// The last repeats were disturbed too: disturbed measurements are now used.
    fn repeats_end(&mut self) {}
    /// The data of this condition is being prepared.
    fn preparing(&mut self, _condition: &str) {}
}

/// Stores plan and records of a run permanently.
pub(crate) trait Book {
    /// The records so far, in the order in which they were made.
    fn records(&self) -> Result<Vec<TrialRecord>, DirectoryError>;
    /// Adds a record, and returns only after it is on disk.
    fn append(&mut self, record: &TrialRecord) -> Result<(), DirectoryError>;
    /// Writes the plan with a decision; a plan never loses trials.
    fn write_plan(&mut self, plan: &Plan) -> Result<(), DirectoryError>;
}

impl Book for &Directory {
    fn records(&self) -> Result<Vec<TrialRecord>, DirectoryError> {
        store::read_trials(self.folder())
    }

    fn append(&mut self, record: &TrialRecord) -> Result<(), DirectoryError> {
        store::append_trial(self.folder(), record)
    }

    fn write_plan(&mut self, plan: &Plan) -> Result<(), DirectoryError> {
        store::write_plan(self.folder(), plan)
    }
}
