//! Shared by the engine tests: scratch directories and requests.

use crate::support::{World, target, text, trials, wait_until};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use tare_engine::{DataDirectory, Engine, PrepareRequest, Server, Session, StartRequest};
use tare_files::{Access, LogFile, PrivateFolder};

/// The name of the data that [`fill`] makes.
const ROWS: &str = "t: 1000 rows";

/// Long enough for a busy machine; no test waits that long.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// A scratch directory for data and sockets: its path is short, so that socket paths fit.
pub struct Place {
    pub folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::Builder::new().prefix("tare").tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn log(&self, name: &str) -> LogFile {
        LogFile::at(&self.path(name)).unwrap()
    }

    /// The content of the scratch directory.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub fn prepare_request(&self, binary: Option<&Path>) -> PrepareRequest {
        PrepareRequest {
            binary: binary.map(Path::to_owned),
            cache_directory: self.path("cache"),
            dataset: ROWS.to_owned(),
            options: Default::default(),
            init_options: Vec::new(),
            run_directory: self.path("prepare-run"),
            log: self.log("prepare.log"),
            state_directory: Some(self.path("state")),
            timeout: PATIENCE,
        }
    }

    /// A request for data that all tests with the same dataset name share, in any process: copied, but never changed.
    pub fn shared_request(&self, binary: Option<&Path>, dataset: &str) -> PrepareRequest {
        let own = self.prepare_request(binary);
        let cache_directory = shared_cache().unwrap_or_else(|| own.cache_directory.clone());
        PrepareRequest { cache_directory, dataset: dataset.to_owned(), ..own }
    }

    /// A start request on a private copy of `prepared`.
    pub fn start_request(&self, prepared: &Path, binary: Option<&Path>) -> StartRequest {
        let data = DataDirectory::CopyOf { prepared: prepared.to_owned(), at: self.path("copy") };
        StartRequest {
            binary: binary.map(Path::to_owned),
            state_directory: Some(self.path("state")),
            start_timeout: PATIENCE,
            ..StartRequest::new(data, self.path("run"), self.log("server.log"))
        }
    }
}

/// Fills a table `t` with rows 1..=1000 whose column c has 119 characters.
pub fn fill(server: &dyn Server) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let mut session = server.connect()?;
    session.run("CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, k INTEGER NOT NULL, c CHAR(120) NOT NULL)")?;
    let rows: Vec<String> = (1..=1000).map(|id| format!("({id}, {id}, '{id:0119}')")).collect();
    let inserted = session.run(&format!("INSERT INTO t VALUES {}", rows.join(",")))?;
    assert_eq!(inserted, 1000);
    Ok(())
}

/// Data that all tests share.
pub fn prepared(engine: &dyn Engine, place: &Place, binary: Option<&Path>) -> PathBuf {
    engine.prepare_data(&place.shared_request(binary, ROWS), &mut fill).unwrap()
}

/// The same data, made for this test only.
pub fn prepared_here(engine: &dyn Engine, place: &Place, binary: Option<&Path>) -> PathBuf {
    engine.prepare_data(&place.prepare_request(binary), &mut fill).unwrap()
}

/// A copy of the shared data, which a server or another program may change.
pub fn copied(engine: &dyn Engine, place: &Place, binary: Option<&Path>, name: &str) -> PathBuf {
    let (from, to) = (prepared(engine, place, binary), place.path(name));
    assert!(Command::new("cp").arg("-a").arg(from).arg(&to).status().unwrap().success());
    to
}

/// The cache of prepared data for this build of the tests: another build may make other data. It is below the build
/// directory, else in a scratch directory from TMPDIR; `None` if neither can be used.
pub fn shared_cache() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("prepared-{user}"));
    let scratch = std::env::var_os("TMPDIR").map(|folder| PathBuf::from(folder).join("tare-prepared"));
    let mut folders = std::iter::once(target).chain(scratch);
    let folder = folders.find(|folder| PrivateFolder::open_or_create(folder, Access::Closed).is_ok())?;
    let built = std::env::current_exe().and_then(|program| program.metadata()?.modified()).ok()?;
    let name = built.duration_since(UNIX_EPOCH).ok()?.as_nanos().to_string();
    for entry in std::fs::read_dir(&folder).ok()?.flatten().filter(|entry| entry.file_name() != *name) {
        // Tests of that build may still run.
        let age = entry.metadata().and_then(|found| found.modified()).ok().and_then(|changed| changed.elapsed().ok());
        if age.is_some_and(|age| age > Duration::from_secs(20 * 60)) {
            let _ = std::fs::remove_dir_all(entry.path()); // another test may be doing the same
        }
    }
    Some(folder.join(name))
}

/// The program of an engine that is not installed in the system: tare itself, or that of `scripts/setup test`.
pub fn binary_of(engine: &dyn Engine) -> Option<PathBuf> {
    match engine.name() {
        "sqlite" => Some(PathBuf::from(env!("CARGO_BIN_EXE_tare"))),
        "mysql" => {
            let path = target().join("mysql/root/usr/sbin/mysqld");
            assert!(path.exists(), "{} is missing: scripts/setup test gets it", path.display());
            Some(path)
        }
        _ => None,
    }
}

/// Runs a study on an engine, which must exit with `code`; returns its records.
pub fn run_on(world: &World, engine: &dyn Engine, code: i32, study: &str) -> Vec<serde_json::Value> {
    let study = world.study(study);
    let binary = binary_of(engine).map(|path| format!("engine.binary={}", path.display()));
    let mut args = vec!["run", &study, "--out", "results", "--engine", engine.name()];
    args.extend(binary.iter().flat_map(|set| ["--set", set.as_str()]));
    // By this variable libpq would connect to another server, whatever its command line says.
    let output = world.tare(&args).env("PGHOSTADDR", "127.0.0.1").output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{}", text(&output.stderr));
    trials(&world.path("results"))
}

/// Whether the process still runs (a zombie does not).
pub fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

pub fn wait_until_gone(pid: u32) {
    wait_until(&format!("the end of process {pid}"), PATIENCE.as_secs(), || !runs(pid));
}

pub fn one(session: &mut dyn Session, sql: &str) -> Option<String> {
    session.query(sql).unwrap().remove(0).remove(0)
}

/// An executable shell script with these lines.
pub fn script(place: &Place, lines: &str) -> PathBuf {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let path = place.path(&format!("wrapper-{number}"));
    crate::support::script(&path, lines);
    path
}
