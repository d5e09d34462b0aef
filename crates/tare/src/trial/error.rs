//! Why a trial has no result: its error, whether its server has died, and whether the kernel killed a process for lack
//! of memory.

use crate::state::StateError;
use rustix::process::{Resource, getrlimit};
use std::error::Error;
use std::io::{self, ErrorKind};
use std::iter::successors;
use std::path::Path;
use std::time::{Duration, Instant};
use tare_cpuset::to_raise;
use tare_drive::workload::LoadError;
use tare_engine::{EngineError, Server, SqlError, SqlErrorKind};
use tare_files::NoRoom;
use tare_noise::{NoiseError, OomKills};
use tare_results::store::DirectoryError;
use tare_study::hosts::HostError;
use tare_study::plan::task::{OtherMachine, TaskError};
use tare_topology::MachineError;
use tare_topology::bind::BindError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum TrialError {
    /// The results directory: no record could be written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    #[error(transparent)]
    Files(#[from] tare_files::FilesError),
    /// The plan has no such trial, or contains something that this program cannot read.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// This machine is no longer the one that the plan was made for.
    #[error(transparent)]
    OtherMachine(#[from] OtherMachine),
    #[error(transparent)]
    Host(#[from] HostError),
    /// The clients' host is no longer the one that the plan was made for.
    #[error("on client.host {host}: {changed}")]
    OtherClientHost { host: String, changed: OtherMachine },
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("the running server of this study cannot be reached: {0}")]
    ServerGone(EngineError),
    /// A property of the server process can no longer be obtained.
    #[error("{0}")]
    Process(String),
    /// The load failed, or a thread was not on its CPUs.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The results directory has no room for the files of this trial.
    #[error(transparent)]
    NoRoom(#[from] NoRoom),
    /// A sample has no result: a throughput of 0, or a metric that is not a number or has an impossible value.
    #[error("sample {sample} has no result: {metric} is {value:?}; the trial's logs may have the cause")]
    NoResult { sample: usize, metric: String, value: f64 },
    /// The samples of one trial are from different client programs.
    #[error("the client's program file was replaced between two samples: do not change it during a run")]
    ClientExchanged,
    #[error("the server died ({ended}): {reason}\n{tail}")]
    ServerDied { ended: String, reason: String, tail: String },
}

impl TrialError {
    /// Whether the run has ended, so that no one counts the attempts of this trial.
    pub(crate) fn is_orphaned(&self) -> bool {
        matches!(self, Self::State(StateError::Noise(NoiseError::NotParentsLock { .. })))
    }

    /// Whether no trial can be run here now: a disk is full or read-only, a folder of this program's own cannot be
    /// used, the system refuses files, threads or processes, or the running server is gone.
    pub(crate) fn stops_run(&self) -> bool {
        let is_refused = self.first_cause().downcast_ref().is_some_and(EngineError::is_refused_by_system);
        let is_gone = matches!(self, Self::ServerGone(_));
        self.cannot_write() || self.lacks_place() || self.to_raise().is_some() || is_refused || is_gone
    }

    /// Names the place of the data if their server reported a full disk: its own message has a path below it at most.
    fn with_place(self, data: &Path) -> Self {
        let reports = |sql: &SqlError| sql.kind == SqlErrorKind::DiskFull;
        let is_full = self.causes().any(|error| error.downcast_ref().is_some_and(reports));
        if is_full { EngineError::DiskFull { place: data.to_owned(), detail: self.to_string() }.into() } else { self }
    }

    fn lacks_place(&self) -> bool {
        let engine = self.first_cause().downcast_ref();
        matches!(self, Self::State(state) if state.lacks_place())
            || matches!(engine, Some(EngineError::NoPlace(_) | EngineError::SocketPathTooLong { .. }))
    }

    /// What to raise if a limit was reached.
    pub(crate) fn to_raise(&self) -> Option<String> {
        to_raise(self.first_cause())
    }

    fn first_cause(&self) -> &(dyn Error + 'static) {
        match self {
            // A transparent error does not return the inner error as its source.
            Self::Load(LoadError::Own(own) | LoadError::Ended(own)) => own.as_ref(),
            Self::Load(LoadError::Engine(engine)) | Self::Engine(engine) | Self::ServerGone(engine) => engine,
            other => other,
        }
    }

    fn causes(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        successors(Some(self.first_cause()), |&error| error.source())
    }

    /// Whether the copy of the data, the server, a log or the record cannot be written: there is no room left, the file
    /// system has become read-only, or the disk reports errors.
    fn cannot_write(&self) -> bool {
        match self {
            Self::NoRoom(_) => return true,
            // A setting that this machine does not let tare write belongs to the condition.
            Self::State(StateError::Noise(NoiseError::Write { source, .. })) if is_read_only(source) => return false,
            _ => {}
        }
        self.causes().any(|error| {
            let engine = error.downcast_ref::<EngineError>();
            let sql = error.downcast_ref::<SqlError>();
            let io = error.downcast_ref::<io::Error>();
            matches!(engine, Some(EngineError::DiskFull { .. }))
                || engine.is_some_and(EngineError::is_disk_error)
                || sql.is_some_and(|sql| sql.kind == SqlErrorKind::DiskFull)
                || io.is_some_and(|io| is_full(io) || is_read_only(io))
        })
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(
            self,
            Self::Load(LoadError::Interrupted | LoadError::Engine(EngineError::Interrupted))
                | Self::Host(HostError::Interrupted)
                | Self::Engine(EngineError::Interrupted)
        )
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
}

fn is_read_only(error: &io::Error) -> bool {
    error.kind() == ErrorKind::ReadOnlyFilesystem
}

/// How much later than its connections the process of a server may end.
pub(super) const END_AFTER_CONNECTIONS: Duration = Duration::from_secs(2);
/// How often to check whether it has ended, and a restarted one answers.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// When a record was begun, and how many processes the kernel had killed for lack of memory then.
pub(super) struct Began {
    pub(super) clock: Instant,
    memory: Option<OomKills>,
}

impl Began {
    pub(super) fn now() -> Self {
        Self { clock: Instant::now(), memory: OomKills::here() }
    }

    /// The reason of a failure. Server and clients are in the control group of the trial, unless the study limits the
    /// server's memory.
    pub(super) fn reason(&self, error: &TrialError) -> String {
        match self.memory.as_ref().and_then(OomKills::since) {
            Some(why) => format!("{error}\n{why}"),
            None => error.to_string(),
        }
    }
}

/// The error of a load on a server that tare started.
pub(super) fn server_error(error: LoadError, server: &mut dyn Server) -> TrialError {
    match error {
        // On an interruption or a timeout, the server is killed as well.
        e @ (LoadError::Interrupted | LoadError::Ended(_)) => e.into(),
        e => {
            let starved = server.lack_of_memory();
            // Only the log of a server that died says why. PostgreSQL survives the end of one of its processes.
            if starved.is_none() && survives(&e, server) {
                let error = TrialError::from(e);
                return if server.is_ours() { error.with_place(server.data()) } else { error };
            }
            let limited = |s| format!("{e}; here a process that uses {s} s of CPU time is ended (ulimit -t)");
            let (reason, otherwise) = match starved {
                Some(why) => (format!("{e}; {why}"), "one of its processes was killed"),
                None => {
                    (getrlimit(Resource::Cpu).current.map_or(e.to_string(), limited), "its exit status is not known")
                }
            };
            let ended = server.exit_status().unwrap_or_else(|| otherwise.to_owned());
            TrialError::ServerDied { ended, reason, tail: server.log_tail(12).join("\n") }
        }
    }
}

/// The connections of a server that dies are closed before its process has ended.
fn survives(error: &LoadError, server: &mut dyn Server) -> bool {
    let until = Instant::now() + if error.is_connection_lost() { END_AFTER_CONNECTIONS } else { Duration::ZERO };
    loop {
        match server.is_alive() {
            true if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            alive => return alive,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use std::path::PathBuf;

    #[test]
    fn what_would_fail_every_trial_stops_the_run_and_what_a_condition_asks_for_does_not() {
        let (path, io) = (PathBuf::from("/x"), |kind: ErrorKind| io::Error::from(kind));
        let limit = Rlimit { current: Some(1 << 40), ..getrlimit(Resource::Fsize) };
        setrlimit(Resource::Fsize, limit).unwrap();
        let engine = |kind| EngineError::Io { what: "copy data to", path: path.clone(), source: io(kind) };
        let file = |kind| tare_files::FilesError::Io { doing: "write to", path: path.clone(), source: io(kind) };
        let setting = |kind| NoiseError::Write { action: "write", path: path.clone(), source: io(kind) };
        let read_only = ErrorKind::ReadOnlyFilesystem;
        for (error, stops) in [
            (engine(read_only).into(), true),
            (engine(ErrorKind::StorageFull).into(), true),
            (engine(ErrorKind::NotFound).into(), false),
            (EngineError::Io { what: "copy data to", path: path.clone(), source: Errno::FBIG.into() }.into(), true),
            (EngineError::Io { what: "copy data to", path: path.clone(), source: Errno::IO.into() }.into(), true),
            (EngineError::NoPlace(Box::new(engine(ErrorKind::NotFound))).into(), true),
            (LoadError::Engine(EngineError::NoPlace(Box::new(engine(ErrorKind::NotFound)))).into(), true),
            (EngineError::SocketPathTooLong { path: path.clone(), length: 108, limit: 107 }.into(), true),
            (StateError::Files(file(ErrorKind::PermissionDenied)).into(), true),
            (StateError::Noise(file(read_only).into()).into(), true),
            (StateError::Noise(setting(read_only)).into(), false),
            (StateError::Noise(setting(ErrorKind::StorageFull)).into(), true),
        ] {
            let error: TrialError = error;
            assert_eq!(error.stops_run(), stops, "{error:?}");
        }
    }

    #[test]
    fn a_full_disk_that_a_server_reports_has_the_place_of_its_data() {
        let of = |kind| {
            let error = LoadError::Own(Box::new(SqlError::own(kind, "could not extend file base/1/2")));
            TrialError::from(error).with_place(Path::new("/data")).to_string()
        };
        let full = of(SqlErrorKind::DiskFull);
        assert!(full.contains("no space left on the file system of /data: could not extend file base/1/2"), "{full}");
        assert!(!of(SqlErrorKind::Other).contains("/data"));
    }
}
