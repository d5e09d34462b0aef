//! A run: every trial of the plan as a child process, in order, until all are done or the user has enough.

use crate::plan::pilot;
use crate::plan::queue::{Next, Queue};
use crate::plan::resolve::limit_s;
use crate::run::child::{Ended, run_child};
use crate::run::progress::Progress;
use crate::run::state;
use crate::study::spec::Study;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tare_results::schema::{Outcome, Plan, PlannedCondition, TrialRecord};
use tare_results::store::{Directory, DirectoryError, append_trial, read_trials, write_plan};
use thiserror::Error;

/// Why a run could not go on. What was finished before is kept.
#[derive(Debug, Error)]
pub enum RunError {
    /// The results directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A trial's process could not be started, or what it left could not be put back.
    #[error("cannot run a trial: {0}")]
    Spawn(io::Error),
    /// The data could not be prepared.
    #[error("cannot prepare the data: {said}")]
    Prepare {
        /// Exit code of the process that tried.
        code: i32,
        /// What it said.
        said: String,
    },
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunEnd {
    /// Trials with a good result.
    pub done: usize,
    /// Trials that failed as often as they may.
    pub given_up: usize,
    /// Trials not run because of Ctrl-C.
    pub left: usize,
}

/// Who is told what happens.
pub trait Listener {
    /// A trial begins. `done` and `left` do not count it.
    fn begin(&mut self, next: &Next, done: usize, left: usize);
    /// What the trial says.
    fn hear(&mut self, progress: Progress);
    /// A trial has ended.
    fn end(&mut self, record: &TrialRecord);
    /// The pilot is over, and more trials are planned.
    fn decided(&mut self, plan: &Plan);
    /// Data is being made for this condition.
    fn preparing(&mut self, condition: &str);
}

/// A run about to start.
pub struct Run<'a> {
    /// The study, adapted to machine and engine.
    pub study: &'a Study,
    /// Its plan on this machine.
    pub plan: &'a Plan,
    /// Where the results go.
    pub directory: &'a Directory,
    /// Set by Ctrl-C and SIGTERM.
    pub interrupted: &'a AtomicBool,
}

impl Run<'_> {
    /// Runs what is left of the plan.
    ///
    /// # Errors
    /// When the results cannot be written, a process cannot be started or the data cannot be made.
    pub fn execute(&self, listener: &mut dyn Listener) -> Result<RunEnd, RunError> {
        let mut plan = self.plan.clone();
        let mut prepared = false;
        loop {
            let records = read_trials(self.directory.path())?;
            let mut queue = Queue::new(&plan.trials, &records, self.study.sampling.attempts);
            if queue.left() > 0 && !prepared {
                if !self.prepare(listener)? {
                    return Ok(end(&queue, queue.left()));
                }
                prepared = true;
            }
            while let Some(next) = queue.take() {
                listener.begin(&next, queue.done(), queue.left());
                match self.trial(&plan, &next, listener)? {
                    Some(record) => {
                        listener.end(&record);
                        queue.ended(next, record.outcome);
                    }
                    None => return Ok(end(&queue, queue.left() + 1)),
                }
            }
            // The same records always lead to the same decision, also after a crash before it was written.
            let records = read_trials(self.directory.path())?;
            let Some(extended) = pilot::extended(self.study, &plan, &records) else { return Ok(end(&queue, 0)) };
            write_plan(self.directory.path(), &extended)?;
            listener.decided(&extended);
            plan = extended;
        }
    }

    /// Makes the data of every condition once, outside the trials. False when interrupted.
    fn prepare(&self, listener: &mut dyn Listener) -> Result<bool, RunError> {
        for condition in self.plan.conditions.iter().filter(|c| c.realizable) {
            let Some(trial) = self.plan.trials.iter().find(|t| t.condition == condition.name) else { continue };
            listener.preparing(&condition.name);
            let ended = run_child(
                self.directory.path(),
                trial.trial,
                0,
                Duration::from_secs(24 * 3600),
                self.interrupted,
                |progress| listener.hear(progress),
            )
            .map_err(RunError::Spawn)?;
            match ended {
                Ended::Exited(status) if status.success() => {}
                Ended::Interrupted => return Ok(false),
                Ended::Exited(status) => {
                    let said = log_tail(self.directory.path(), trial.trial, 0);
                    return Err(RunError::Prepare { code: status.code().unwrap_or(-1), said });
                }
                Ended::TimedOut => {
                    return Err(RunError::Prepare { code: -1, said: "it took longer than a day".into() });
                }
            }
        }
        Ok(true)
    }

    /// One trial; none when interrupted. A process that left no record gets one here.
    fn trial(&self, plan: &Plan, next: &Next, listener: &mut dyn Listener) -> Result<Option<TrialRecord>, RunError> {
        let path = self.directory.path();
        let started_at = tare_results::now();
        let clock = std::time::Instant::now();
        let timeout = self.timeout(plan, next);
        let ended = run_child(path, next.trial.trial, next.attempt, timeout, self.interrupted, |p| listener.hear(p))
            .map_err(RunError::Spawn)?;
        let reason = match ended {
            Ended::Interrupted => return Ok(None),
            Ended::TimedOut => format!("it took longer than {:.0} s", timeout.as_secs_f64()),
            Ended::Exited(status) => {
                let written =
                    read_trials(path)?.into_iter().rfind(|r| r.trial == next.trial.trial && r.attempt == next.attempt);
                if let Some(record) = written {
                    return Ok(Some(record));
                }
                format!("its process ended with {status}: {}", log_tail(path, next.trial.trial, next.attempt))
            }
        };
        // The next trial must meet neither a server of this one nor its settings.
        let reason = match state::reap() {
            Ok(_) => reason,
            Err(e) => format!("{reason}; what it left may still be there: {e}"),
        };
        let levels = self.condition(&next.trial.condition).map(|c| c.levels.clone()).unwrap_or_default();
        let record = TrialRecord {
            outcome: Outcome::Failed,
            reason: Some(reason),
            elapsed_s: clock.elapsed().as_secs_f64(),
            ..TrialRecord::new(&next.trial, next.attempt, levels, started_at)
        };
        append_trial(path, &record)?;
        Ok(Some(record))
    }

    fn condition(&self, name: &str) -> Option<&PlannedCondition> {
        self.plan.conditions.iter().find(|c| c.name == name)
    }

    fn timeout(&self, plan: &Plan, next: &Next) -> Duration {
        let study = pilot::study_of(self.study, plan, next.trial.trial);
        Duration::from_secs_f64(self.study.sampling.trial_timeout_s.unwrap_or_else(|| limit_s(&study)))
    }
}

fn end(queue: &Queue, left: usize) -> RunEnd {
    RunEnd { done: queue.done(), given_up: queue.given_up(), left }
}

/// The last lines of a trial's own log: why it died without a record.
fn log_tail(directory: &Path, trial: usize, attempt: u32) -> String {
    let name = format!("trial-{trial:05}-{attempt}.log");
    let text = std::fs::read_to_string(directory.join("logs").join(&name)).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(8).collect();
    if lines.is_empty() {
        return format!("logs/{name} is empty");
    }
    lines.into_iter().rev().collect::<Vec<_>>().join("\n")
}
