//! `tare trial` (hidden): one trial of a run, in a process of its own. A crash costs one trial.

use super::{Exit, Problem, interrupt};
use crate::plan::pilot;
use crate::run::state::StateError;
use crate::study::written::read_study;
use crate::trial::measure::Trial;
use clap::Args;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::path::PathBuf;
use tare_noise::{HostLock, TrialLock};
use tare_results::store::read_plan;

/// Options of the hidden `tare trial`.
#[derive(Debug, Args)]
pub struct TrialArgs {
    /// Results directory
    #[arg(long)]
    directory: PathBuf,
    /// Number of the trial in the plan
    #[arg(long)]
    trial: usize,
    /// Attempt, from 1; 0 only prepares the data
    #[arg(long)]
    attempt: u32,
    /// Process id of the run
    #[arg(long)]
    parent: i32,
}

/// Measures one trial of a plan and appends its record.
///
/// # Errors
/// Only when there can be no record; a failed measurement is one.
pub fn run(args: &TrialArgs) -> Result<Exit, Problem> {
    let interrupted = interrupt::flag()?;
    // Killed with kill -9, the run can stop nobody: the kernel tells the trial, which then puts things back.
    set_parent_process_death_signal(Some(Signal::TERM))
        .map_err(|e| Problem::new(Exit::Machine, format!("cannot ask for a death signal: {e}")))?;
    // Before the parent is looked for: see there.
    let _lock = TrialLock::hold(&HostLock::default_dir()).map_err(StateError::from)?;
    if getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(args.parent) {
        return Ok(Exit::Interrupted);
    }
    let plan = read_plan(&args.directory)?;
    let study = pilot::study_of(&read_study(&args.directory)?, &plan, args.trial);
    let trial = Trial::find(&args.directory, &study, &plan, args.trial, args.attempt, interrupted)?;
    if args.attempt == 0 {
        trial.prepare()?;
        return Ok(Exit::Done);
    }
    let finished = trial.run()?;
    Ok(if finished { Exit::Done } else { Exit::Interrupted })
}
