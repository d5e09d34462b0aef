//! A server with everything that exists only as long as it runs.

use super::leftovers::Registration;
use super::peer;
use super::process_tree::ProcessTree;
use super::server_process::{Launch, ServerProcess, StopPolicy, verify_preload};
use crate::contract::diagnostics::Diagnostics;
use crate::contract::session::HANDSHAKE;
use crate::data::directories::{DataInUse, PrivateDirectory, leave_page_cache};
use crate::{
    ConnectTarget, DataDirectory, Engine, EngineError, PrepareRequest, Scarce, SelfReport, Server, Session,
    StartRequest, StopOutcome,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tare_cpuset::to_raise;
use tare_noise::MemoryConfines;
use tare_results::schema::Outlived;

pub(crate) const ERROR_LINES: usize = 20;
/// Pause between two attempts to connect during start.
const CONNECT_EVERY: Duration = Duration::from_millis(10);

/// The directories of a server that is about to be spawned, already registered for [`crate::reap_leftovers`].
pub(crate) struct ServerDirectories {
    data: DataInUse,
    run: PrivateDirectory,
    tree: ProcessTree,
    registration: Option<Registration>,
}

impl ServerDirectories {
    pub(crate) fn set_up(request: &StartRequest) -> Result<Self, EngineError> {
        let mut directories = vec![request.run_directory.clone()];
        if let DataDirectory::CopyOf { at, .. } = &request.data {
            directories.push(at.clone());
        }
        let tree = match &request.memory {
            none if *none == MemoryConfines::default() => ProcessTree::planned(),
            confines => ProcessTree::confined(confines).map_err(EngineError::MemoryConfines)?,
        };
        let tree = tree.limited(request.limits.clone());
        let registration = match &request.state_directory {
            Some(state) => Some(Registration::begin(state, directories, &tree).map_err(EngineError::of_place)?),
            None => None,
        };
        let run = PrivateDirectory::create(&request.run_directory).map_err(EngineError::of_place)?;
        let data = DataInUse::make(&request.data)?;
        if request.memory.limit_bytes.is_some() {
            leave_page_cache(data.path())?;
        }
        Ok(Self { data, run, tree, registration })
    }

    pub(crate) fn run(&self) -> &Path {
        self.run.path()
    }

    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }

    /// Starts `program` in these directories as `request` says.
    pub(crate) fn spawn(
        mut self,
        program: &Path,
        arguments: Vec<OsString>,
        environment: &BTreeMap<String, String>,
        request: &StartRequest,
        stop_policy: StopPolicy,
    ) -> Result<Instance, EngineError> {
        let process = ServerProcess::spawn(&Launch {
            program,
            arguments,
            environment,
            aslr: request.aslr,
            preload: request.allocator_preload.as_deref(),
            log: &request.log,
            stop_policy,
            tree: self.tree.clone(),
        })?;
        if let Some(registration) = &mut self.registration {
            registration.started(process.pid())?;
        }
        Ok(Instance { process, stage: Some(self) })
    }
}

/// A spawned server. Fields drop in order: the process ends, then its directories go, then its registration.
pub(crate) struct Instance {
    pub process: ServerProcess,
    stage: Option<ServerDirectories>,
}

impl Instance {
    /// Retries connecting until it succeeds, the process dies or the time limit expires. `explain` finds the reason
    /// in the log of a process that died or never answered.
    pub(crate) fn wait_ready<S>(
        &mut self,
        engine: &'static str,
        request: &StartRequest,
        socket: Option<&Path>,
        mut connect: impl FnMut() -> Result<S, EngineError>,
        explain: impl Fn(&str) -> Option<EngineError>,
    ) -> Result<S, EngineError> {
        let deadline = Instant::now() + request.start_timeout;
        loop {
            EngineError::unless_interrupted()?;
            let alive = self.process.is_alive();
            let began = Instant::now();
            let answer = connect();
            let late = Instant::now() >= deadline;
            let unanswered = answer.is_err() && began.elapsed() >= HANDSHAKE;
            let reason = match answer {
                Ok(_) if !alive => "a server answers, but the process that was started has ended".to_owned(),
                Ok(_) if late => "it answered only after the time limit for its start".to_owned(),
                Ok(session) => {
                    self.verify(request, socket)?;
                    return Ok(session);
                }
                // Waiting does not change these answers.
                Err(error) if alive && (error.is_login_refused() || error.is_refused_by_system()) => return Err(error),
                Err(error) if to_raise(&error).is_some() => return Err(error),
                Err(error) => error.to_string(),
            };
            // An interruption ended it: its last log lines are not the reason.
            EngineError::unless_interrupted()?;
            let over = !alive || late;
            // A server without a free descriptor leaves its clients waiting, and says so only in its log.
            if over || unanswered {
                let log = self.process.log_text();
                let explained = if over { explain(&log) } else { None };
                if let Some(explained) = explained.or_else(|| refused(engine, &log, self.process.log_path())) {
                    return Err(explained);
                }
            }
            if over {
                let (log, tail) = (self.process.log_path(), self.process.log_tail(ERROR_LINES));
                return Err(if alive {
                    EngineError::NotReady { engine, waited: request.start_timeout, reason, log, tail }
                } else {
                    EngineError::Died { engine, status: self.process.status(), log, tail }
                });
            }
            sleep(CONNECT_EVERY);
        }
    }

    /// Reads back what was requested of the process itself. It does so from the process that answers, which has
    /// called exec for the last time: a wrapper script may change any of it.
    fn verify(&mut self, request: &StartRequest, socket: Option<&Path>) -> Result<(), EngineError> {
        // No other user can listen there: the socket is in a fresh directory that only this user may enter.
        if let Some(answering) = socket.and_then(listener_pid).filter(|other| *other != self.process.pid()) {
            self.process.adopt(answering)?;
            if let Some(registration) = self.stage.as_mut().and_then(|stage| stage.registration.as_mut()) {
                registration.answered(answering)?;
            }
        }
        let pid = self.process.pid();
        if let Some(aslr) = request.aslr {
            aslr.verify(pid)?;
        }
        match &request.allocator_preload {
            Some(library) => verify_preload(pid, library),
            None => Ok(()),
        }
    }

    /// Ends the process, then removes its directories.
    pub(crate) fn stop(&mut self, timeout: Duration) -> Result<StopOutcome, EngineError> {
        let outcome = self.process.stop(timeout)?;
        self.stage = None;
        Ok(outcome)
    }
}

/// The error for a server whose log says what the system refused it. Locks of files are refused with the error number
/// of threads and processes.
fn refused(engine: &'static str, text: &str, log: PathBuf) -> Option<EngineError> {
    let (scarce, line) = text.lines().map(str::trim).find_map(|line| {
        let lower = line.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|words| lower.contains(words));
        // `what():` begins what C++ says of an exception that nothing catches, here std::thread's.
        let task = has(&["resource temporarily unavailable", "errno: 11)", "errno: 11 "])
            && has(&["thread", "fork", "what():"]);
        let file = || has(&["too many open files", "errno: 24)", "errcode: 24)", "insufficient file descriptors"]);
        let scarce = if task { Some(Scarce::Task) } else { file().then_some(Scarce::File) };
        scarce.map(|scarce| (scarce, line))
    })?;
    Some(EngineError::Refused { engine, scarce, line: line.to_owned(), log })
}

fn listener_pid(socket: &Path) -> Option<u32> {
    let listener = peer::listener(&UnixStream::connect(socket).ok()?)?;
    u32::try_from(listener).ok()
}

pub(crate) fn statement(session: &mut dyn Session, sql: &str) -> Result<u64, EngineError> {
    session.run(sql).map_err(|source| EngineError::Sql { statement: sql.to_owned(), source })
}

/// The rows of one of this program's own queries.
pub(crate) fn rows(session: &mut dyn Session, sql: &str) -> Result<Vec<Vec<Option<String>>>, EngineError> {
    session.query(sql).map_err(|source| EngineError::Sql { statement: sql.to_owned(), source })
}

/// The first value of the first row; none if there is no row, or if it is NULL.
pub(crate) fn single(session: &mut dyn Session, sql: &str) -> Result<Option<String>, EngineError> {
    Ok(rows(session, sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
}

/// 128 random bits from the kernel as hexadecimal digits.
pub(crate) fn random_password() -> Result<String, EngineError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0u8; 16];
    let read = File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| EngineError::io("read", source, error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A port that was free a moment ago; if another process takes it first, the server dies with an error about it.
pub(crate) fn free_port(at: IpAddr) -> Result<u16, EngineError> {
    let listener = TcpListener::bind((at, 0)).and_then(|listener| listener.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|e| EngineError::io("find a free port on", Path::new(&at.to_string()), e))
}

/// Runs an installer with the further arguments of the study, registered so that the next start finds it after a
/// kill. `explain` finds the reason of a failure in the log.
pub(crate) fn run_installer(
    name: &'static str,
    program: &Path,
    mut arguments: Vec<OsString>,
    environment: &BTreeMap<String, String>,
    stop_policy: StopPolicy,
    request: &PrepareRequest,
    explain: impl Fn(&str) -> Option<EngineError>,
) -> Result<(), EngineError> {
    arguments.extend(request.init_options.iter().map(OsString::from));
    let (log, tree) = (&request.log, ProcessTree::planned());
    let launch = Launch { program, arguments, environment, aslr: None, preload: None, log, stop_policy, tree };
    let state = request.state_directory.as_deref();
    let mut registration = state.map(|state| Registration::begin(state, Vec::new(), &launch.tree)).transpose()?;
    // Declared last, so dropped first: the registration lasts until all of its processes have ended.
    let mut process = ServerProcess::spawn(&launch)?;
    if let Some(registration) = &mut registration {
        registration.started(process.pid())?;
    }
    let ended = process.wait(request.timeout)?;
    EngineError::unless_interrupted()?;
    if ended && process.succeeded() {
        return Ok(());
    }
    let text = process.log_text();
    if let Some(error) = explain(&text).or_else(|| refused(name, &text, process.log_path())) {
        return Err(error);
    }
    // Some installers end with a page of advice; the error is above it.
    let is_error = |line: &&str| line.to_uppercase().contains("ERROR");
    let errors: Vec<String> = process.log_text().lines().filter(is_error).map(str::to_owned).collect();
    let tail = if errors.is_empty() { process.log_tail(ERROR_LINES) } else { errors };
    let log = log.path();
    Err(if ended {
        EngineError::Died { engine: name, status: process.status(), log, tail }
    } else {
        let reason = "the program that creates the data directory still runs".to_owned();
        EngineError::NotReady { engine: name, waited: request.timeout, reason, log, tail }
    })
}

pub(crate) struct PrivateServer {
    pub engine: &'static dyn Engine,
    pub instance: Instance,
    pub target: ConnectTarget,
    /// The connection with all privileges, for the engine's own queries.
    pub administration: ConnectTarget,
    pub version: String,
    pub data: PathBuf,
}

impl PrivateServer {
    pub(crate) fn use_database(&mut self, database: &str) {
        self.target.database = Some(database.to_owned());
    }

    /// The error for a data directory that could not be completed.
    pub(crate) fn unfinished(&self, request: &PrepareRequest, reason: &str) -> EngineError {
        let (engine, tail) = (self.engine.name(), self.log_tail(ERROR_LINES));
        let (waited, reason, log) = (request.timeout, reason.to_owned(), request.log.path());
        EngineError::NotReady { engine, waited, reason, log, tail }
    }

    fn administer(&self) -> Result<Box<dyn Session>, EngineError> {
        self.engine.connect(&self.administration)
    }
}

impl Server for PrivateServer {
    fn pid(&self) -> u32 {
        self.instance.process.pid()
    }

    fn engine(&self) -> &'static dyn Engine {
        self.engine
    }

    fn data(&self) -> &Path {
        &self.data
    }

    fn lock_wait_setting(&self) -> Option<&'static str> {
        self.engine.lock_wait_setting()
    }

    fn target(&self) -> &ConnectTarget {
        &self.target
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn setting(&self, name: &str) -> Result<Option<String>, EngineError> {
        self.engine.read_setting(&mut *self.administer()?, name)
    }

    fn self_report(&self) -> Result<SelfReport, EngineError> {
        self.engine.self_report(&mut *self.administer()?)
    }

    fn stop(&mut self, timeout: Duration) -> Result<StopOutcome, EngineError> {
        self.instance.stop(timeout)
    }

    fn diagnostics(&self) -> Result<Box<dyn Diagnostics>, EngineError> {
        self.engine.diagnostics(&self.target, &self.administration)
    }

    fn outlived(&self) -> &[Outlived] {
        self.instance.process.outlived()
    }

    fn is_alive(&mut self) -> bool {
        self.instance.process.is_alive()
    }

    fn lack_of_memory(&self) -> Option<String> {
        self.instance.process.lack_of_memory()
    }

    fn exit_status(&mut self) -> Option<String> {
        self.instance.process.exit_status()
    }

    fn log_tail(&self, lines: usize) -> Vec<String> {
        self.instance.process.log_tail(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_thread_process_or_file_is_found_in_the_log_of_each_server() {
        let found = |text: &str| refused("some", text, PathBuf::from("/log")).map(|error| error.to_string());
        for (line, scarce) in [
            ("  what():  Resource temporarily unavailable", "thread or process"),
            ("2026-01-01 10:00:00 0 [ERROR] Can't create interrupt-thread (error 11, errno: 11)", "thread or process"),
            (
                "2026-01-01T10:00:00Z 0 [Warning] Can't create thread to handle bootstrap (errno: 11)",
                "thread or process",
            ),
            ("2026-01-01 10:00:00 UTC [7] LOG:  could not fork: Resource temporarily unavailable", "thread or process"),
            (
                "2026-01-01 10:00:00 0 [ERROR] Can't open './x.MAI' (Errcode: 24 \"Too many open files\")",
                "file or socket",
            ),
            ("2026-01-01T10:00:00Z 0 [ERROR] InnoDB: Error number 24 means 'Too many open files'", "file or socket"),
            ("2026-01-01 10:00:00 UTC [7] FATAL:  insufficient file descriptors available to start", "file or socket"),
        ] {
            let error = found(&format!("started\n{line}\nended")).unwrap();
            assert!(error.contains(line.trim()) && error.contains(scarce) && error.contains("/log"), "{error}");
        }
        for line in [
            "2026-01-01 10:00:00 0 [ERROR] InnoDB: Unable to lock ./ibdata1 error: 11",
            "2026-01-01 10:00:00 0 [ERROR] Can't lock aria control file: Resource temporarily unavailable",
            "2026-01-01 10:00:00 0 [ERROR] Can't create thread to kill server (errno: 110 \"Connection timed out\")",
        ] {
            assert_eq!(found(line), None);
        }
    }
}
