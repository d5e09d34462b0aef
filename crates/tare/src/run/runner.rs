//! The interfaces of a run: who runs a trial, what it is handed, who is notified, who stores plan and records, and why
//! a run cannot go on. Here trials are child processes, one at a time except for pairs that run together. A cluster's
//! scheduler can run the same trials, because without input from a pipe a trial needs only the results directory and
//! its number.

use serde::{Deserialize, Serialize};
use std::io::{self, BufRead};
use std::time::Duration;
use tare_drive::workload::Progress;
use tare_results::schema::{Plan, TrialRecord};
use tare_results::store::{self, Directory, DirectoryError};
use tare_study::language::spec::Study;
use tare_study::plan::queue::Next;
use tare_study::plan::task::TaskError;
use thiserror::Error;

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

/// The input of a trial, sent through a pipe that no other process can use.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Handed {
    pub study: String,
    /// All conditions and the whole schedule on this machine.
    pub plan: Plan,
    pub password: Option<String>,
    /// Whether the user trusts everyone else who may write to the results.
    pub trusted: bool,
    /// The identity ([`Folder::identity`]) of the results directory that the run has open.
    ///
    /// [`Folder::identity`]: tare_files::Folder::identity
    pub results: (u64, u64),
}

impl Handed {
    /// One line of JSON for the pipe.
    pub(crate) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self).map_err(io::Error::other)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads the input from the run that started this process.
    pub(crate) fn receive() -> io::Result<Self> {
        let mut bytes = Vec::new();
        io::stdin().lock().read_until(b'\n', &mut bytes)?;
        serde_json::from_slice(&bytes).map_err(io::Error::other)
    }

    /// Waits until the run lets this trial of a pair go on: for a line, or the end of the pipe, which ends all waiting.
    pub(crate) fn wait_for_other() {
        // A pipe that cannot be read counts as closed.
        let _ = io::stdin().lock().read_until(b'\n', &mut Vec::new());
    }
}
