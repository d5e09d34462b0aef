//! What all commands have in common that run trials: their options, the lock, the results directory, the execution, and
//! how an interrupted or stopped run goes on.

use super::output::{note, quoted_path};
use super::{Exit, Problem, interrupt, secret, trust};
use crate::run::{Children, Listener, Run, RunEnd, RunError};
use crate::state::{self, Host, StateError};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tare_cpuset::to_raise;
use tare_drive::capture::environment::environment;
use tare_files::{Folder, Trust};
use tare_noise::NoiseError;
use tare_results::schema::Plan;
use tare_results::store::{Directory, read_plan, read_study_text};
use tare_study::language::spec::Study;
use tare_study::language::write::{self, parse_written};
use tare_study::plan::needs;
use tare_study::plan::task::{OtherMachine, Task, same_machine};
use tare_topology::{Fingerprint, Machine};

/// The options that all commands have that run trials.
#[derive(Debug, Args)]
pub struct ExecutionArgs {
    /// Start or resume what may take more than an hour without asking
    #[arg(long)]
    pub yes: bool,
    /// Wait while another run uses this machine, instead of ending
    #[arg(long)]
    pub wait: bool,
    /// Use files and folders that other users own or may write to: programs named in them run as you
    #[arg(long)]
    pub trust: bool,
    /// Print one JSON document on standard output; progress still goes to standard error
    #[arg(long)]
    pub json: bool,
}

impl ExecutionArgs {
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions { wait: self.wait, yes: self.yes, ..RunOptions::of(self.json, self.trust) }
    }
}

/// Output and waiting of a run, and what only the command line knows.
pub struct RunOptions {
    /// For a running server.
    pub password: Option<String>,
    pub json: bool,
    /// Whether to wait while another run has the machine.
    pub wait: bool,
    /// Whether to begin a run of more than an hour without asking.
    pub yes: bool,
    pub trusted: bool,
    /// Whether a comparison ends once one of its sides has failed each time for the same reason.
    pub needs_both_sides: bool,
    /// When no trial may run any more, also if the study has no time limit of its own.
    pub until: Option<Instant>,
}

impl RunOptions {
    /// With the password of the environment, without waiting, and asking before a long run.
    pub(crate) fn of(json: bool, trusted: bool) -> Self {
        let password = secret::of_environment();
        Self { password, json, wait: false, yes: false, trusted, needs_both_sides: false, until: None }
    }
}

/// Locks the machine, immediately or as soon as it is free.
pub(crate) fn host(wait: bool) -> Result<Host, Problem> {
    if wait { take_host_in_turn(interrupt::stop()?.requested) } else { take_host() }
}

/// Checks the output directory before the user is asked and before waiting for the machine.
pub(crate) fn has_place(plan: &Plan, out: Option<&Path>, trusted: bool) -> Result<(), Problem> {
    room_for_data(plan)?;
    let out = out.map_or_else(|| default_out(&plan.study, &tare_results::now()), Path::to_path_buf);
    Directory::can_be_created(&out, trust::whose(trusted))?;
    room_for_results(plan, &out)
}

fn room_for_results(plan: &Plan, out: &Path) -> Result<(), Problem> {
    needs::results_fit(plan, out)
        .map_err(|e| Problem::new(Exit::Machine, e).advice("free disk space, or choose another disk with --out"))
}

/// Fails if the disk has no room for the data.
pub(crate) fn room_for_data(plan: &Plan) -> Result<(), Problem> {
    let Some(needs) = &plan.needs else { return Ok(()) };
    // With small tables, most of the space goes to files that the server itself creates.
    let smaller = match 4 * needs.data_bytes > needs.disk_bytes {
        true => ", or make the tables smaller (--set workload.rows=...)",
        false => "",
    };
    needs::fits_disk(needs, &state::cache_directory()?).map_err(|e| {
        Problem::new(Exit::Machine, e)
            .advice(format!("free disk space, or set TARE_CACHE_DIR to another disk{smaller}"))
    })
}

/// The directory of a new run, with a name that no earlier run has.
pub(crate) fn default_out(study: &str, now: &str) -> PathBuf {
    let stamp: String =
        now.chars().take(19).map(|c| if c == ':' { '-' } else { c }).collect::<String>().replace('T', "-");
    let folder = Path::new(state::USUAL_RESULTS);
    let name = format!("{study}-{stamp}");
    let further = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.clone()).chain(further).find(|name| !folder.join(name).exists());
    folder.join(free.unwrap_or(name))
}

/// Creates a results directory with study, plan and environment in it.
pub(crate) fn begun_in(
    out: &Path,
    study: &Study,
    plan: &Plan,
    machine: &Machine,
    trusted: bool,
) -> Result<Directory, Problem> {
    room_for_results(plan, out)?;
    let directory = Directory::create(out, trust::whose(trusted))?;
    directory.begin(&write::to_toml(study), plan, &environment(machine))?;
    if let Err(error) = state::remember_results(out) {
        note(&format!("tare clean will not list these results: {error}"));
    }
    Ok(directory)
}

/// Study, plan and directory of a run that was started on this machine; `None` if there is none at the path.
pub(crate) fn begun_at(path: &Path, trusted: bool) -> Result<Option<(Study, Plan, Directory)>, Problem> {
    if !path.join("plan.json").exists() {
        return Ok(None);
    }
    let directory = Directory::resume(path, trust::whose(trusted))?;
    let (study, plan) = read_begun(directory.folder())?;
    Ok(Some((study, plan, directory)))
}

/// Study and plan in a folder that may not be locked.
pub(crate) fn read_begun(folder: &Folder) -> Result<(Study, Plan), Problem> {
    let path = folder.path();
    let study = parse_written(&read_study_text(folder)?, path)?;
    let plan = read_plan(folder)?;
    // A condition must not mix placements of two machines.
    same_machine(&plan, &Fingerprint::of(&Machine::this()?)).map_err(|changed: OtherMachine| {
        Problem::from(changed).at(path.display().to_string()).advice(
            "resume it on the original machine with the same CPUs; or run the study again here, and compare the two \
             with tare compare",
        )
    })?;
    if let Some(first) = plan.trials.first() {
        Task::find(&study, &plan, first.trial)?;
    }
    Ok((study, plan))
}

pub(crate) fn execute(
    study: &Study,
    plan: &Plan,
    directory: &Directory,
    options: &RunOptions,
    listener: &mut dyn Listener,
) -> Result<RunEnd, Problem> {
    let stop = interrupt::stop()?;
    let runner = Children::new(directory.folder(), stop, options.password.clone(), options.trusted);
    let (needs_both_sides, until) = (options.needs_both_sides, options.until);
    let mut run = Run { study, plan, needs_both_sides, until, runner, book: directory };
    let end = run.execute(listener);
    // A later resumption of the run can then use the working copy of the data.
    let keeps = match &end {
        Ok(end) => end.left > 0,
        Err(e) => goes_on(e),
    };
    // What is left there, as on a file system that has become read-only, must not hide the results or their error.
    if !keeps && let Err(e) = remove_working_copies() {
        note(&format!("note: {e}"));
    }
    end.map_err(|e| match e {
        _ if lost_its_name(directory.folder()) => trust::exchanged(directory.path()),
        // Finished trials are kept, and this is where the command to resume is known.
        _ if goes_on(&e) => {
            let to_do = match &e {
                RunError::Directory(e) => to_raise(e),
                RunError::Spawn(source) => to_raise(source),
                RunError::Stopped(failure) | RunError::Prepare(failure) | RunError::Running(failure) => {
                    failure.advice.clone()
                }
                _ => None,
            };
            let to_do = to_do.unwrap_or("free disk space or inodes (df -h, df -i), or fix the permissions".to_owned());
            Problem::from(e).advice(format!("{to_do}, then: {}", resume_command(plan, directory)))
        }
        RunError::SameReason { side, trials, reason } => {
            let of = side.map_or_else(String::new, |side| format!(" of {side}"));
            let what = format!("the run was stopped: all {trials} trials{of} so far failed for the same reason");
            let anew = side.map_or("", |_| "; if the side itself is the cause, begin another comparison");
            Problem::new(Exit::TrialFailed, what).at(reason).advice(format!(
                "fix the cause, then resume with: {}{anew}; logs: {}",
                resume_command(plan, directory),
                directory.path().join("logs").display()
            ))
        }
        _ => e.into(),
    })
}

/// Whether the open folder is no longer the one at its path; false if this cannot be found out.
fn lost_its_name(folder: &Folder) -> bool {
    match Folder::open(folder.path(), Trust::Anyone) {
        Ok(Some(found)) => found.identity().ok() != folder.identity().ok(),
        Ok(None) => true,
        Err(e) => to_raise(&e).is_none(),
    }
}

fn remove_working_copies() -> Result<(), StateError> {
    tare_engine::remove_working_copies(&state::cache_directory()?)?;
    Ok(())
}

/// The command that goes on with a run.
fn resume_command(plan: &Plan, directory: &Directory) -> String {
    format!("tare {} --resume {}", plan.resumed_by(), quoted_path(directory.path()))
}

/// Whether the run can go on once there is disk space, permission or a higher limit.
fn goes_on(stopped: &RunError) -> bool {
    match stopped {
        // Spawn: not even the log of a trial could be created, or there was no process for it.
        RunError::Directory(_) | RunError::Stopped(_) | RunError::Spawn(_) => true,
        // Without advice, it is not known that anything but another study helps.
        RunError::Prepare(failure) | RunError::Running(failure) => {
            failure.exit_code == Exit::Machine as u8 && failure.advice.is_some()
        }
        _ => false,
    }
}

/// Locks the machine. Prints on standard error what a killed run had left, and which other user runs on the machine.
pub(crate) fn take_host() -> Result<Host, Problem> {
    Ok(with_notes(state::take_host(&note_wait)?))
}

/// Locks the machine for a task of a scheduler; waits if another task has it.
///
/// # Errors
/// As [`take_host`]; when `requested` is set while waiting, that another run has the machine.
pub(crate) fn take_host_in_turn(requested: &AtomicBool) -> Result<Host, Problem> {
    let mut noted = false;
    loop {
        match state::take_host(&note_wait) {
            Err(StateError::Noise(error @ NoiseError::Locked { .. })) if !requested.load(Ordering::Relaxed) => {
                if !noted {
                    note(&format!("note: {error}; waiting until it ends"));
                }
                noted = true;
                std::thread::sleep(Duration::from_millis(200));
            }
            taken => return Ok(with_notes(taken?)),
        }
    }
}

fn note_wait(who: &str) {
    note(&format!("waiting for the last trial of an earlier run, for a minute at most: {who} still holds its lock"));
}

fn with_notes(host: Host) -> Host {
    if let Some(other) = host.other() {
        note(&format!(
            "note: another user's run uses this machine too and may disturb this one: {other}; root does not wait for \
             it"
        ));
    }
    for file in host.restored.failed().chain(host.restored.changed_by_other()) {
        note(&format!("note: {} ({}) {}", file.setting, file.path, file.outcome));
    }
    host
}
