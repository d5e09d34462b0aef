//! Converts typed errors of the modules to [`Problem`]: the exit code of each, and what the user can do about it.

use super::{Exit, Problem, trust};
use crate::config::ConfigError;
use crate::run::{Failure, RunError};
use crate::state::{self, StateError};
use crate::trial::TrialError;
use std::io::ErrorKind;
use std::path::Path;
use tare_cpuset::{to_raise, to_raise_for_files, to_raise_for_low_limits, to_raise_for_tasks};
use tare_drive::sut::SutError;
use tare_drive::workload::LoadError;
use tare_engine::{Code, Engine, EngineError, Mariadb, Postgresql, Scarce, SqlError};
use tare_files::FilesError;
use tare_noise::NoiseError;
use tare_results::ReadError;
use tare_results::store::DirectoryError;
use tare_study::language::document::StudyError;
use tare_study::plan::task::{OtherMachine, TaskError};
use tare_topology::MachineError;

impl Problem {
    /// If a limit was reached, the advice is what to raise, whatever the work was that needed more.
    pub(crate) fn raised(self, to_raise: Option<String>) -> Self {
        match to_raise {
            Some(raise) => Self { exit: Exit::Machine, expected: None, ..self }.advice(raise),
            None => self,
        }
    }
}

/// Whether a directory contains the state or the cache of this user.
fn holds_own(path: &Path) -> bool {
    let own = [state::directory().ok(), state::cache_directory().ok()];
    let own = own.into_iter().flatten().filter_map(|own| own.canonicalize().ok());
    path.canonicalize().is_ok_and(|path| own.into_iter().any(|own| own.starts_with(&path)))
}

impl From<StudyError> for Problem {
    fn from(e: StudyError) -> Self {
        let place = if e.line == 0 { e.origin } else { format!("{}:{}:{}", e.origin, e.line, e.column) };
        let near = e.nearest.map(|near| format!("did you mean `{near}`?"));
        Self::new(Exit::Usage, e.what).at(place).expected(e.expected).advised(near)
    }
}

impl From<ConfigError> for Problem {
    fn from(e: ConfigError) -> Self {
        match e {
            ConfigError::Files(e) => Self::new(Exit::Machine, e.to_string()).advice(
                "the configuration names programs that run as you: other users must not be able to write to it",
            ),
            ConfigError::Wrong(e) => e.into(),
        }
    }
}

impl From<MachineError> for Problem {
    fn from(e: MachineError) -> Self {
        let raise = to_raise(&e);
        let exit = match e {
            MachineError::Synthetic { .. }
            | MachineError::XmlUnreadable { .. }
            | MachineError::XmlInvalid { .. }
            | MachineError::XmlTooNew { .. }
            | MachineError::TooManyPus { .. }
            | MachineError::Reader { .. } => Exit::Usage,
            _ => Exit::Machine,
        };
        let advice = match e {
            MachineError::Synthetic { .. } => Some(
                "name the parts from the outermost to the innermost, each with its number in the part before it, such \
                 as \"package:2 node:1 core:6 pu:2\"",
            ),
            MachineError::XmlUnreadable { .. } | MachineError::XmlInvalid { .. } => {
                Some("write the file on the machine that it describes: lstopo machine.xml")
            }
            _ => None,
        };
        Self::new(exit, e.to_string()).advised(advice).raised(raise)
    }
}

impl From<FilesError> for Problem {
    fn from(e: FilesError) -> Self {
        DirectoryError::from(e).into()
    }
}

impl From<DirectoryError> for Problem {
    fn from(e: DirectoryError) -> Self {
        let raise = to_raise(&e);
        let (exit, advice) = match e {
            DirectoryError::Read(e) => {
                let is_missing = matches!(&e, ReadError::Io { source, .. } if source.kind() == ErrorKind::NotFound);
                let problem = Self::from(e);
                // A table of results cannot be resumed or removed.
                return if is_missing { problem.expected("a results directory") } else { problem };
            }
            DirectoryError::File(e) if e.is_of_others() => return trust::refused(&e),
            DirectoryError::Io { ref source, .. } if source.kind() == ErrorKind::NotADirectory => {
                (Exit::Usage, "name a directory, or a path where one can be created")
            }
            DirectoryError::Io { doing: "read" | "open", ref source, .. } if source.kind() == ErrorKind::NotFound => {
                (Exit::Usage, "name one that exists")
            }
            DirectoryError::Io { doing: "read" | "open", ref source, .. }
                if source.kind() == ErrorKind::PermissionDenied =>
            {
                (Exit::Usage, "fix the permissions, or name another directory")
            }
            DirectoryError::Io { doing: "read", .. } => (Exit::Usage, "check the disk, or name another directory"),
            DirectoryError::Io { ref source, .. }
                if matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                (Exit::Machine, "name a directory that you may write to: --out DIR")
            }
            DirectoryError::Io { .. } => (Exit::Machine, "make room, fix the permissions, or choose another --out"),
            DirectoryError::NotEmpty(ref path) if holds_own(path) => (
                Exit::Usage,
                "it contains tare's own state or cache: choose another --out, or another place for these \
                 (TARE_STATE_DIR, TARE_CACHE_DIR)",
            ),
            DirectoryError::NotEmpty(_) => (
                Exit::Usage,
                "choose another --out, or resume what is there with tare run --resume (if ab, find, bisect or reproduce \
                 began it, with --resume of that command)",
            ),
            DirectoryError::WouldLose { .. } => {
                (Exit::Usage, "name every folder that the earlier merge was made of, or choose another --out")
            }
            DirectoryError::Busy(_) => (Exit::Usage, "wait for it to end, or choose another directory"),
            DirectoryError::NotResults { .. } => (Exit::Usage, "name a directory that `tare run` has made"),
            DirectoryError::File(FilesError::WrongKind { .. }) => return Self::new(Exit::Usage, e.to_string()),
            DirectoryError::File(_) => (Exit::Usage, "check what it is, then remove it, or name another directory"),
            DirectoryError::RecordTooLong { .. } => (Exit::Usage, "lower sampling.samples"),
            DirectoryError::OutOfRange { .. } => (Exit::Usage, "make the study smaller, or split it"),
            DirectoryError::BadWriter(_) => (Exit::Usage, "name it with letters and digits"),
        };
        Self::new(exit, e.to_string()).advice(advice).raised(raise)
    }
}

impl From<StateError> for Problem {
    fn from(e: StateError) -> Self {
        let raise = to_raise(&e);
        let problem = match e {
            StateError::Noise(e) => e.into(),
            StateError::Files(ref files) => Self::new(Exit::Machine, e.to_string()).advised(own_folders(files)),
            StateError::Leftovers(_) => {
                Self::new(Exit::Machine, e.to_string()).advice("remove this cause, then run: tare restore")
            }
            StateError::NoCache | StateError::NotUtf8(_) | StateError::Proc(_) => {
                Self::new(Exit::Machine, e.to_string())
            }
        };
        problem.raised(raise)
    }
}

impl From<NoiseError> for Problem {
    fn from(e: NoiseError) -> Self {
        let raise = to_raise(&e);
        let advice = match &e {
            NoiseError::Locked { .. } => Some(
                "with --wait, run, ab and find start when it ends; two runs at the same time would disturb each other",
            ),
            NoiseError::Write { action: "create", path, .. } if path.extension().is_some_and(|end| end == "lock") => {
                Some(OWN_FOLDERS)
            }
            NoiseError::Files(files) => own_folders(files),
            _ => None,
        };
        Self::new(Exit::Machine, e.to_string()).advised(advice).raised(raise)
    }
}

const OWN_FOLDERS: &str =
    "set TARE_STATE_DIR, TARE_CACHE_DIR and TARE_LOCK_DIR to folders of your own in which files can be created";

/// What to do if a folder of this program's own cannot be created, as where the root file system is read-only.
fn own_folders(e: &FilesError) -> Option<&'static str> {
    let kind = e.source_kind();
    matches!(kind, Some(ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)).then_some(OWN_FOLDERS)
}

const NO_PLACE: &str = "set XDG_RUNTIME_DIR or TMPDIR to an existing folder of your own whose path is short and UTF-8";
const NO_WRITING: &str = "make this file system writable, or name another folder: TARE_STATE_DIR, for sockets \
                          XDG_RUNTIME_DIR or TMPDIR";
const NO_ADDRESS: &str = "name it: --socket PATH, or --host HOST and --port PORT (in a study under [engine]), or set \
    it where the server's own client looks";
const NO_SERVER: &str = "start the server, or name its address: --socket PATH, or --host HOST and --port PORT (in a \
                         study under [engine])";
const NO_DATABASE: &str =
    "create it with the server's own client, or name another one: --database NAME (in a study: engine.database)";
const DENIED: &str = "grant the account the rights to it, or name another database or account: --database NAME, --user \
                      USER (in a study: engine.database, engine.user)";
const TOO_MANY: &str = "raise the server's limit of connections, or lower --threads (in a study: workload.threads)";
const NO_THREAD: &str = "raise what limits the server's threads: TasksMax= of its unit, pids.max of its control group, \
                         ulimit -u of its user, kernel.threads-max";
const EMBEDDED: &str = "tare load needs a running server, and SQLite has none: `tare run --engine sqlite` \
                        starts one of its own";

fn is_read_only(error: &EngineError) -> bool {
    matches!(error, EngineError::Io { source, .. } if source.kind() == ErrorKind::ReadOnlyFilesystem)
}

/// What to do if a server refuses the account: only PostgreSQL's errors have an SQLSTATE instead of a number.
fn login(refused: &EngineError) -> String {
    let is_postgresql =
        matches!(refused, EngineError::Connect { source: SqlError { code: Some(Code::State(_)), .. }, .. });
    let engine: &dyn Engine = if is_postgresql { &Postgresql } else { &Mariadb };
    let file = engine.password_file().unwrap_or_default();
    format!(
        "give the account's password: TARE_PASSWORD, --ask-password (run, load) or {file}; another account: --user USER \
         (in a study: engine.user)"
    )
}

impl From<EngineError> for Problem {
    fn from(e: EngineError) -> Self {
        let raise = to_raise(&e);
        let (exit, advice) = match &e {
            EngineError::OptionRefused { option, .. } => {
                (Exit::Usage, Some(format!("correct or remove {option} under [engine.options] or in the factor")))
            }
            EngineError::DiskFull { .. } => {
                (Exit::Machine, Some("free disk space, or set TARE_CACHE_DIR to a directory with more".to_owned()))
            }
            EngineError::NoPlace(inner) if is_read_only(inner) => (Exit::Machine, Some(NO_WRITING.to_owned())),
            EngineError::NoPlace(_) | EngineError::SocketPathTooLong { .. } => {
                (Exit::Machine, Some(NO_PLACE.to_owned()))
            }
            e if e.is_disk_error() => {
                (Exit::Machine, Some("look for errors of the disk (dmesg), repair it".to_owned()))
            }
            e if is_read_only(e) => (Exit::Machine, Some("make this file system writable".to_owned())),
            EngineError::Interrupted => (Exit::Interrupted, None),
            EngineError::NoAddress { sources, .. } => {
                // As without a server at a named address; an engine without a server has none to name.
                sources.map_or_else(
                    || (Exit::Usage, Some(EMBEDDED.to_owned())),
                    |own| (Exit::Machine, Some(format!("{NO_ADDRESS}: {own}"))),
                )
            }
            EngineError::OtherProduct { its_own, .. } => {
                (Exit::Usage, Some(format!("use --engine {its_own} (in a study: engine.name)")))
            }
            EngineError::NoServer { .. } => (Exit::Machine, Some(NO_SERVER.to_owned())),
            EngineError::Refused { scarce: Scarce::Task, .. } => (Exit::Machine, Some(to_raise_for_tasks())),
            EngineError::Refused { scarce: Scarce::File, .. } => (Exit::Machine, to_raise_for_files()),
            e if e.is_login_refused() => (Exit::Machine, Some(login(e))),
            e if e.is_database_denied() => (Exit::Machine, Some(DENIED.to_owned())),
            e if e.has_too_many_connections() => (Exit::Machine, Some(TOO_MANY.to_owned())),
            e if e.is_refused_by_system() => (Exit::Machine, Some(NO_THREAD.to_owned())),
            e if e.is_no_database() => (Exit::Machine, Some(NO_DATABASE.to_owned())),
            _ => (Exit::Machine, to_raise_for_low_limits()),
        };
        Self::new(exit, e.to_string()).advised(advice).raised(raise)
    }
}

impl From<RunError> for Problem {
    fn from(e: RunError) -> Self {
        match e {
            RunError::Directory(e) => e.into(),
            RunError::Spawn(ref source) => Self::new(Exit::Machine, e.to_string())
                .advice("free memory, or raise the limit of processes (ulimit -u)")
                .raised(to_raise(source)),
            RunError::Task(e) => e.into(),
            RunError::SameReason { .. } => Self::new(Exit::TrialFailed, e.to_string()),
            RunError::Stopped(failure) | RunError::Running(failure) => failure.into(),
            RunError::Prepare(failure) => {
                let what = format!("cannot prepare the data: {}", failure.what);
                Failure { what, ..failure }.into()
            }
        }
    }
}

/// An error of a child process, as the child reported it.
impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        let Failure { what, place, expected, advice, exit_code } = failure;
        let exit = if exit_code == Exit::Usage as u8 { Exit::Usage } else { Exit::Machine };
        Self { what, place, expected, advice, exit }
    }
}

impl From<TaskError> for Problem {
    fn from(e: TaskError) -> Self {
        // The other errors are of a plan that was damaged, or written by another version.
        let advice =
            "the finished trials can be shown (tare show); to measure more, run the study again from the start";
        Self::new(Exit::Usage, e.to_string()).advice(advice)
    }
}

impl From<OtherMachine> for Problem {
    fn from(e: OtherMachine) -> Self {
        Self::new(Exit::Machine, e.to_string())
            .advice("resume it on the machine as it was, or begin a new run here with the study.toml in its folder")
    }
}

impl From<LoadError> for Problem {
    fn from(e: LoadError) -> Self {
        let raise = to_raise(&e);
        let problem = match e {
            LoadError::Interrupted => Self::new(Exit::Interrupted, e.to_string()),
            LoadError::Engine(e) => e.into(),
            LoadError::SystemUnderTest(SutError::Place(_)) => {
                Self::new(Exit::Machine, e.to_string()).advice("run tare as the server's user, or as root")
            }
            LoadError::SystemUnderTest(_) | LoadError::NoServer | LoadError::Limit { .. } => {
                Self::new(Exit::Machine, e.to_string())
            }
            LoadError::Generator(_) => Self::new(Exit::Usage, e.to_string()),
            LoadError::Own(_) | LoadError::Ended(_) | LoadError::NotResident { .. } => {
                Self::new(Exit::TrialFailed, e.to_string())
            }
        };
        problem.raised(raise)
    }
}

impl From<TrialError> for Problem {
    fn from(e: TrialError) -> Self {
        let raise = e.to_raise();
        let problem: Self = match e {
            TrialError::Directory(e) => e.into(),
            TrialError::Files(e) => e.into(),
            TrialError::Machine(e) => e.into(),
            TrialError::State(e) => e.into(),
            TrialError::Engine(e) => e.into(),
            TrialError::ServerGone(_) => Self::new(Exit::Machine, e.to_string()).advice("start the server"),
            TrialError::Task(e) => e.into(),
            TrialError::OtherMachine(e) => e.into(),
            TrialError::Load(e @ (LoadError::Engine(_) | LoadError::Generator(_) | LoadError::SystemUnderTest(_))) => {
                e.into()
            }
            other => Self::new(Exit::Machine, other.to_string()),
        };
        problem.raised(raise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    use tare_engine::{SqlErrorKind, SqlState};

    #[test]
    fn a_server_that_is_not_found_has_one_exit_code_with_an_address_and_without() {
        let exit = |error: EngineError| Problem::from(error).exit;
        let missing = |sources| EngineError::NoAddress { engine: "mariadb", sources, searched: Vec::new() };
        assert_eq!(exit(missing(Some("~/.my.cnf"))), Exit::Machine);
        assert_eq!(exit(EngineError::NoServer { address: "s".to_owned(), reason: "" }), Exit::Machine);
        assert_eq!(exit(missing(None)), Exit::Usage, "an engine without a server");
    }

    #[test]
    fn an_error_without_advice_names_a_low_limit_of_open_files() {
        let before = getrlimit(Resource::Nofile);
        let advice = |limit: u64| {
            setrlimit(Resource::Nofile, Rlimit { current: Some(limit), ..before }).unwrap();
            let source = SqlError { kind: SqlErrorKind::Lost, code: None, message: String::new() };
            Problem::from(EngineError::Connect { address: "s".to_owned(), source }).advice
        };
        assert!(advice(100).unwrap().contains("RLIMIT_NOFILE"));
        assert_eq!(advice(4096), None);
    }

    #[test]
    fn a_refused_account_is_sent_to_the_password_file_of_its_engine() {
        let advice = |code| {
            let source = SqlError { kind: SqlErrorKind::Other, code: Some(code), message: String::new() };
            let error = EngineError::Connect { address: "s".to_owned(), source };
            Problem::from(error).advice.unwrap_or_default()
        };
        let postgresql = advice(Code::State(SqlState::new(b"28P01").unwrap()));
        assert!(postgresql.contains("~/.pgpass") && !postgresql.contains("my.cnf"), "{postgresql}");
        let mariadb = advice(Code::Number(1045));
        assert!(mariadb.contains("~/.my.cnf") && !mariadb.contains("pgpass"), "{mariadb}");
    }
}
