//! The runner of every local run: each attempt is a child process that appends its own record.

use super::child::{Exit, Message, Stop, run_child};
use super::meeting::{Guest, Meeting};
use super::{Attempt, Ended, Failure, Handed, Prepared, RunError, Runner};
use crate::state;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::thread::{self, Builder};
use std::time::{Duration, Instant};
use tare_cpuset::ThreadRefused;
use tare_drive::workload::Progress;
use tare_files::Folder;
use tare_noise::OomKills;
use tare_results::schema::{Plan, TrialRecord, Turns};
use tare_results::store::{DirectoryError, LOGS, end_of_trials, read_trials_behind, trial_log};

use tare_study::language::spec::Study;
use tare_study::language::write;
use tare_study::plan::settle::drawn;
use tare_study::plan::task::stack_padding;

const PREPARE_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// A child's exit code if this machine cannot run the request, as documented for all commands.
const STOPS_RUN: u8 = 3;
/// Most lines of a child's log in a reason.
const LOG_LINES: usize = 8;
/// Size of the end of the log that is searched for these lines, bytes.
const LOG_END: u64 = 64 << 10;

/// Runs trials of one results directory as child processes.
pub(crate) struct Children<'a> {
    directory: &'a Folder,
    stop: Stop<'a>,
    password: Option<String>,
    trusted: bool,
    /// Study, plan and password for every trial, sent through a pipe, where no other process can read them.
    handed: Arc<Vec<u8>>,
    /// The plan; it determines the length of the environment of each trial.
    plan: Option<Plan>,
    /// Turns of a trial's samples, at least 1.
    rounds: usize,
    /// Records of trials that shared the server of an earlier trial, kept until it is their turn.
    companions: Vec<TrialRecord>,
}

impl<'a> Children<'a> {
    /// Runs trials of this directory until `stop` is set. `password` is for a running server; `trusted` says
    /// that the user trusts everyone who may write to the directory.
    pub(crate) fn new(directory: &'a Folder, stop: Stop<'a>, password: Option<String>, trusted: bool) -> Self {
        Self {
            directory,
            stop,
            password,
            trusted,
            handed: Arc::default(),
            plan: None,
            rounds: 1,
            companions: Vec::new(),
        }
    }

    /// Runs a child to its end; returns how it ended, and the failure that it reported, if any.
    fn child(
        &self,
        attempt: &Attempt,
        guest: Option<&Guest>,
        hear: &mut dyn FnMut(Progress),
    ) -> Result<(Exit, Option<Failure>), RunError> {
        let mut failure = None;
        let handed = (&self.handed, guest);
        let padding = self.plan.as_ref().and_then(|plan| stack_padding(plan, attempt.trial));
        let exit = run_child(self.directory, attempt, self.stop, handed, padding, |message| match message {
            Message::Step(progress) => hear(progress),
            Message::Failed(cause) => failure = Some(cause),
        })
        .map_err(RunError::Spawn)?;
        Ok((exit, failure))
    }

    /// Reads the records of an attempt, which follow the first `before` bytes: earlier records are not read again.
    fn record(&mut self, attempt: &Attempt, before: u64) -> Result<Option<TrialRecord>, RunError> {
        if self.companions.iter().all(|r| r.trial != attempt.trial) {
            self.companions.extend(read_trials_behind(self.directory, before)?);
        }
        Ok(self.companion(attempt))
    }

    /// The record of an attempt that was measured together with an earlier one.
    fn companion(&mut self, attempt: &Attempt) -> Option<TrialRecord> {
        let of = |r: &TrialRecord| r.trial == attempt.trial && r.attempt == attempt.attempt;
        Some(self.companions.swap_remove(self.companions.iter().rposition(of)?))
    }

    /// Why a child ended without a record: the failure that it reported, or else that the kernel killed a process for
    /// lack of memory, or else the last lines of its log.
    fn cause(&self, attempt: &Attempt, failure: Option<Failure>, starved: Option<String>) -> String {
        if let Some(failure) = failure {
            return failure.what;
        }
        if let Some(why) = starved {
            return why;
        }
        let name = trial_log(attempt.trial, attempt.attempt);
        let text = log_end(self.directory, &name);
        let lines: Vec<&str> = text.lines().rev().take(LOG_LINES).collect();
        if lines.is_empty() {
            return format!("logs/{name} is empty");
        }
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }
}

/// The end of a log, which may be very large.
fn log_end(directory: &Folder, name: &str) -> String {
    let file = directory.sub(LOGS).ok().flatten().and_then(|logs| logs.file(name).ok().flatten());
    let Some(mut file) = file else { return String::new() };
    let length = file.metadata().map_or(0, |meta| meta.len());
    let mut end = Vec::new();
    // A log that cannot be read counts as empty, and the reason then says so.
    let _ = file
        .seek(SeekFrom::Start(length.saturating_sub(LOG_END)))
        .and_then(|_| file.take(LOG_END).read_to_end(&mut end));
    String::from_utf8_lossy(&end).into_owned()
}

fn plain(what: String) -> Failure {
    Failure { what, place: None, expected: None, advice: None, exit_code: 4 }
}

impl Runner for Children<'_> {
    fn take(&mut self, study: &Study, plan: &Plan) -> Result<(), RunError> {
        let (password, trusted) = (self.password.clone(), self.trusted);
        let results = self.directory.identity().map_err(DirectoryError::from)?;
        let handed = Handed { study: write::to_toml(study), plan: plan.clone(), password, trusted, results };
        self.handed = Arc::new(handed.to_bytes().map_err(RunError::Spawn)?);
        self.plan = Some(handed.plan);
        let sampling = &study.sampling;
        self.rounds = (sampling.samples + sampling.drop_samples).max(1) * Turns::in_sample(sampling.sample_s);
        Ok(())
    }

    fn prepare(&mut self, trial: usize, hear: &mut dyn FnMut(Progress)) -> Result<Prepared, RunError> {
        let attempt = Attempt { trial, attempt: 0, timeout: PREPARE_TIMEOUT };
        let memory = OomKills::here();
        let (exit, failure) = self.child(&attempt, None, hear)?;
        Ok(match exit {
            Exit::By(status) if status.success() => Prepared::Done,
            Exit::Interrupted => Prepared::Interrupted,
            Exit::TimedOut => Prepared::Failed(plain("it took longer than a day".into())),
            Exit::By(status) => Prepared::Failed(match (failure, memory.as_ref().and_then(OomKills::since)) {
                (Some(failure), None) => failure,
                (Some(failure), Some(why)) => Failure { what: format!("{}\n{why}", failure.what), ..failure },
                (None, starved) => {
                    plain(format!("its process ended with {status}: {}", self.cause(&attempt, None, starved)))
                }
            }),
        })
    }

    fn run(&mut self, attempt: &Attempt, hear: &mut dyn FnMut(Progress)) -> Result<Ended, RunError> {
        if let Some(record) = self.companion(attempt) {
            return Ok(Ended::Recorded(Box::new(record)));
        }
        let begun = Begun::now(self.directory)?;
        let ended = self.child(attempt, None, hear)?;
        self.ended(attempt, begun, ended)
    }

    fn run_both(&mut self, attempts: &[Attempt; 2], hear: &mut dyn FnMut(Progress)) -> Result<[Ended; 2], RunError> {
        let begun = [Begun::now(self.directory)?, Begun::now(self.directory)?];
        let meeting = Arc::new(self.meeting(attempts));
        let [one, other] = [0, 1].map(|place| Guest { meeting: Arc::clone(&meeting), place });
        let (first, second) = thread::scope(|scope| {
            let second = Builder::new()
                .spawn_scoped(scope, || self.child(&attempts[1], Some(&other), &mut |_| ()))
                .map_err(|e| RunError::Spawn(io::Error::other(ThreadRefused::from(e))))?;
            let first = self.child(&attempts[0], Some(&one), hear);
            let died = || RunError::Spawn(io::Error::other("the thread that waits for a trial has ended"));
            Ok::<_, RunError>((first?, second.join().map_err(|_| died())??))
        })?;
        // Leftovers of a trial are removed only after both have ended.
        let [of_first, of_second] = begun;
        Ok([self.ended(&attempts[0], of_first, first)?, self.ended(&attempts[1], of_second, second)?])
    }
}

/// When an attempt began, and the size of the records before it.
struct Begun {
    started_at: String,
    clock: Instant,
    memory: Option<OomKills>,
    before: u64,
}

impl Begun {
    fn now(directory: &Folder) -> Result<Self, RunError> {
        let memory = OomKills::here();
        Ok(Self { started_at: tare_results::now(), clock: Instant::now(), memory, before: end_of_trials(directory)? })
    }
}

impl Children<'_> {
    /// The point where two attempts wait for each other.
    fn meeting(&self, attempts: &[Attempt; 2]) -> Meeting {
        let turns = self.plan.as_ref().and_then(|plan| plan.turns);
        turns.map_or_else(Meeting::duet, |turns| Meeting::by_turns(drawn(turns, attempts[0].trial, self.rounds)))
    }

    /// The outcome of an attempt whose child has ended.
    fn ended(
        &mut self,
        attempt: &Attempt,
        begun: Begun,
        (exit, failure): (Exit, Option<Failure>),
    ) -> Result<Ended, RunError> {
        let Begun { started_at, clock, memory, before } = begun;
        let stopped = failure.clone().filter(|failure| failure.exit_code == STOPS_RUN);
        let reason = match exit {
            Exit::Interrupted => return Ok(Ended::Interrupted),
            // It may have hung after its record was written, or another trial of the same process may have.
            Exit::TimedOut => match self.record(attempt, before)? {
                Some(record) => {
                    state::reap().map_err(|e| {
                        RunError::Stopped(plain(format!("cannot remove what a trial left behind: {e}")))
                    })?;
                    return Ok(Ended::Recorded(Box::new(record)));
                }
                None => format!("it took longer than {:.0} s", attempt.timeout.as_secs_f64()),
            },
            Exit::By(status) => {
                if let Some(record) = self.record(attempt, before)? {
                    return Ok(Ended::Recorded(Box::new(record)));
                }
                let starved = memory.as_ref().and_then(OomKills::since);
                format!("its process ended with {status}: {}", self.cause(attempt, failure, starved))
            }
        };
        // The next trial must not find a server or settings of this one.
        let reason = match state::reap() {
            Ok(_) => reason,
            Err(e) => format!("{reason}; it may have left files or processes behind: {e}"),
        };
        // No record: another trial would fail here as well, because a full disk has nothing to do with the condition.
        if let Some(failure) = stopped {
            return Err(RunError::Stopped(failure));
        }
        Ok(Ended::NoRecord { reason, started_at, elapsed_s: clock.elapsed().as_secs_f64() })
    }
}
