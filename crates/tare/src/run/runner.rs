//! Whom a run works with: who runs a trial, who is told, and who keeps plan and records. Here trials are child
//! processes, one at a time but for pairs that are made together; a cluster's scheduler can run the same ones, for a
//! trial that is handed nothing needs no more than the results directory and its number.

use super::{Failure, RunError};
use std::time::Duration;
use tare_drive::workload::Progress;
use tare_results::schema::{Plan, TrialRecord};
use tare_results::store::{self, Directory, DirectoryError};
use tare_study::language::spec::Study;
use tare_study::plan::queue::Next;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
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
    Interrupted,
}

#[derive(Debug)]
pub enum Prepared {
    Done,
    /// They cannot be made.
    Failed(Failure),
    Interrupted,
}

/// Runs trials: one at a time, or the two of a pair that is made together.
pub trait Runner {
    /// What the next attempts are of; one that starts no process has no one to hand it to.
    fn take(&mut self, _study: &Study, _plan: &Plan) -> Result<(), RunError> {
        Ok(())
    }
    /// Makes the data for the condition of a trial.
    fn prepare(&mut self, trial: usize, hear: &mut dyn FnMut(Progress)) -> Result<Prepared, RunError>;
    fn run(&mut self, attempt: &Attempt, hear: &mut dyn FnMut(Progress)) -> Result<Ended, RunError>;
    /// Runs the two attempts of a pair to their ends, at the same time or by turns where it can.
    fn run_both(&mut self, attempts: &[Attempt; 2], hear: &mut dyn FnMut(Progress)) -> Result<[Ended; 2], RunError> {
        Ok([self.run(&attempts[0], hear)?, self.run(&attempts[1], hear)?])
    }
}

pub trait Listener {
    /// A trial begins. `done` and `left` do not count it.
    fn begin(&mut self, _next: &Next, _done: usize, _left: usize) {}
    fn hear(&mut self, _progress: Progress) {}
    fn end(&mut self, record: &TrialRecord);
    /// All trials that are planned so far have ended.
    fn looked(&mut self, _plan: &Plan, _records: &[TrialRecord]) {}
    /// The pilot is over, and more trials are planned.
    fn decided(&mut self, _plan: &Plan) {}
    /// The time that the run was given is over, with so many trials not run.
    fn out_of_time(&mut self, _left: usize) {}
    /// The last repeats were disturbed too: what was put aside counts as it was measured.
    fn repeats_end(&mut self) {}
    /// Data is being made for this condition.
    fn preparing(&mut self, _condition: &str) {}
}

/// Keeps what a run must not forget.
pub trait Book {
    /// The records so far, in the order in which they were made.
    fn records(&self) -> Result<Vec<TrialRecord>, DirectoryError>;
    /// Adds a record, and does not return before it is safe.
    fn append(&mut self, record: &TrialRecord) -> Result<(), DirectoryError>;
    /// Writes the plan anew: with a decision, and never with fewer trials.
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
