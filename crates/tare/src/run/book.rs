//! Where the plan and the records of a run are kept.

use tare_results::schema::{Plan, TrialRecord};
use tare_results::store::{self, Directory, DirectoryError};

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
