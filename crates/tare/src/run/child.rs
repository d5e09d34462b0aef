//! One trial as a child process: started, listened to, stopped in time, and never outliving the run.

use super::meeting::{Guest, Over, Pass};
use super::{Attempt, Failure};
use crate::state;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde::{Deserialize, Serialize};
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
use tare_results::store::LOGS;
use tare_study::language::process::PADDING;

/// How long a trial that took too long may take to put things back before it is killed.
const STOP_GRACE: Duration = Duration::from_secs(20);
/// How long it may take when the user waits for the end.
const INTERRUPT_GRACE: Duration = Duration::from_millis(1500);

/// What a trial's process writes to its standard output, one JSON line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Message {
    Step(Progress),
    /// Why it can leave no record, or make no data.
    Failed(Failure),
}

impl Message {
    /// Sends it to the run. A run that is gone is noticed elsewhere (by its death signal), so a broken pipe is not.
    pub fn send(&self) {
        if let Ok(line) = serde_json::to_string(self) {
            let mut out = io::stdout().lock();
            let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        }
    }
}

/// What ends a run: set by signals.
#[derive(Debug, Clone, Copy)]
pub struct Stop<'a> {
    /// In good order: trials may put things back themselves.
    pub asked: &'a AtomicBool,
    /// At once: the run puts things back for them.
    pub at_once: &'a AtomicBool,
}

#[derive(Debug)]
pub enum Exit {
    By(ExitStatus),
    TimedOut,
    Interrupted,
}

/// Runs an attempt at a trial of the results directory and passes on what it says.
pub fn run_child(
    directory: &Folder,
    attempt: &Attempt,
    interrupt: Stop<'_>,
    (handed, guest): (&Arc<Vec<u8>>, Option<&Guest>),
    padding: Option<String>,
    mut hear: impl FnMut(Message),
) -> io::Result<Exit> {
    // However this one ends, the other does not wait for it.
    let _over = guest.map(Over);
    let (trial, attempt, timeout) = (attempt.trial, attempt.attempt, attempt.timeout);
    let log = directory.make_sub(LOGS)?.new_log(&format!("trial-{trial:05}-{attempt}.log"))?;
    // What has this program's name by now may be another one, and anyone's.
    let mut command = Command::new("/proc/self/exe");
    command.arg0(std::env::current_exe()?);
    command
        .args(["trial", "--directory"])
        .arg(directory.path())
        .args(["--trial", &trial.to_string(), "--attempt", &attempt.to_string()])
        .args(["--parent", &std::process::id().to_string()])
        .args(guest.map(|_| "--paired"))
        .env_remove(PADDING)
        .envs(padding.map(|padding| (PADDING, padding)));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(log)
        // A Ctrl-C in the terminal reaches the run alone, which then asks the trial to stop.
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
        if interrupt.asked.load(Ordering::Relaxed) {
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

/// Gives the child what it is handed, a line each time that it may go on, and closes the pipe where it waits no more. A
/// pipe holds less than a plan may have, so a thread writes; a trial that is gone needs nothing.
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

/// SIGTERM, time to put things back, then SIGKILL; and no more time when that is wanted at once.
fn stop(child: &mut Child, grace: Duration, at_once: &AtomicBool) -> io::Result<()> {
    // Already gone is as good as told.
    let _ = kill_process(Pid::from_child(child), Signal::TERM);
    let deadline = Instant::now() + grace;
    // One that is stopped (SIGSTOP, Ctrl-Z) hears nothing, however long it is waited for.
    while Instant::now() < deadline && !at_once.load(Ordering::Relaxed) && !is_stopped(child) {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill()?;
    child.wait()?;
    // It could put nothing back and stop no server: that falls to the one who ended it, before anything else is
    // measured.
    state::reap().map(drop).map_err(io::Error::other)
}

fn is_stopped(child: &Child) -> bool {
    let look = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(Pid::from_child(child)), look), Ok(Some(_)))
}
