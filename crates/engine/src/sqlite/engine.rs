//! Starts the server of the embedded engine.

use super::diagnostics::SqliteDiagnostics;
use super::pragmas::{self, NAME, Sqlite};
use super::serve::{DATABASE_FILE, Failure, PASSWORD, PORT, SOCKET, SUBCOMMAND};
use super::session::SqliteSession;
use super::{dialect, planted};
use crate::contract::diagnostics::Diagnostics;
use crate::contract::server::Fill;
use crate::data::cache::{CacheKey, cached, is_cached};
use crate::data::directories::socket_path;
use crate::process::instance::{PrivateServer, ServerDirectories, random_password, single};
use crate::process::server_process::StopPolicy;
use crate::programs::ask::{Question, ask, start as message};
use crate::{
    Address, Binary, ConnectTarget, DataDirectory, Dialect, Engine, EngineError, Footprint, PrepareRequest, Server,
    Session, StartRequest, StopOutcome, Transport, own_program,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Version of what [`Engine::prepare_data`] does, part of the key: raise it when prepared directories would differ.
const RECIPE: &str = "1";
const PROGRAM: &str = "tare";

/// This executable, unless another one with the same hidden subcommand is given.
pub(super) fn binary(explicit: Option<&Path>) -> Result<Binary, EngineError> {
    let path = match explicit {
        Some(path) => path.to_owned(),
        None => own_program().map_err(|source| EngineError::io("find", Path::new("/proc/self/exe"), source))?,
    };
    Binary::identified(path, "SQLite", rusqlite::version().to_owned(), None)
}

/// The options among these that determine the format of the file.
fn shaping(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let shapes = |name: &String| pragmas::SHAPING.contains(&name.to_lowercase().as_str());
    options.iter().filter(|(name, _)| shapes(name)).map(|(n, v)| (n.to_lowercase(), v.clone())).collect()
}

fn key(shaping: &BTreeMap<String, String>, dataset: &str) -> CacheKey {
    let options = format!("{shaping:?}");
    // The library's version and not the executable's identity: a rebuilt tare creates the same files.
    let parts = [("recipe", RECIPE), ("version", rusqlite::version()), ("options", &options), ("dataset", dataset)];
    CacheKey::new(NAME, &parts)
}

/// SQLite reads the files of all its versions, so only the presence of one is checked.
pub(super) fn check_data(data: &Path) -> Result<(), EngineError> {
    if data.join(DATABASE_FILE).is_file() {
        return Ok(());
    }
    let reason = format!("is not a data directory of this engine: it has no file {DATABASE_FILE}");
    Err(EngineError::Directory { path: data.to_owned(), reason })
}

fn start_server(request: &StartRequest) -> Result<PrivateServer, EngineError> {
    let binary = binary(request.binary.as_deref())?;
    let stage = ServerDirectories::set_up(request)?;
    let socket = socket_path(stage.run(), SOCKET)?;
    let mut arguments: Vec<OsString> = vec![SUBCOMMAND.into(), "--data".into(), stage.data().into()];
    arguments.extend(["--run-directory".into(), stage.run().into()]);
    arguments.extend(request.options.iter().flat_map(|(n, v)| ["--option".into(), format!("{n}={v}").into()]));
    let mut target = ConnectTarget::private(socket.clone(), "");
    let port_file = stage.run().join(PORT);
    if request.transport == Transport::Tcp {
        arguments.extend(["--tcp".into(), request.listen.to_string().into()]);
        target.password = random_password()?;
        write_private(&stage.run().join(PASSWORD), &target.password)?;
        arguments.extend(request.clients_elsewhere.then(|| "--clients-elsewhere".into()));
    }
    let data = stage.data().to_owned();
    let mut instance = stage.spawn(&binary.path, arguments, &request.environment, request, StopPolicy::default())?;
    let listens_at = (request.transport == Transport::Socket).then_some(socket.as_path());
    let connect = || {
        if request.transport == Transport::Tcp {
            target.address = Address::Tcp(request.listen.to_string(), read_port(&port_file)?);
        }
        Ok(Box::new(SqliteSession::open(&target)?) as Box<dyn Session>)
    };
    let explain = |log: &str| Some(Failure::in_log(log)?.into_error(&data));
    let mut session = instance.wait_ready(NAME, request, listens_at, connect, explain)?;
    let version = single(&mut *session, "SELECT sqlite_version()")?.unwrap_or_default();
    let administration = target.clone();
    Ok(PrivateServer { engine: &Sqlite, instance, target, administration, version, data })
}

fn read_port(file: &Path) -> Result<u16, EngineError> {
    let text = fs::read_to_string(file).map_err(|source| EngineError::io("read the port from", file, source))?;
    let bad = |error| EngineError::io("read the port from", file, std::io::Error::other(error));
    text.trim().parse().map_err(|error: std::num::ParseIntError| bad(error.to_string()))
}

fn write_private(path: &Path, text: &str) -> Result<(), EngineError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|source| EngineError::io("write", path, source))
}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::SqliteDialect
    }

    /// Uses the page cache of the system: a connection's own cache has a few megabytes.
    fn footprint(&self, _options: &BTreeMap<String, String>, _data_bytes: u64) -> Footprint {
        Footprint::default()
    }

    /// The socket twice, the database, its log and the memory that is shared for the log.
    fn descriptors_of_connection(&self) -> u64 {
        5
    }

    fn start_cost_s(&self) -> f64 {
        0.12
    }

    fn fresh_cost_s(&self) -> f64 {
        0.3
    }

    fn check_data(&self, data: &Path, _binary: &Binary) -> Result<(), EngineError> {
        check_data(data)
    }

    /// Checks that a given path is a build of this program: any other would only fail to start.
    fn binary(&self, explicit: Option<&Path>) -> Result<Binary, EngineError> {
        let Some(path) = explicit else { return binary(None) };
        let unusable = |reason| EngineError::BinaryUnusable { path: path.to_owned(), reason };
        if !path.is_file() {
            return Err(unusable("the file does not exist: expected the path of a server program".into()));
        }
        let reported = ask(&Question::new(path, &["--version"]))?;
        if reported.split_whitespace().next() == Some(PROGRAM) {
            return binary(explicit);
        }
        Err(unusable(format!(
            "is not the server of a known engine: --version prints {:?}; name mariadbd, mysqld or postgres, or for \
             SQLite a build of {PROGRAM}",
            message(&reported)
        )))
    }

    fn knows_option(&self, name: &str, _binary: Option<&Path>) -> Result<bool, EngineError> {
        Ok(planted::is_option(name) || pragmas::names()?.contains(&name.to_lowercase()))
    }

    fn option_names(&self, _binary: Option<&Path>) -> Result<Vec<String>, EngineError> {
        pragmas::names()
    }

    fn is_prepared(&self, cache: &Path, _: &Binary, options: &BTreeMap<String, String>, dataset: &str) -> bool {
        is_cached(cache, &key(&shaping(options), dataset))
    }

    fn prepare_data(&self, request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError> {
        let shaping = shaping(&request.options);
        cached(&request.cache_directory, &key(&shaping, &request.dataset), |partial| {
            let data = partial.join("data");
            fs::create_dir(&data).map_err(|source| EngineError::io("create the directory", &data, source))?;
            let mut server = start_server(&StartRequest::to_fill(request, &data, shaping.clone()))?;
            let reason = |server: &PrivateServer, otherwise: EngineError| {
                let failure = Failure::in_log(&server.instance.process.log_text());
                failure.map_or(otherwise, |failure| failure.into_error(&data))
            };
            fill(&server).map_err(|error| reason(&server, EngineError::fill(&data, error)))?;
            if server.stop(request.timeout)? == StopOutcome::Graceful && server.instance.process.succeeded() {
                return Ok(());
            }
            Err(reason(&server, server.unfinished(request, "did not shut down cleanly")))
        })
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Server>, EngineError> {
        match &request.data {
            DataDirectory::InPlace(path) | DataDirectory::CopyOf { prepared: path, .. } => check_data(path)?,
        }
        Ok(Box::new(start_server(request)?))
    }

    fn connect(&self, target: &ConnectTarget) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(SqliteSession::open(target)?))
    }

    /// The value of the PRAGMA with this name in a new connection.
    fn read_setting(&self, session: &mut dyn Session, name: &str) -> Result<Option<String>, EngineError> {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Ok(None);
        }
        single(session, &format!("PRAGMA {name}"))
    }

    fn diagnostics(&self, target: &ConnectTarget, _owner: &ConnectTarget) -> Result<Box<dyn Diagnostics>, EngineError> {
        Ok(Box::new(SqliteDiagnostics::new(self.connect(target)?)))
    }
}
