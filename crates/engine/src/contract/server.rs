//! The traits of an engine and of a server, with their requests.

use super::diagnostics::{Diagnostics, Silent};
use crate::programs::program::places;
use crate::{
    Address, Aslr, Binary, Charset, ConnectTarget, Dialect, EngineError, Login, OptionFile, SelfReport, Session,
    Transport,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_files::LogFile;
use tare_noise::MemoryConfines;
use tare_results::schema::Outlived;

/// The database that prepared data directories contain and that sessions start in: sysbench's default name.
pub const DEFAULT_DATABASE: &str = "sbtest";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataDirectory {
    /// Used as it is, and changed by the server. Not for a cached directory, which would differ for the next trial.
    InPlace(PathBuf),
    /// A private copy, created by start and removed after stop: every trial starts from the same bytes, also when its
    /// workload only reads (purge, statistics and change buffers write anyway). Uses copy-on-write where the file
    /// system supports it.
    CopyOf {
        /// The directory to copy, usually what [`Engine::prepare_data`] returned.
        prepared: PathBuf,
        /// Where the copy is made; must not exist.
        at: PathBuf,
    },
}

/// Everything that a start depends on. CPU affinity and memory policy are inherited from the calling thread.
#[derive(Debug, Clone)]
pub struct StartRequest {
    /// The server program; if none, the engine looks for its usual names.
    pub binary: Option<PathBuf>,
    pub data: DataDirectory,
    /// Created with mode 0700 and removed after stop; holds the socket and the pid file. Must not exist.
    pub run_directory: PathBuf,
    pub log: LogFile,
    /// Where the server is registered while it runs, for [`crate::reap_leftovers`].
    pub state_directory: Option<PathBuf>,
    /// Engine option -> value (MariaDB: `--name=value`; SQLite: `PRAGMA name = value`). Each is read back.
    pub options: BTreeMap<String, String>,
    pub environment: BTreeMap<String, String>,
    /// Address space layout of the server; `None` inherits it.
    pub aslr: Option<Aslr>,
    pub allocator_preload: Option<PathBuf>,
    /// The only nodes from which its memory may come, whatever policy it sets itself, and how much memory it may use:
    /// enforced by a control group. `None` of either leaves that of the calling process.
    pub memory: MemoryConfines,
    /// The `tasks` file of a group that limits the server: the child writes `0` there before exec.
    pub limits: Option<PathBuf>,
    /// How long it may take until it answers.
    pub start_timeout: Duration,
    pub transport: Transport,
    /// The address of this machine at which it listens with TCP: loopback, unless its clients are on another machine.
    /// A random password is always required.
    pub listen: IpAddr,
    /// Whether its clients are on another machine, which is not trusted: the account of its port may then use the
    /// database, and read or write no other file of this machine, nor start a program.
    pub clients_elsewhere: bool,
    pub database: Option<String>,
    /// The character set of connections; the program that fills a data directory writes UTF-8.
    pub charset: Charset,
    /// Start it so that its lock waits can be read later, where that must be decided at start (MariaDB:
    /// performance_schema=ON with all lock instruments off). An option of the same name takes precedence.
    pub lock_waits: bool,
}

impl StartRequest {
    /// A request with nothing set: socket, utf8mb4, no options, inherited ASLR and allocator, 60 s to start.
    pub fn new(data: DataDirectory, run_directory: impl Into<PathBuf>, log: LogFile) -> Self {
        Self {
            binary: None,
            data,
            run_directory: run_directory.into(),
            log,
            state_directory: None,
            options: BTreeMap::new(),
            environment: BTreeMap::new(),
            aslr: None,
            allocator_preload: None,
            memory: MemoryConfines::default(),
            limits: None,
            start_timeout: Duration::from_secs(60),
            transport: Transport::Socket,
            listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
            clients_elsewhere: false,
            database: Some(DEFAULT_DATABASE.to_owned()),
            charset: Charset::Utf8mb4,
            lock_waits: false,
        }
    }

    /// The request for the server that fills a fresh data directory, which has no database yet.
    pub(crate) fn to_fill(request: &PrepareRequest, data: &Path, options: BTreeMap<String, String>) -> Self {
        Self {
            binary: request.binary.clone(),
            state_directory: request.state_directory.clone(),
            options,
            start_timeout: request.timeout,
            database: None,
            ..Self::new(DataDirectory::InPlace(data.to_owned()), &request.run_directory, request.log.clone())
        }
    }
}

#[derive(Debug, Clone)]
pub struct PrepareRequest {
    /// The server program, as in [`StartRequest::binary`].
    pub binary: Option<PathBuf>,
    /// Holds the cached directories of all engines; created if missing.
    pub cache_directory: PathBuf,
    /// Describes the data set, in any words: two requests with the same words share one directory.
    pub dataset: String,
    /// All engine options of the study; those that determine the format of the files become part of the key.
    pub options: BTreeMap<String, String>,
    /// Further arguments of the program that creates an empty directory (initdb, mariadb-install-db, mysqld
    /// --initialize); `dataset` must mention them too.
    pub init_options: Vec<String>,
    /// As in [`StartRequest::run_directory`], for the server that fills the directory.
    pub run_directory: PathBuf,
    pub log: LogFile,
    /// Where these servers are registered, as in [`StartRequest::state_directory`].
    pub state_directory: Option<PathBuf>,
    /// Time limit for starting, and the same again for stopping.
    pub timeout: Duration,
}

/// What a server needs in addition to the tables and indexes of a data set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Its buffer pool as configured, bytes; 0 if it has none.
    pub pool_bytes: u64,
    /// Files of a data directory without the tables of a data set (logs, system tables), bytes.
    pub files_bytes: u64,
}

/// How the buffer pool of a server gets a memory policy of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMemory {
    /// It cannot: the pool is ordinary memory of the process.
    AsTheRest,
    /// With this option the server interleaves the pool over all nodes that its control group allows.
    Interleaved(&'static str),
    /// The pool is shared memory, to which another process can apply a policy.
    Shared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopOutcome {
    /// It shut down after SIGTERM.
    Graceful,
    /// It was killed because the time limit expired.
    Killed,
    /// It had already ended before stop was called.
    AlreadyGone,
    /// It belongs to someone else and continues to run.
    GoesOn,
}

/// Fills a fresh server with a data set.
pub type Fill<'a> = dyn FnMut(&dyn Server) -> Result<(), Box<dyn Error + Send + Sync>> + 'a;

/// A database that can be started and connected to.
pub trait Engine: Send + Sync {
    fn name(&self) -> &'static str;
    fn dialect(&self) -> &'static dyn Dialect;
    /// Estimated time to start and stop it on an ordinary machine, seconds; used until trials have been timed.
    fn start_cost_s(&self) -> f64;
    /// Estimated seconds to create an empty data directory on an ordinary machine, including the server that fills it.
    fn fresh_cost_s(&self) -> f64;
    /// What a server with these options needs for a data set of this many bytes.
    fn footprint(&self, options: &BTreeMap<String, String>, data_bytes: u64) -> Footprint;
    /// Descriptors that a server opens for each connection, all in one process; 0 if it needs none beyond the limit
    /// that it reports or raises itself.
    fn descriptors_of_connection(&self) -> u64 {
        0
    }
    /// The port where such servers usually listen.
    fn default_port(&self) -> u16 {
        3306
    }
    fn default_user(&self) -> &'static str {
        "root"
    }
    /// Sockets at which these servers listen on this machine, in the order in which their clients look for them;
    /// `port` is the requested port.
    fn usual_sockets(&self, _port: Option<u16>) -> Vec<PathBuf> {
        Vec::new()
    }
    /// The socket that a path means: for most engines the path itself.
    fn socket_at(&self, path: PathBuf, _port: Option<u16>) -> PathBuf {
        path
    }

    /// The query for the character set of a connection; none if connections have no choice of one.
    fn charset_question(&self) -> Option<&'static str> {
        None
    }
    /// Whether pages of data that this program creates with these further arguments have checksums; none if that does
    /// not differ between its versions.
    fn data_checksums(&self, _binary: &Binary, _init_options: &[String]) -> Option<bool> {
        None
    }
    /// The option with which a server of this version spreads memory over all nodes that it is allowed to use,
    /// whatever memory policy it was started with.
    fn spreads_memory(&self, _options: &BTreeMap<String, String>, _version: &str) -> Option<&'static str> {
        None
    }
    /// How its buffer pool gets a memory policy of its own.
    fn pool_memory(&self) -> PoolMemory {
        PoolMemory::AsTheRest
    }
    /// File names of its server programs; empty if the engine is part of this program.
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }
    /// Folders in which they usually are.
    fn places(&self) -> Vec<PathBuf> {
        places(&[])
    }
    /// The command that installs the server; none if nothing has to be installed.
    fn install(&self) -> Option<&'static str> {
        None
    }
    /// Whether this server program can open a data directory, as far as can be determined without starting it.
    fn check_data(&self, data: &Path, binary: &Binary) -> Result<(), EngineError>;
    /// Finds the server program: `explicit`, otherwise the usual names and places.
    fn binary(&self, explicit: Option<&Path>) -> Result<Binary, EngineError>;
    /// Whether the server program knows an option of this name; does not start a server.
    fn knows_option(&self, name: &str, binary: Option<&Path>) -> Result<bool, EngineError>;
    /// All option names that the server program knows, for suggesting one in place of an unknown name.
    fn option_names(&self, binary: Option<&Path>) -> Result<Vec<String>, EngineError>;
    /// The options that the server program does not know; does not start a server.
    fn unknown_options(&self, names: &[&str], binary: &Path) -> Result<Vec<String>, EngineError> {
        let mut unknown = Vec::new();
        for name in names {
            if !self.knows_option(name, Some(binary))? {
                unknown.push((*name).to_owned());
            }
        }
        Ok(unknown)
    }
    /// The options in an option file of this engine's format, for this server program.
    fn read_options(&self, path: &Path, _binary: &Binary) -> Result<OptionFile, EngineError> {
        let reason = format!("{} has no option files: set options under [engine.options]", self.name());
        Err(EngineError::OptionFile { path: path.to_owned(), reason })
    }
    /// Whether [`Engine::prepare_data`] would find this data set in the cache, for this program and these options.
    fn is_prepared(&self, cache: &Path, by: &Binary, options: &BTreeMap<String, String>, dataset: &str) -> bool;
    /// A data directory with the data set, created once and cached by content; safe against concurrent callers.
    ///
    /// # Errors
    /// As for [`Engine::start`], and [`EngineError::Fill`]. A failed attempt leaves nothing in the cache.
    fn prepare_data(&self, request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError>;
    /// Starts a private server and returns when it answers and all requested settings were read back.
    fn start(&self, request: &StartRequest) -> Result<Box<dyn Server>, EngineError>;
    fn connect(&self, target: &ConnectTarget) -> Result<Box<dyn Session>, EngineError>;
    /// Completes this login from the user's own files. Most engines have none.
    fn login_files(&self, _requested: &Login) -> Result<Login, EngineError> {
        Ok(Login::default())
    }
    /// Where clients of this engine look for the address of a server; none if it has no servers of its own.
    fn address_sources(&self) -> Option<&'static str> {
        None
    }
    /// The file of a user from which clients of this engine read passwords.
    fn password_file(&self) -> Option<&'static str> {
        None
    }
    /// The value of an engine option in the server of this session; `None` if the server knows no such option.
    fn read_setting(&self, _session: &mut dyn Session, _name: &str) -> Result<Option<String>, EngineError> {
        Ok(None)
    }
    /// The build and all settings of a private server of this engine, read in a session of the database owner.
    fn self_report(&self, _owner: &mut dyn Session) -> Result<SelfReport, EngineError> {
        Ok(SelfReport::default())
    }
    /// Diagnostics of a private server of this engine; `target` is the connection of clients, `owner` that of the
    /// database owner.
    fn diagnostics(
        &self,
        _target: &ConnectTarget,
        _owner: &ConnectTarget,
    ) -> Result<Box<dyn Diagnostics>, EngineError> {
        Ok(Box::new(Silent("this engine")))
    }
    /// The setting that [`StartRequest::lock_waits`] turns on, if there is one to read back.
    fn lock_wait_setting(&self) -> Option<&'static str> {
        None
    }
}

impl fmt::Debug for dyn Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl PartialEq for dyn Engine {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

pub trait Server: Send + Sync {
    /// Process id; of a server with a process per connection, that of the process that started the others.
    fn pid(&self) -> u32;
    /// Whether this program started it, and so may inspect and end its processes.
    fn is_ours(&self) -> bool {
        true
    }
    fn engine(&self) -> &'static dyn Engine;
    fn dialect(&self) -> &'static dyn Dialect {
        self.engine().dialect()
    }
    fn data(&self) -> &Path;
    /// As [`Engine::lock_wait_setting`] of its engine.
    fn lock_wait_setting(&self) -> Option<&'static str> {
        None
    }
    fn address(&self) -> &Address {
        &self.target().address
    }
    fn target(&self) -> &ConnectTarget;
    fn version(&self) -> &str;
    /// A new connection. Call it on the thread that will use it: its buffers are then local to that thread.
    fn connect(&self) -> Result<Box<dyn Session>, EngineError> {
        self.engine().connect(self.target())
    }
    /// The current value of an engine option in the server; `None` if the server knows no such option.
    fn setting(&self, name: &str) -> Result<Option<String>, EngineError>;
    /// Shuts it down; kills it when `timeout` has expired. Afterwards its private files are removed.
    fn stop(&mut self, timeout: Duration) -> Result<StopOutcome, EngineError>;
    /// Processes that it had started and that still ran after its shutdown; they were ended then.
    fn outlived(&self) -> &[Outlived] {
        &[]
    }
    fn is_alive(&mut self) -> bool;
    /// That the kernel killed a process of it because the limit of its memory was reached, and what to do.
    fn lack_of_memory(&self) -> Option<String> {
        None
    }
    /// How its process ended, such as by a signal; none if it has not, or if that is not known.
    fn exit_status(&mut self) -> Option<String> {
        None
    }
    /// The server's diagnostics, over a connection of their own.
    fn diagnostics(&self) -> Result<Box<dyn Diagnostics>, EngineError> {
        Ok(Box::new(Silent("this engine")))
    }
    /// Its build and all its settings; empty if the server reports neither.
    fn self_report(&self) -> Result<SelfReport, EngineError> {
        Ok(SelfReport::default())
    }
    /// The last lines of its log since it started.
    fn log_tail(&self, lines: usize) -> Vec<String>;
}
