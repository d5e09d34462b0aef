//! Creates a data directory with initdb, adds the data set, and starts a private cluster.

use super::binary::{self, NAME, PORT, Postgresql};
use super::connection::Connection;
use crate::contract::server::Fill;
use crate::data::cache::{CacheKey, cached, initialised, is_cached};
use crate::data::directories::{small_file, socket_path};
use crate::process::instance::{
    PrivateServer, ServerDirectories, free_port, random_password, rows, run_installer, single, statement,
};
use crate::process::memory;
use crate::process::server_process::StopPolicy;
use crate::{
    Address, Binary, ConnectTarget, DEFAULT_DATABASE, EngineError, PrepareRequest, Server, Session, StartRequest,
    StopOutcome, Transport,
};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The superuser account, for the private socket.
pub(super) const ROOT: &str = "postgres";
const ANY_DATABASE: &str = "postgres";
/// The account of a cluster that listens on a port.
const TCP_USER: &str = "tare";
/// What this account needs to use a database whose clients are on another machine: the tables themselves, because only
/// their owner may prewarm their indexes, and what loads read and ask for. A superuser could start programs.
const OF_CLIENTS: &str = "DO $$ DECLARE found record; BEGIN \
    EXECUTE format('GRANT ALL ON DATABASE %I TO tare', current_database()); \
    GRANT ALL ON SCHEMA public TO tare; \
    FOR found IN SELECT rolname FROM pg_roles WHERE rolname IN ('pg_monitor', 'pg_checkpoint', 'pg_maintain') LOOP \
    EXECUTE format('GRANT %I TO tare', found.rolname); END LOOP; \
    FOR found IN SELECT c.oid::regclass AS name, CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' \
    WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END AS kind FROM pg_class c WHERE relnamespace = 'public'::regnamespace \
    AND relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT EXISTS (SELECT FROM pg_depend d \
    WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND (d.deptype = 'e' OR relkind = 'S' \
    AND d.deptype IN ('a', 'i'))) LOOP \
    EXECUTE format('ALTER %s %s OWNER TO tare', found.kind, found.name); END LOOP; END $$";
/// SIGTERM would wait for the clients to disconnect. PostgreSQL refuses to run as root.
const STOP_POLICY: StopPolicy = StopPolicy { stop: Signal::INT, refuses_root: true };

/// Starts it and reads back every requested setting.
pub(super) fn start(request: &StartRequest) -> Result<PrivateServer, EngineError> {
    let binary = binary::find(request.binary.as_deref())?;
    let stage = ServerDirectories::set_up(request)?;
    check_version(stage.data(), &binary)?;
    let port = if request.transport == Transport::Tcp { free_port(request.listen)? } else { PORT };
    let listens = (request.transport == Transport::Tcp).then(|| SocketAddr::new(request.listen, port));
    let logins = listens.filter(|at| !at.ip().is_loopback());
    let logins = logins.map(|_| write_logins(stage.run())).transpose()?;
    let socket = socket_path(stage.run(), &format!(".s.PGSQL.{port}"))?;
    let data = stage.data().to_owned();
    let mut arguments = binary::all_arguments(&data, stage.run(), listens, &request.options)?;
    arguments.extend(logins.into_iter().flat_map(|file| ["-c".into(), file]));
    let environment = binary.environment(&request.environment);
    let database = Some(ANY_DATABASE.to_owned());
    let administration = ConnectTarget { database, ..ConnectTarget::private(socket.clone(), ROOT) };
    let mut instance = stage.spawn(&binary.path, arguments, &environment, request, STOP_POLICY)?;
    let connect = || Connection::to(&administration);
    let explain = |log: &str| explain(log, &data, &binary.version);
    let mut session = instance.wait_ready(NAME, request, Some(&socket), connect, explain)?;
    let version = session.version().to_owned();
    let database = request.database.clone().or(administration.database.clone());
    let mut target = ConnectTarget { database, ..administration.clone() };
    if let Some(listens) = listens {
        target = tcp_target(&mut session, listens, target, request.clients_elsewhere)?;
        if request.clients_elsewhere {
            let database = target.database.clone();
            statement(&mut Connection::to(&ConnectTarget { database, ..administration.clone() })?, OF_CLIENTS)?;
        }
    }
    let server = PrivateServer { engine: &Postgresql, instance, target, administration, version, data };
    drop(session);
    verify(&server, request)?;
    Ok(server)
}

/// Each option must read back, and the database must exist.
fn verify(server: &PrivateServer, request: &StartRequest) -> Result<(), EngineError> {
    // Read in an ordinary session, since a database or a role may have settings of its own.
    let mut session = server.connect()?;
    for (option, requested) in &request.options {
        let name = binary::option_name(option);
        let sql = format!("SELECT setting, unit FROM pg_settings WHERE lower(name) = '{}'", quoted(&name));
        let rows = rows(&mut *session, &sql)?;
        let Some([Some(found), unit]) = rows.first().map(Vec::as_slice) else { continue };
        if !binary::matches_request(requested, found, unit.as_deref()) {
            let unit = unit.as_ref().map_or(String::new(), |unit| format!(" (unit {unit})"));
            let reason = format!(
                "requested {requested}, but the server has {found}{unit}; choose a value that it does not adjust"
            );
            return Err(EngineError::OptionRefused { engine: NAME, option: option.clone(), reason });
        }
        // It reads back as `try` with and without huge pages.
        if name == "huge_pages" && found != "off" {
            memory::verify(NAME, option, server.pid(), 1)?;
        }
    }
    Ok(())
}

/// An option's value as `SHOW` prints it; `None` if there is no option of this name.
pub(super) fn setting(session: &mut dyn Session, name: &str) -> Result<Option<String>, EngineError> {
    let sql = format!("SELECT current_setting('{}', true)", quoted(&binary::option_name(name)));
    single(session, &sql)
}

fn quoted(text: &str) -> String {
    text.replace('\'', "''")
}

/// Writes the login rules of a cluster that listens on a network address: everyone over the private socket, as on
/// other clusters, and one account with its password. Returns the option that names the file.
fn write_logins(run: &Path) -> Result<OsString, EngineError> {
    let path = run.join("logins.conf");
    let of = |family: &str| format!("host all {TCP_USER} {family}/0 scram-sha-256\n");
    let lines = format!("local all all trust\n{}{}", of("0.0.0.0"), of("::"));
    fs::write(&path, lines).map_err(|e| EngineError::io("write", &path, e))?;
    let mut option = OsString::from("hba_file=");
    option.push(&path);
    Ok(option)
}

/// Other users of the machine, and other machines, can reach a port, so its account has a random password. The
/// account is created over the socket.
fn tcp_target(
    session: &mut dyn Session,
    listens: SocketAddr,
    target: ConnectTarget,
    clients_elsewhere: bool,
) -> Result<ConnectTarget, EngineError> {
    let password = random_password()?;
    let kind = if clients_elsewhere { "NOSUPERUSER" } else { "SUPERUSER" };
    let make = format!("CREATE ROLE {TCP_USER} LOGIN {kind} PASSWORD '{password}'");
    for sql in [format!("DROP ROLE IF EXISTS {TCP_USER}"), make] {
        // The statement contains the password.
        let failed = |source| EngineError::Sql { statement: format!("CREATE ROLE {TCP_USER}"), source };
        session.run(&sql).map_err(failed)?;
    }
    let address = Address::Tcp(listens.ip().to_string(), listens.port());
    Ok(ConnectTarget { address, user: TCP_USER.to_owned(), password, ..target })
}

/// The directory records the version that created it; another major version is refused before a start.
pub(super) fn check_version(data: &Path, server: &Binary) -> Result<(), EngineError> {
    let Some(found) = small_file(&data.join("PG_VERSION")) else {
        let reason =
            "is not a data directory of PostgreSQL: it has no file PG_VERSION; expected one of a stopped server";
        return Err(EngineError::Directory { path: data.to_owned(), reason: reason.to_owned() });
    };
    match (binary::major(found.trim()), binary::major(&server.version)) {
        (Some(made), Some(now)) if made != now => Err(EngineError::OtherVersion {
            directory: data.to_owned(),
            found: found.trim().to_owned(),
            expected: server.version.clone(),
        }),
        _ => Ok(()),
    }
}

pub(super) fn explain(log: &str, data: &Path, expected: &str) -> Option<EngineError> {
    let fatal = |line: &&str| line.contains("FATAL:") || line.contains("ERROR:") || line.contains("could not");
    log.lines().filter(fatal).find_map(|line| {
        if line.contains("No space left on device") {
            return Some(EngineError::DiskFull { place: data.to_owned(), detail: line.to_owned() });
        }
        if line.contains("incompatible with server") {
            let (directory, expected) = (data.to_owned(), expected.to_owned());
            return Some(EngineError::OtherVersion { directory, found: "another version".to_owned(), expected });
        }
        let (_, named) = line.split_once("parameter \"")?;
        let option = named.split('"').next()?.to_owned();
        let reason = line.split_once("FATAL:").map_or(line, |(_, reason)| reason).trim().to_owned();
        Some(EngineError::OptionRefused { engine: NAME, option, reason })
    })
}

/// Version of this procedure, part of the key: raise it when prepared directories would differ.
const RECIPE: &str = "1";

fn key(binary: &Binary, dataset: &str) -> CacheKey {
    // No server option affects the format of the files: only options of initdb do.
    CacheKey::new(NAME, &[("recipe", RECIPE), ("binary", &binary.identity), ("dataset", dataset)])
}

pub(super) fn is_prepared(cache: &Path, by: &Binary, dataset: &str) -> bool {
    is_cached(cache, &key(by, dataset))
}

pub(super) fn prepare_data(request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError> {
    let binary = binary::find(request.binary.as_deref())?;
    let cache = &request.cache_directory;
    cached(cache, &key(&binary, &request.dataset), |partial| {
        let requested = request.init_options.join(" ");
        let mut parts = vec![("recipe", RECIPE), ("binary", &binary.identity)];
        parts.extend((!requested.is_empty()).then_some(("init", requested.as_str())));
        let fresh = CacheKey::of_initialised(NAME, &parts);
        let install = |partial: &Path| install(&binary, request, &partial.join("data"));
        let data = initialised(cache, &fresh, partial, install)?;
        fill_fresh(request, &data, fill)
    })
}

/// Text compares by bytes; over the private socket everyone is trusted, over TCP a password is required.
fn install(server: &Binary, request: &PrepareRequest, data: &Path) -> Result<(), EngineError> {
    let program = binary::next_to(&server.path, "initdb")?;
    let mut arguments: Vec<OsString> = vec!["-D".into(), data.into(), "--username".into(), ROOT.into()];
    // Everything is synced at once at the end.
    let rest = ["--locale=C", "--encoding=UTF8", "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync"];
    arguments.extend(rest.map(OsString::from));
    let environment = server.environment(&BTreeMap::new());
    let explain = |log: &str| explain(log, data, &server.version);
    run_installer("initdb", &program, arguments, &environment, STOP_POLICY, request, explain)
}

/// Starts a server on the fresh directory, lets the caller fill it, and shuts it down: every copy starts alike.
fn fill_fresh(request: &PrepareRequest, data: &Path, fill: &mut Fill<'_>) -> Result<(), EngineError> {
    let mut server = start(&StartRequest::to_fill(request, data, BTreeMap::new()))?;
    statement(&mut *server.connect()?, &format!("CREATE DATABASE {DEFAULT_DATABASE}"))?;
    server.use_database(DEFAULT_DATABASE);
    let mut session = server.connect()?;
    for extension in ["pg_prewarm", "pg_buffercache"] {
        // Not every build has these extensions; a statement that needs one fails then.
        let _ = session.run(&format!("CREATE EXTENSION {extension}"));
    }
    fill(&server).map_err(|error| EngineError::fill(data, error))?;
    // Vacuumed, analysed and written: no background work is left for the trials.
    session.set_timeout(None).map_err(|source| EngineError::Sql { statement: "time-out".to_owned(), source })?;
    statement(&mut *session, "VACUUM (ANALYZE)")?;
    statement(&mut *session, "CHECKPOINT")?;
    drop(session);
    match server.stop(request.timeout)? {
        StopOutcome::Graceful => Ok(()),
        _ => Err(server.unfinished(request, "did not shut down")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_lines_become_typed_errors() {
        let of = |log: &str| explain(log, Path::new("/data"), "15.1");
        let line = "2026-01-01 10:00:00.000 UTC [7] FATAL:  unrecognized configuration parameter \"shared_bufers\"";
        assert!(matches!(of(line), Some(EngineError::OptionRefused { option, .. }) if option == "shared_bufers"));
        let line = "2026-01-01 10:00:00.000 UTC [7] FATAL:  invalid value for parameter \"wal_level\": \"much\"";
        assert!(matches!(of(line), Some(EngineError::OptionRefused { option, .. }) if option == "wal_level"));
        let line = "2026-01-01 10:00:00.000 UTC [7] PANIC:  could not write to file \"x\": No space left on device";
        assert!(matches!(of(line), Some(EngineError::DiskFull { .. })));
        let line = "2026-01-01 10:00:00.000 UTC [7] FATAL:  database files are incompatible with server";
        assert!(matches!(of(line), Some(EngineError::OtherVersion { .. })));
        assert!(of("2026-01-01 10:00:00.000 UTC [7] LOG:  database system is ready to accept connections").is_none());
    }
}
