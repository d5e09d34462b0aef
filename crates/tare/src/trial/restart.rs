//! Restarts a running server with the command of the study, waits for it, and verifies the restart.

use super::{Trial, TrialError};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tare_cpuset::ThreadRef;
use tare_cpuset::observe;
use tare_drive::sut::SystemUnderTest;
use tare_engine::{RunningServer, Server, target_of};
use tare_results::store::LOGS;

/// How often to check the command, and to try to connect to the server.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Process id and start time of the server's first process, which together identify it.
type Life = Option<(i32, u64)>;

/// Restarts the server and waits until it answers; also returns a description of the proof.
pub(super) fn restarted(trial: &Trial<'_>, command: &[String]) -> Result<(RunningServer, String), TrialError> {
    let limit = Duration::from_secs_f64(trial.task.condition.settings.engine.start_timeout_s);
    let deadline = Instant::now() + limit;
    // A server that is down is restarted too.
    let before = attach(trial).ok().and_then(|server| life(&server));
    let shown = command.join(" ");
    let failed = |why: String| TrialError::Process(format!("restarting the server with `{shown}`: {why}"));
    let status = run(trial, command, deadline).map_err(failed)?;
    if !status.success() {
        return Err(failed(format!("it ended with {status}; its output is in the trial's log")));
    }
    let server = loop {
        match attach(trial) {
            Ok(server) => break server,
            Err(e) if Instant::now() > deadline => {
                return Err(failed(format!("no answer within {:.0} s: {e}", limit.as_secs_f64())));
            }
            Err(_) if trial.interrupted.load(Ordering::Relaxed) => return Err(interrupted()),
            Err(_) => std::thread::sleep(LOOK_EVERY),
        }
    };
    match (before, life(&server)) {
        (Some(old), Some(new)) if old == new => {
            Err(failed(format!("process {} still runs and was not restarted", new.0)))
        }
        (Some(old), Some(new)) => Ok((server, format!("process {} ended, process {} answers", old.0, new.0))),
        (None, Some(new)) => Ok((server, format!("process {} answers; before, no server did", new.0))),
        (_, None) => {
            Ok((server, "the server answers; tare cannot see from here whether it is another process".to_owned()))
        }
    }
}

fn interrupted() -> TrialError {
    TrialError::Load(tare_drive::workload::LoadError::Interrupted)
}

fn life(server: &RunningServer) -> Life {
    let serving = server.connect().ok()?.server_thread().ok()??;
    let mut sut = SystemUnderTest::running(None);
    sut.found(serving);
    let root = sut.root?;
    Some((root, observe::started_ticks(ThreadRef::main_of(root)).ok()?))
}

/// Runs the command with its output in the trial's log; kills it after the deadline.
fn run(trial: &Trial<'_>, command: &[String], deadline: Instant) -> Result<ExitStatus, String> {
    let [program, arguments @ ..] = command else { return Err("no program".to_owned()) };
    let log = format!("restart-{:05}-{}.log", trial.task.planned.trial, trial.attempt);
    let log = trial.directory.make_sub(LOGS).and_then(|logs| logs.new_log(&log));
    let log = log.map_err(|e| format!("its log cannot be made: {e}"))?;
    let errors = log.try_clone().map_err(|e| format!("its log cannot be made: {e}"))?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .spawn()
        .map_err(|e| format!("{program} cannot be run: {e}"))?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Err(e) => return Err(format!("it cannot be waited for: {e}")),
            Ok(None) if Instant::now() > deadline || trial.interrupted.load(Ordering::Relaxed) => {
                let _ = child.kill(); // it may have ended just now
                let _ = child.wait();
                return Err("it took too long".to_owned());
            }
            Ok(None) => std::thread::sleep(LOOK_EVERY),
        }
    }
}

/// Connects to the server of the study, as the study and the user's own files say.
pub(crate) fn attach(trial: &Trial<'_>) -> Result<RunningServer, TrialError> {
    let settings = &trial.task.condition.settings.engine;
    let mut target = target_of(settings.running.login(trial.password.clone()), settings.kind)?;
    target.charset = settings.charset;
    Ok(RunningServer::attach(settings.kind, target)?)
}
