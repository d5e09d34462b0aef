//! `tare trial` (hidden): runs one trial of a plan in a process of its own, so that a crash costs only this trial.
//!
//! Under a run it receives study and plan through a pipe, stops when the run stops and works under the run's lock.
//! Started by a cluster's scheduler it needs the results directory and the number of the trial, and locks the machine
//! itself: it trusts the files in the directory only if no other user could have changed them.

use super::{Exit, Problem, interrupt, secret, trust};
use crate::run::{Failure, Handed, Message};
use crate::state::StateError;
use crate::trial::{Trial, TrialError};
use clap::Args;
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use tare_drive::workload::Progress;
use tare_files::Folder;
use tare_noise::{HostLock, TrialLock};
use tare_results::ReadError;
use tare_results::store::{Directory, DirectoryError, Writer, read_plan, read_study_text};
use tare_study::language::write::parse_written;
use tare_study::plan::task::Task;

#[derive(Debug, Args)]
pub(crate) struct TrialArgs {
    /// Results directory
    #[arg(long)]
    directory: PathBuf,
    /// Number of the trial in the plan
    #[arg(long)]
    trial: usize,
    /// Attempt, from 1; 0 only prepares the data
    #[arg(long)]
    attempt: u32,
    /// Process id of the run that waits for the trial; without it, the trial locks the machine itself
    #[arg(long)]
    parent: Option<i32>,
    /// Writes the record to trials-WRITER.jsonl, which no other process writes; without it, to the local run's file
    #[arg(long)]
    writer: Option<String>,
    /// Before each sample and before the server is stopped, wait for a line on standard input or its end: the other
    /// trial of the pair is then as far
    #[arg(long, requires = "parent")]
    paired: bool,
    /// Trust files that other users own or may write to
    #[arg(long, conflicts_with = "parent")]
    trust: bool,
}

/// Runs one trial, or prepares its data.
///
/// # Errors
/// Only when there can be no record; a failed measurement has one.
pub(crate) fn run(args: &TrialArgs) -> Result<Exit, Problem> {
    let ended = under_lock(args);
    if let (Err(problem), Some(_)) = (&ended, args.parent) {
        Message::Failed(Failure::from(problem)).send();
    }
    ended
}

fn under_lock(args: &TrialArgs) -> Result<Exit, Problem> {
    let Some(parent) = args.parent else {
        let _host = super::execution::take_host()?;
        return one(args);
    };
    // The run starts the trial as /proc/self/exe, and process lists would show the name `exe`.
    let _ = rustix::thread::set_name(c"tare");
    // After kill -9 the run cannot stop its trial: the kernel sends the trial SIGTERM, and it restores settings.
    set_parent_process_death_signal(Some(Signal::TERM))
        .map_err(|e| Problem::new(Exit::Machine, format!("cannot ask for a death signal: {e}")))?;
    // Taken before the parent is checked; `TrialLock` gives the reason.
    let _lock = TrialLock::hold(&HostLock::default_dir()).map_err(StateError::from)?;
    if getppid().map(|pid| pid.as_raw_nonzero().get()) != Some(parent) {
        return Ok(Exit::Interrupted);
    }
    one(args)
}

/// The input of a trial: from the waiting run, or, for a trial started alone, from the files of the checked directory.
fn handed(args: &TrialArgs) -> Result<(Folder, Handed), Problem> {
    if args.parent.is_none() {
        let folder = Directory::begun(&args.directory, trust::whose(args.trust))?;
        let (plan, study) = (read_plan(&folder)?, read_study_text(&folder)?);
        let (password, results) = (secret::of_environment(), folder.identity()?);
        return Ok((folder, Handed { study, plan, password, trusted: args.trust, results }));
    }
    let handed = Handed::receive()
        .map_err(|e| Problem::new(Exit::Machine, format!("cannot read this trial's input from the run: {e}")))?;
    // Opened by name, because a handle cannot be sent through a pipe: by now another directory may have this name, or
    // none.
    match Directory::begun(&args.directory, trust::whose(handed.trusted)) {
        Ok(folder) if folder.identity()? == handed.results => Ok((folder, handed)),
        Ok(_) | Err(DirectoryError::NotResults { .. }) => Err(trust::exchanged(&args.directory)),
        Err(DirectoryError::Read(ReadError::Io { source, .. })) if source.kind() == ErrorKind::NotFound => {
            Err(trust::exchanged(&args.directory))
        }
        Err(error) => Err(error.into()),
    }
}

fn one(args: &TrialArgs) -> Result<Exit, Problem> {
    let interrupted = interrupt::flag()?;
    let (directory, Handed { study, plan, password, .. }) = handed(args)?;
    let study = parse_written(&study, &args.directory)?;
    let task = Task::find(&study, &plan, args.trial).map_err(TrialError::from)?;
    let report = |step: Progress| {
        let is_border = matches!(step, Progress::Sample { .. } | Progress::Turn | Progress::Stopping);
        Message::Step(step).send();
        if is_border && args.paired {
            Handed::wait_for_other();
        }
    };
    let writer = args.writer.as_deref().map(Writer::new).transpose()?;
    let trial = Trial {
        password,
        writer,
        directory: &directory,
        plan: &plan,
        task,
        attempt: args.attempt,
        interrupted,
        report: &report,
    };
    if args.attempt == 0 {
        return match trial.prepare() {
            // Errors while everything is being stopped have no meaning.
            Err(_) if interrupted.load(Ordering::Relaxed) => Ok(Exit::Interrupted),
            prepared => prepared.map(|()| Exit::Done).map_err(Problem::from),
        };
    }
    // A failed trial is repeated alone, on a server of its own.
    let rest = if args.attempt == 1 { trial.rest_of_lifetime(&study)? } else { Vec::new() };
    let finished = trial.run(&rest)?;
    Ok(if finished { Exit::Done } else { Exit::Interrupted })
}
