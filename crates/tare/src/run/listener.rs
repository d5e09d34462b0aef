//! Who is told what happens in a run.

use tare_drive::workload::Progress;
use tare_results::schema::{Plan, TrialRecord};
use tare_study::plan::queue::Next;

/// Who is told what happens.
pub trait Listener {
    /// A trial begins. `done` and `left` do not count it.
    fn begin(&mut self, next: &Next, done: usize, left: usize);
    /// What the trial says.
    fn hear(&mut self, progress: Progress);
    fn end(&mut self, record: &TrialRecord);
    /// All trials that are planned so far have ended.
    fn looked(&mut self, _plan: &Plan, _records: &[TrialRecord]) {}
    /// The pilot is over, and more trials are planned.
    fn decided(&mut self, plan: &Plan);
    /// The time that the run was given is over, with so many trials not run.
    fn out_of_time(&mut self, _left: usize) {}
    /// The last repeats were disturbed too: what was put aside counts as it was measured.
    fn repeats_end(&mut self) {}
    /// Data is being made for this condition.
    fn preparing(&mut self, condition: &str);
}
