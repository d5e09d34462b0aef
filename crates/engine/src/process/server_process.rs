//! The life of a server process: spawn, watch, stop, and reading its log.

use super::before_exec::{Before, before_exec, clean_environment};
use super::guard::{Guard, interrupted};
use super::process_tree::ProcessTree;
use crate::{Aslr, EngineError, StopOutcome};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, geteuid, kill_process, kill_process_group, pidfd_open,
    pidfd_send_signal, waitid,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};
use tare_cpuset::observe::proc_text;
use tare_files::LogFile;
use tare_results::schema::Outlived;

/// How often a process is checked during a wait.
const POLL: Duration = Duration::from_millis(5);
/// Time limit for a killed process that is not our child to end.
const GONE: Duration = Duration::from_secs(10);

pub(crate) struct Launch<'a> {
    pub program: &'a Path,
    pub arguments: Vec<OsString>,
    pub environment: &'a BTreeMap<String, String>,
    pub aslr: Option<Aslr>,
    pub preload: Option<&'a Path>,
    pub log: &'a LogFile,
    pub stop_policy: StopPolicy,
    /// Holds it and all that it starts. Must be new, and registered if a kill of this process must not lose it.
    pub tree: ProcessTree,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct StopPolicy {
    /// The signal that shuts it down cleanly.
    pub stop: Signal,
    pub refuses_root: bool,
}

impl Default for StopPolicy {
    fn default() -> Self {
        Self { stop: Signal::TERM, refuses_root: false }
    }
}

/// A running server process; killed when dropped, and by the kernel when the thread that spawned it ends.
///
/// The spawned process may be a lasting wrapper, such as mariadbd-safe: the server is the process that answers.
pub(crate) struct ServerProcess {
    child: Child,
    status: Option<ExitStatus>,
    /// The server, if the spawned process is only its wrapper.
    behind: Option<Behind>,
    log: LogFile,
    log_start: u64,
    /// Ends the server when this program is interrupted or when its log grows too large; stops watching when dropped.
    guard: Guard,
    stop_policy: StopPolicy,
    /// None after all of its processes have ended.
    tree: Option<ProcessTree>,
    outlived: Vec<Outlived>,
}

/// A process that is not our child: the pidfd never refers to another one.
struct Behind {
    pid: u32,
    handle: OwnedFd,
}

impl Behind {
    fn is_alive(&self) -> bool {
        // Readable once the process has ended (pidfd_open(2)).
        let mut descriptors = [PollFd::new(&self.handle, PollFlags::IN)];
        matches!(poll(&mut descriptors, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(0))
    }

    fn signal(&self, signal: Signal) -> rustix::io::Result<()> {
        pidfd_send_signal(&self.handle, signal)
    }
}

impl ServerProcess {
    /// Starts the process with its output redirected to the log.
    pub(crate) fn spawn(launch: &Launch<'_>) -> Result<Self, EngineError> {
        let log_error = |source| EngineError::io("open the log", &launch.log.path(), source);
        let output = launch.log.append().map_err(|e| log_error(e.into()))?;
        let log_start = output.metadata().map_err(log_error)?.len();
        let mut command = Command::new(launch.program);
        clean_environment(&mut command);
        command
            .args(&launch.arguments)
            .envs(launch.environment)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(log_error)?)
            .stderr(output)
            // A process group of its own: Ctrl-C in the terminal reaches tare, which then stops the server cleanly.
            .process_group(0);
        if let Some(library) = launch.preload {
            command.env("LD_PRELOAD", library);
        }
        let hide_root = launch.stop_policy.refuses_root && geteuid().is_root();
        let groups = launch.tree.begin(&mut command).map_err(|source| {
            launch.tree.end();
            EngineError::io("enter the group that limits", launch.program, source)
        })?;
        before_exec(&mut command, Before { aslr: launch.aslr, hide_root, groups });
        let child = command.spawn().map_err(|source| {
            launch.tree.end();
            match Errno::from_io_error(&source) {
                // Of unshare(2), also where user.max_user_namespaces is 0, and of writing uid_map.
                Some(Errno::PERM | Errno::ACCESS | Errno::NOSPC | Errno::USERS | Errno::NOSYS | Errno::INVAL)
                    if hide_root =>
                {
                    no_namespace(launch.program, &source)
                }
                _ => EngineError::io("run", launch.program, source),
            }
        })?;
        let guard = Guard::start(launch.log, log_start, &child, launch.tree.clone());
        Ok(Self {
            child,
            status: None,
            behind: None,
            log: launch.log.clone(),
            log_start,
            guard,
            stop_policy: launch.stop_policy,
            tree: Some(launch.tree.clone()),
            outlived: Vec::new(),
        })
    }

    /// The process id of the server: of the spawned process, or of the one that answers behind it.
    pub(crate) fn pid(&self) -> u32 {
        self.behind.as_ref().map_or(self.child.id(), |behind| behind.pid)
    }

    /// Records that process `answering` is the server, and the spawned process only its wrapper.
    pub(crate) fn adopt(&mut self, answering: u32) -> Result<(), EngineError> {
        let gone = |source| EngineError::io("watch the server", Path::new(&format!("/proc/{answering}")), source);
        let pid = Pid::from_raw(answering.cast_signed()).ok_or_else(|| gone(io::ErrorKind::NotFound.into()))?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|e| gone(e.into()))?;
        self.guard.also(&handle);
        self.behind = Some(Behind { pid: answering, handle });
        Ok(())
    }

    /// Whether it still runs; also collects its exit status if it does not.
    pub(crate) fn is_alive(&mut self) -> bool {
        matches!(self.ended(), Ok(None)) && self.behind.as_ref().is_none_or(Behind::is_alive)
    }

    pub(crate) fn exit_status(&mut self) -> Option<String> {
        self.ended().ok().flatten().map(|status| status.to_string())
    }

    pub(crate) fn status(&mut self) -> String {
        match self.ended() {
            Ok(Some(status)) => match self.lack_of_memory() {
                Some(why) => format!("{status}: {why}"),
                None => status.to_string(),
            },
            Ok(None) => "still running".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// That a limit of its memory was reached; only as long as it has not been ended.
    pub(crate) fn lack_of_memory(&self) -> Option<String> {
        self.tree.as_ref()?.lack_of_memory()
    }

    /// Sends the shutdown signal, then SIGKILL when `timeout` has expired.
    pub(crate) fn stop(&mut self, timeout: Duration) -> Result<StopOutcome, EngineError> {
        if !self.is_alive() {
            self.kill();
            return Ok(StopOutcome::AlreadyGone);
        }
        let sent = match &self.behind {
            Some(behind) => behind.signal(self.stop_policy.stop),
            // The child has not been waited for, so its number cannot belong to another process.
            None => kill_process(Pid::from_child(&self.child), self.stop_policy.stop),
        };
        match sent {
            // It has ended already, which is the purpose of the signal.
            Ok(()) | Err(Errno::SRCH) => {}
            // Without the signal there is no shutdown to wait for.
            Err(source) => return Err(EngineError::Unstoppable { pid: self.pid(), source: source.into() }),
        }
        let outcome = if self.wait(timeout)? { StopOutcome::Graceful } else { StopOutcome::Killed };
        if outcome == StopOutcome::Graceful {
            self.note_outliving();
        }
        self.kill();
        Ok(outcome)
    }

    /// Waits until the server ends; false if it has not ended after `timeout`, or if this program is interrupted.
    pub(crate) fn wait(&mut self, timeout: Duration) -> Result<bool, EngineError> {
        let deadline = Instant::now() + timeout;
        loop {
            let ended =
                self.ended().map_err(|source| EngineError::io("wait for the server of", &self.log.path(), source))?;
            if self.behind.as_ref().map_or(ended.is_some(), |behind| !behind.is_alive()) {
                return Ok(true);
            }
            if Instant::now() >= deadline || interrupted() {
                return Ok(false);
            }
            sleep(POLL);
        }
    }

    /// Whether it ended by itself and successfully.
    pub(crate) fn succeeded(&mut self) -> bool {
        matches!(self.ended(), Ok(Some(status)) if status.success())
    }

    /// Processes that the server had started and that still ran after its clean shutdown; they were ended then.
    pub(crate) fn outlived(&self) -> &[Outlived] {
        &self.outlived
    }

    pub(crate) fn log_text(&self) -> String {
        self.guard.settle();
        log_since(&self.log, self.log_start)
    }

    pub(crate) fn log_tail(&self, lines: usize) -> Vec<String> {
        self.guard.settle();
        log_tail(&self.log, self.log_start, lines)
    }

    pub(crate) fn log_path(&self) -> PathBuf {
        self.log.path()
    }

    /// The exit status of the spawned process, if it has ended. Also ends what remains of its process group.
    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_some() {
            return Ok(self.status);
        }
        let child = Pid::from_child(&self.child);
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if waitid(WaitId::Pid(child), look)?.is_none() {
            return Ok(None);
        }
        // Before it is waited for: until then the number of its group cannot be reused.
        let _ = kill_process_group(child, Signal::KILL);
        self.status = Some(self.child.wait()?);
        Ok(self.status)
    }

    /// Looks for processes that outlive the server, and also notes them in the log.
    fn note_outliving(&mut self) {
        let Some(tree) = &self.tree else { return };
        self.outlived = tree.outliving(Pid::from_child(&self.child).as_raw_nonzero().get());
        let add = || -> io::Result<()> {
            let mut log = self.log.append()?;
            self.outlived.iter().try_for_each(|Outlived { pid, name }| {
                writeln!(log, "tare: process {pid} ({name}), which the server had started, outlived it and was ended")
            })
        };
        // An error is ignored: the record contains them as well.
        let _ = add();
    }

    /// Ends the process and everything that it started: the wrapper first, or it would restart the server.
    fn kill(&mut self) {
        if matches!(self.ended(), Ok(None)) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            match self.child.kill() {
                Ok(()) => self.status = self.child.wait().ok(),
                // Its control group may still end it; otherwise it ends with the thread that started it.
                Err(_) => drop(self.tree.as_ref().map(ProcessTree::kill)),
            }
        }
        if let Some(behind) = &self.behind
            && behind.signal(Signal::KILL).is_ok()
        {
            let deadline = Instant::now() + GONE;
            while behind.is_alive() && Instant::now() < deadline {
                sleep(POLL);
            }
        }
        if let Some(tree) = self.tree.take() {
            tree.end();
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
    }
}

fn no_namespace(program: &Path, source: &io::Error) -> EngineError {
    let reason = format!(
        "refuses to run as root, and this system creates no user namespace in which it would not be root ({source}): \
         run tare as an ordinary user; with Docker, docker run --user NAME, or --security-opt seccomp=unconfined"
    );
    EngineError::BinaryUnusable { path: program.to_owned(), reason }
}

/// Checks that the running process has `library` mapped: the loader only warns if it cannot load one.
pub(crate) fn verify_preload(pid: u32, library: &Path) -> Result<(), EngineError> {
    let path = format!("/proc/{pid}/maps");
    let maps = proc_text(&path).map_err(|source| EngineError::io("read", path.as_ref(), source))?;
    let real = fs::canonicalize(library).unwrap_or_else(|_| library.to_owned());
    if maps.lines().any(|line| line.ends_with(&*real.to_string_lossy())) {
        return Ok(());
    }
    let requested = library.display().to_string();
    Err(EngineError::NotInEffect { setting: "allocator", requested, found: "the library is not mapped".to_owned() })
}

/// Limit on how much of a log is read, bytes.
const READ_BYTES: u64 = 256 * 1024;

/// Log text since byte `from`, only the end if it is long; empty if there is no log.
fn log_since(log: &LogFile, from: u64) -> String {
    let Ok(Some(mut file)) = log.read() else { return String::new() };
    let length = file.metadata().map(|m| m.len()).unwrap_or(0);
    let start = from.max(length.saturating_sub(READ_BYTES));
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(start)).is_err() || file.take(READ_BYTES).read_to_end(&mut bytes).is_err() {
        return String::new();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last `lines` lines since byte `from`.
pub(crate) fn log_tail(log: &LogFile, from: u64, lines: usize) -> Vec<String> {
    let text = log_since(log, from);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
#[path = "server_process_tests.rs"]
mod tests;
