//! Runs one trial as a child process: started, read, stopped in time, and never outliving the run.

use super::meeting::{Guest, Over, Pass};
use super::{Attempt, Failure};
use crate::state;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};
use tare_cpuset::ThreadRefused;
use tare_drive::workload::Progress;
use tare_files::Folder;
use tare_results::store::{LOGS, trial_log};
use tare_study::language::settings::PADDING;

/// How long a trial that exceeded its limit may take to restore settings before it is killed.
const STOP_GRACE: Duration = Duration::from_secs(20);
/// The same limit if the user waits for the end.
const INTERRUPT_GRACE: Duration = Duration::from_millis(1500);

/// The messages that a trial's process writes to its standard output, one JSON line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Message {
    Step(Progress),
    /// Why the trial can leave no record, or prepare no data.
    Failed(Failure),
}

impl Message {
    /// Sends the message to the run. A broken pipe is ignored: the death signal reports a run that has ended.
    pub(crate) fn send(&self) {
        if let Ok(line) = serde_json::to_string(self) {
            let mut out = io::stdout().lock();
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    }
}

/// Flags that stop a run, set by signals.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stop<'a> {
    /// An orderly stop: trials restore settings themselves.
    pub requested: &'a AtomicBool,
    /// An immediate stop: the run restores settings for its trials.
    pub at_once: &'a AtomicBool,
}

#[derive(Debug)]
pub enum Exit {
    By(ExitStatus),
    TimedOut,
    Interrupted,
}

/// Runs an attempt at a trial of the results directory and passes its messages on.
pub(crate) fn run_child(
    directory: &Folder,
    attempt: &Attempt,
    interrupt: Stop<'_>,
    (handed, guest): (&Arc<Vec<u8>>, Option<&Guest>),
    padding: Option<String>,
    mut hear: impl FnMut(Message),
) -> io::Result<Exit> {
    // When this child ends in any way, the other trial of the pair no longer waits for it.
    let _over = guest.map(Over);
    let (trial, attempt, timeout) = (attempt.trial, attempt.attempt, attempt.timeout);
    let log = directory.make_sub(LOGS)?.new_log(&trial_log(trial, attempt))?;
    // Another program, possibly of another user, may have this program's path by now.
    let mut command = Command::new("/proc/self/exe");
    command.arg0(std::env::current_exe()?);
    // As one word, because a directory's name may begin with a dash.
    let mut place = OsString::from("--directory=");
    place.push(directory.path());
    command
        .arg("trial")
        .arg(place)
        .args(["--trial", &trial.to_string(), "--attempt", &attempt.to_string()])
        .args(["--parent", &std::process::id().to_string()])
        .args(guest.map(|_| "--paired"))
        .env_remove(PADDING)
        .envs(padding.map(|padding| (PADDING, padding)));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        // Its own process group: Ctrl-C in the terminal reaches only the run, which then asks the trial to stop.
        .process_group(0)
        .spawn()?;
    let lines = match hand_over(&mut child, handed, guest).and_then(|()| listen(&mut child)) {
        Ok(lines) => lines,
        Err(refused) => {
            stop(&mut child, INTERRUPT_GRACE, interrupt.at_once)?;
            return Err(refused);
        }
    };
    let deadline = Instant::now().checked_add(timeout);
    loop {
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(message) => {
                if let (Message::Step(step), Some(guest)) = (&message, guest) {
                    guest.says(step);
                }
                hear(message);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return child.wait().map(Exit::By),
        }
        if interrupt.requested.load(Ordering::Relaxed) {
            guest.inspect(|guest| guest.open());
            stop(&mut child, INTERRUPT_GRACE, interrupt.at_once)?;
            return Ok(Exit::Interrupted);
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            guest.inspect(|guest| guest.open());
            stop(&mut child, STOP_GRACE, interrupt.at_once)?;
            return Ok(Exit::TimedOut);
        }
    }
}

/// Writes the study and plan to the child, then a line each time that it may go on, and closes the pipe when it need
/// not wait any more. A thread writes, because a plan may exceed the capacity of a pipe; write errors are ignored,
/// because they mean that the trial has ended.
fn hand_over(child: &mut Child, handed: &Arc<Vec<u8>>, guest: Option<&Guest>) -> io::Result<()> {
    let Some(mut input) = child.stdin.take() else { return Ok(()) };
    let (handed, guest) = (Arc::clone(handed), guest.cloned());
    let write = move || {
        let mut written = input.write_all(&handed);
        while let (Ok(()), Some(Pass::Turn)) = (&written, guest.as_ref().map(Guest::wait)) {
            written = input.write_all(b"\n");
        }
    };
    Builder::new().spawn(write).map(drop).map_err(|e| io::Error::other(ThreadRefused::from(e)))
}

fn listen(child: &mut Child) -> io::Result<Receiver<Message>> {
    let (sender, receiver) = channel();
    if let Some(out) = child.stdout.take() {
        let hear = move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if let Ok(message) = serde_json::from_str(&line)
                    && sender.send(message).is_err()
                {
                    return;
                }
            }
        };
        Builder::new().spawn(hear).map_err(|e| io::Error::other(ThreadRefused::from(e)))?;
    }
    Ok(receiver)
}

/// Sends SIGTERM, gives the child time to restore settings, then sends SIGKILL; with `at_once` there is no more time.
fn stop(child: &mut Child, grace: Duration, at_once: &AtomicBool) -> io::Result<()> {
    // An error means that the child has ended already.
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let deadline = Instant::now() + grace;
    // A stopped child (SIGSTOP, Ctrl-Z) does not handle the signal, so waiting is useless.
    while Instant::now() < deadline && !at_once.load(Ordering::Relaxed) && !is_stopped(child) {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    // The killed child could not restore settings or stop servers: this must be done before the next measurement.
    state::reap().map(drop).map_err(io::Error::other)
}

fn is_stopped(child: &Child) -> bool {
    let look = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(Pid::from_child(child)), look), Ok(Some(_)))
}
