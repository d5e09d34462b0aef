//! What every engine can do, and what it is asked with.

use super::diagnostics::{Diagnostics, Silent};
use crate::programs::program::places;
use crate::{
    Address, Aslr, Binary, Charset, ConnectTarget, Dialect, EngineError, Login, OptionFile, SelfReport, Session,
    Transport,
};
use std::collections::BTreeMap;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tare_files::LogFile;
use tare_noise::MemoryConfines;

/// The database that prepared data directories contain and that sessions start in: sysbench's default name.
pub const DEFAULT_DATABASE: &str = "sbtest";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataDirectory {
    /// Used as it is, and changed by the server. Not for a cached directory: the next trial would start differently.
    InPlace(PathBuf),
    /// A private copy, made by start and removed after stop: every trial starts from the same bytes, also when its
    /// workload only reads (purge, statistics and change buffers write anyway). Copy-on-write where the file system
    /// can.
    CopyOf {
        /// The directory to copy, usually what [`Engine::prepare_data`] returned.
        prepared: PathBuf,
        /// Where; must not exist.
        at: PathBuf,
    },
}

/// Everything a start depends on. CPU affinity and memory policy are inherited from the calling thread.
#[derive(Debug, Clone)]
pub struct StartRequest {
    /// The server program; the engine looks for its usual names when none.
    pub binary: Option<PathBuf>,
    pub data: DataDirectory,
    /// Made with mode 0700 and removed after stop; holds the socket and the pid file. Must not exist or be empty.
    pub run_directory: PathBuf,
    pub log: LogFile,
    /// Where the server is listed while it lives, for [`crate::reap_leftovers`].
    pub state_directory: Option<PathBuf>,
    /// Engine option -> value (MariaDB: `--name=value`; SQLite: `PRAGMA name = value`). Each is read back.
    pub options: BTreeMap<String, String>,
    pub environment: BTreeMap<String, String>,
    /// Address space layout of the server; None inherits.
    pub aslr: Option<Aslr>,
    pub allocator_preload: Option<PathBuf>,
    /// Nodes from which alone its memory comes, whatever policy it gives itself, and how much it may be: by a control
    /// group. None of a kind leaves it that of the calling process.
    pub memory: MemoryConfines,
    /// The file in which it enters a group that limits it, by writing `0` there before anything of it runs.
    pub limits: Option<PathBuf>,
    /// How long it may take until it answers.
    pub start_timeout: Duration,
    pub transport: Transport,
    /// The address of this machine at which it listens, where that is by TCP: loopback, unless its clients are on
    /// another machine. It always wants a random password.
    pub listen: IpAddr,
    pub database: Option<String>,
    /// The character set of connections; what fills a directory writes UTF-8.
    pub charset: Charset,
    /// Start it so that its lock waits can be read later, where that must be decided at start (MariaDB:
    /// performance_schema=ON with all instruments of locks off). An option of the same name wins.
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
            database: Some(DEFAULT_DATABASE.to_owned()),
            charset: Charset::Utf8mb4,
            lock_waits: false,
        }
    }

    /// For the server that fills a fresh data directory, which has no database yet.
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
    /// Holds the cached directories of all engines; made when missing.
    pub cache_directory: PathBuf,
    /// What the data set is, in any words: two requests with the same words share one directory.
    pub dataset: String,
    /// All engine options of the study; those that shape the files become part of the key.
    pub options: BTreeMap<String, String>,
    /// Further arguments of the program that makes an empty directory (initdb, mariadb-install-db, mysqld
    /// --initialize); `dataset` names them too.
    pub init_options: Vec<String>,
    /// As in [`StartRequest::run_directory`], for the server that fills the directory.
    pub run_directory: PathBuf,
    pub log: LogFile,
    /// Where the servers of this state directory are registered, as in [`StartRequest::state_directory`].
    pub state_directory: Option<PathBuf>,
    /// How long starting, and afterwards stopping, may take.
    pub timeout: Duration,
}

/// What a server takes besides the tables and indexes of a data set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Its own memory of pages, as it is set, bytes; 0 where it has none.
    pub pool_bytes: u64,
    /// Files of a data directory that holds no tables of ours: logs, system tables, bytes.
    pub files_bytes: u64,
}

/// How the pool of pages of a server gets a memory policy apart from the rest of its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolMemory {
    /// It cannot: it is memory of the process as any other.
    AsTheRest,
    /// By this option the server interleaves it over all nodes that its control group allows.
    Interleaved(&'static str),
    /// It is shared memory, to which another process can give a policy.
    Shared,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopOutcome {
    /// It shut down by itself after SIGTERM.
    Graceful,
    /// It was killed because the time was over.
    Killed,
    /// It had already ended before stop was called.
    AlreadyGone,
    /// It is someone else's, and was left alone.
    GoesOn,
}

/// Fills a fresh server with a data set.
pub type Fill<'a> = dyn FnMut(&dyn Server) -> Result<(), Box<dyn Error + Send + Sync>> + 'a;

/// A database that can be started and connected to.
pub trait Engine: Send + Sync {
    fn name(&self) -> &'static str;
    fn dialect(&self) -> &'static dyn Dialect;
    /// What starting and stopping it takes on an ordinary machine, seconds: a guess, until trials have been timed.
    fn start_cost_s(&self) -> f64;
    /// What making an empty data directory takes on an ordinary machine, with the server that fills it, seconds.
    fn fresh_cost_s(&self) -> f64;
    /// What a server with these options takes for a data set of so many bytes.
    fn footprint(&self, options: &BTreeMap<String, String>, data_bytes: u64) -> Footprint;
    /// The port where such servers usually listen.
    fn default_port(&self) -> u16 {
        3306
    }
    fn default_user(&self) -> &'static str {
        "root"
    }
    /// Sockets at which such servers listen on this machine, in the order in which its clients look for them; `port` is
    /// what was requested.
    fn usual_sockets(&self, _port: Option<u16>) -> Vec<PathBuf> {
        Vec::new()
    }
    /// The socket that is meant by a path: for most engines the path itself.
    fn socket_at(&self, path: PathBuf, _port: Option<u16>) -> PathBuf {
        path
    }

    /// The question that its servers answer with the character set of the connection; none where a connection has no
    /// choice of one.
    fn charset_question(&self) -> Option<&'static str> {
        None
    }
    /// Whether pages of the data that this program makes with these further arguments have checksums; none where its
    /// versions do not differ in it.
    fn data_checksums(&self, _binary: &Binary, _init_options: &[String]) -> Option<bool> {
        None
    }
    /// The option by which a server of this version spreads memory over all nodes that it is allowed, whatever policy
    /// it was started with.
    fn spreads_memory(&self, _options: &BTreeMap<String, String>, _version: &str) -> Option<&'static str> {
        None
    }
    /// How its pool of pages gets a memory policy apart from the rest of its memory.
    fn pool_memory(&self) -> PoolMemory {
        PoolMemory::AsTheRest
    }
    /// File names that its server programs have; none where it is part of this program.
    fn programs(&self) -> &'static [&'static str] {
        &[]
    }
    /// Folders where they usually are.
    fn places(&self) -> Vec<PathBuf> {
        places(&[])
    }
    /// The command that installs one; none where nothing is to be installed.
    fn install(&self) -> Option<&'static str> {
        None
    }
    /// Whether this server program can open a data directory, as far as can be told without starting it.
    fn check_data(&self, data: &Path, binary: &Binary) -> Result<(), EngineError>;
    /// Finds the server program: `explicit`, else the usual names and places.
    fn binary(&self, explicit: Option<&Path>) -> Result<Binary, EngineError>;
    /// Whether the server program knows an option of this name; nothing is started for it.
    fn knows_option(&self, name: &str, binary: Option<&Path>) -> Result<bool, EngineError>;
    /// The names of options that the server program knows, of which one may be meant by a wrong one.
    fn option_names(&self, binary: Option<&Path>) -> Result<Vec<String>, EngineError>;
    /// Which of these options the server program does not know; nothing is started for it.
    fn unknown_options(&self, names: &[&str], binary: &Path) -> Result<Vec<String>, EngineError> {
        let mut unknown = Vec::new();
        for name in names {
            if !self.knows_option(name, Some(binary))? {
                unknown.push((*name).to_owned());
            }
        }
        Ok(unknown)
    }
    /// What an option file in this engine's own form asks of this server program.
    fn read_options(&self, path: &Path, _binary: &Binary) -> Result<OptionFile, EngineError> {
        let reason = format!("{} has no option files: set options under [engine.options]", self.name());
        Err(EngineError::OptionFile { path: path.to_owned(), reason })
    }
    /// Whether [`Engine::prepare_data`] would find this data set in the cache, made by this program with these options.
    fn is_prepared(&self, cache: &Path, by: &Binary, options: &BTreeMap<String, String>, dataset: &str) -> bool;
    /// A data directory with the data set, made once and cached by content; safe against concurrent callers.
    ///
    /// # Errors
    /// As for [`Engine::start`], and [`EngineError::Fill`]. A failed attempt leaves nothing in the cache.
    fn prepare_data(&self, request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError>;
    /// Starts a private server and returns when it answers and everything asked for was read back.
    fn start(&self, request: &StartRequest) -> Result<Box<dyn Server>, EngineError>;
    fn connect(&self, target: &ConnectTarget) -> Result<Box<dyn Session>, EngineError>;
    /// What files of the user's own say of a login that this much is known of. Most engines have none.
    fn login_files(&self, _asked: &Login) -> Result<Login, EngineError> {
        Ok(Login::default())
    }
    /// The value of an engine option in the server of this session; None when it knows no such option.
    fn read_setting(&self, _session: &mut dyn Session, _name: &str) -> Result<Option<String>, EngineError> {
        Ok(None)
    }
    /// What a private server of this engine says of its build and of all its settings, in a session of its owner.
    fn self_report(&self, _owner: &mut dyn Session) -> Result<SelfReport, EngineError> {
        Ok(SelfReport::default())
    }
    /// What a private server of this engine says of itself; `target` is how clients reach it, `owner` its owner's way.
    fn diagnostics(
        &self,
        _target: &ConnectTarget,
        _owner: &ConnectTarget,
    ) -> Result<Box<dyn Diagnostics>, EngineError> {
        Ok(Box::new(Silent("this engine")))
    }
    /// The setting that [`StartRequest::lock_waits`] turns on, where there is one to read back.
    fn lock_wait_setting(&self) -> Option<&'static str> {
        None
    }
}

pub trait Server: Send + Sync {
    /// Process id; with a process a connection that of the one that started all others.
    fn pid(&self) -> u32;
    /// Whether this program started it, and so may look into its processes and end them.
    fn is_ours(&self) -> bool {
        true
    }
    fn dialect(&self) -> &'static dyn Dialect;
    fn data(&self) -> &Path;
    /// What [`Engine::lock_wait_setting`] says of its engine.
    fn lock_wait_setting(&self) -> Option<&'static str> {
        None
    }
    fn address(&self) -> &Address {
        &self.target().address
    }
    fn target(&self) -> &ConnectTarget;
    fn version(&self) -> &str;
    /// A new connection. Call it on the thread that will use it: its buffers are then that thread's own.
    fn connect(&self) -> Result<Box<dyn Session>, EngineError>;
    /// The value of an engine option as the server has it now; None when it knows no such option.
    fn setting(&self, name: &str) -> Result<Option<String>, EngineError>;
    /// Ends it: gracefully, and by force when `timeout` is over. Afterwards its private files are gone.
    fn stop(&mut self, timeout: Duration) -> Result<StopOutcome, EngineError>;
    /// What it had started and left running when it ended in good order, in words; it was ended then.
    fn outlived(&self) -> &[String] {
        &[]
    }
    fn is_alive(&mut self) -> bool;
    /// What the server says of itself, over a connection of its own.
    fn diagnostics(&self) -> Result<Box<dyn Diagnostics>, EngineError> {
        Ok(Box::new(Silent("this engine")))
    }
    /// What it says of its build and of all its settings; nothing where it says neither.
    fn self_report(&self) -> Result<SelfReport, EngineError> {
        Ok(SelfReport::default())
    }
    /// The last lines of its log since it started.
    fn log_tail(&self, lines: usize) -> Vec<String>;
}
