//! Creates a data directory with the server's own script, adds the data set, starts a private instance, and finds the
//! reason of a failed start in the server's log.

use super::arguments::{Places, variable_name};
use super::binary::{Layout, NAME};
use super::{Kind, MadeBy, arguments, binary};
use crate::contract::option_file::same_value;
use crate::contract::server::Fill;
use crate::data::cache::{CacheKey, cached, initialised, is_cached};
use crate::data::directories::{PrivateDirectory, socket_path};
use crate::process::instance::{
    PrivateServer, ServerDirectories, free_port, random_password, run_installer, single, statement,
};
use crate::process::memory;
use crate::process::server_process::StopPolicy;
use crate::programs::program::check_may_run;
use crate::wire::Connection;
use crate::{
    Address, Binary, Charset, ConnectTarget, DEFAULT_DATABASE, EngineError, PasswordKey, PrepareRequest, Server,
    Session, StartRequest, StopOutcome, Tls, Transport,
};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The account for TCP; over the socket it is root without password.
const TCP_USER: &str = "tare";

/// Starts it and reads back every requested setting.
pub(crate) fn start(kind: &'static Kind, request: &StartRequest) -> Result<PrivateServer, EngineError> {
    let binary = (kind.find)(request.binary.as_deref())?;
    let stage = ServerDirectories::set_up(request)?;
    check_version(kind, stage.data(), &binary)?;
    let socket = socket_path(stage.run(), kind.socket)?;
    let temporary = stage.run().join("tmp");
    DirBuilder::new()
        .mode(0o700)
        .create(&temporary)
        .map_err(|e| EngineError::io("create the directory", &temporary, e))?;
    let data = stage.data().to_owned();
    let places = Places { data: &data, run: stage.run(), socket: &socket, temporary: &temporary };
    let port = if request.transport == Transport::Tcp { free_port(request.listen)? } else { 0 };
    let listens = (request.transport == Transport::Tcp).then(|| SocketAddr::new(request.listen, port));
    let mut more = (kind.arguments)(&binary.path, &request.log, request.lock_waits);
    if request.clients_elsewhere {
        more.extend(kind.tables_stay_inside.iter().map(Into::into));
    }
    let arguments = arguments::all(kind, &places, listens, more, &request.options)?;
    let environment = binary.environment(&request.environment);
    let administration = ConnectTarget { charset: Charset::Utf8mb4, ..ConnectTarget::private(socket.clone(), "root") };
    let mut instance = stage.spawn(&binary.path, arguments, &environment, request, StopPolicy::default())?;
    let connect = || Connection::to(&administration);
    let explain = |log: &str| explain(kind.name, log, &data, &binary.version);
    let mut session = instance.wait_ready(kind.name, request, Some(&socket), connect, explain)?;
    let version = session.version().to_owned();
    let mut target =
        ConnectTarget { database: request.database.clone(), charset: request.charset, ..administration.clone() };
    if let Some(listens) = listens {
        target = tcp_target(kind, &mut session, listens, target, request.clients_elsewhere)?;
    }
    let server = PrivateServer { engine: kind.engine, instance, target, administration, version, data };
    verify(kind, &server, request, &mut session)?;
    Ok(server)
}

/// Nothing may be changed silently: no adjusted option in the log, each option reads back, the database exists.
fn verify(
    kind: &Kind,
    server: &PrivateServer,
    request: &StartRequest,
    session: &mut dyn Session,
) -> Result<(), EngineError> {
    if let Some(refused) = server.instance.process.log_text().lines().find_map(|line| refused_option(kind.name, line)) {
        return Err(refused);
    }
    for (option, requested) in &request.options {
        // The server accepted options without a variable (plugin-load-add); more cannot be checked.
        let Some(found) = variable(kind, session, &variable_name(option))? else { continue };
        // The variable log_bin only says whether there is a log, while the option may give its path.
        let is_log = variable_name(option) == "log_bin" && found == "ON";
        if !requested.is_empty() && !is_log && !same_value(requested, &found) {
            let reason = format!(
                "requested {requested}, but the server has {found}; choose a value that it does not \
                adjust"
            );
            return Err(EngineError::OptionRefused { engine: kind.name, option: option.clone(), reason });
        }
        if variable_name(option) == "large_pages" && same_value("ON", &found) {
            // The variable stays ON without any large page.
            let pool = variable(kind, session, "innodb_buffer_pool_size")?;
            let wanted = pool.and_then(|pool| pool.parse().ok()).unwrap_or(1);
            memory::verify(kind.name, option, server.pid(), wanted)?;
        }
    }
    server.connect().map(drop)
}

/// A global variable's value; `None` if there is no variable of this name.
pub(crate) fn variable(kind: &Kind, session: &mut dyn Session, name: &str) -> Result<Option<String>, EngineError> {
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.') {
        return Ok(None);
    }
    let sql = format!("SELECT VARIABLE_VALUE FROM {} WHERE VARIABLE_NAME = '{name}'", kind.variables);
    single(session, &sql)
}

/// The folder of the system database, which every data directory has.
const SYSTEM_DATABASE: &str = "mysql";

/// Whether a directory that the user names is a data directory of this series of the server.
pub(crate) fn check_data(kind: &Kind, data: &Path, binary: &Binary) -> Result<(), EngineError> {
    if !data.join(SYSTEM_DATABASE).is_dir() {
        let reason = format!(
            "is not a data directory of {}: it has no folder {SYSTEM_DATABASE}; expected one of a stopped server",
            kind.name
        );
        return Err(EngineError::Directory { path: data.to_owned(), reason });
    }
    check_version(kind, data, binary)
}

/// The directory records the version that created it; another series is refused before the server changes anything.
pub(crate) fn check_version(kind: &Kind, data: &Path, binary: &Binary) -> Result<(), EngineError> {
    let (found, fits) = match (kind.made_by)(data) {
        None => return Ok(()),
        Some(MadeBy::Another(found)) => (found, false),
        Some(MadeBy::Version(found)) => {
            let (made, now) = (binary::series(&found), binary::series(&binary.version));
            let fits = made.is_none() || now.is_none() || made == now;
            (found, fits)
        }
    };
    if fits {
        return Ok(());
    }
    let (directory, found) = (data.to_owned(), found.trim().to_owned());
    Err(EngineError::OtherVersion { directory, found, expected: binary.version.clone() })
}

/// Other users of the machine, and other machines, can reach a port, so its account has a random password. The
/// account is created over the socket.
fn tcp_target(
    kind: &Kind,
    session: &mut dyn Session,
    listens: SocketAddr,
    target: ConnectTarget,
    clients_elsewhere: bool,
) -> Result<ConnectTarget, EngineError> {
    let password = random_password()?;
    let from = if listens.ip().is_loopback() { listens.ip().to_string() } else { "%".to_owned() };
    let account = format!("'{TCP_USER}'@'{from}'");
    (kind.root_stays_local)(session)?;
    let mut statements = (kind.account)(&account, &password);
    let rights = match (clients_elsewhere, &target.database) {
        // FILE and the right to set variables would open files of this machine. The rest is what loads read.
        (true, Some(database)) => vec![
            format!("ALL ON `{}`.*", database.replace('`', "``")),
            "PROCESS ON *.*".to_owned(),
            "SELECT ON mysql.innodb_index_stats".to_owned(),
            "SELECT ON performance_schema.*".to_owned(),
        ],
        (true, None) => Vec::new(),
        (false, _) => vec!["ALL ON *.*".to_owned()],
    };
    statements.extend(rights.iter().map(|right| format!("GRANT {right} TO {account}")));
    for sql in statements {
        // The statement contains the password.
        session.run(&sql).map_err(|source| EngineError::Sql { statement: format!("making {account}"), source })?;
    }
    let address = Address::Tcp(listens.ip().to_string(), listens.port());
    let password_key = (kind.password_key)(session)?.map_or(PasswordKey::None, PasswordKey::Pem);
    let tls = Tls { password_key, ..target.tls };
    Ok(ConnectTarget { address, user: TCP_USER.to_owned(), password, tls, ..target })
}

pub(crate) fn explain(engine: &'static str, log: &str, data: &Path, expected: &str) -> Option<EngineError> {
    log.lines().find_map(|line| refused_option(engine, line).or_else(|| full_disk(line, data))).or_else(|| {
        let foreign = log.lines().find(|line| is_foreign(line))?;
        let (directory, expected) = (data.to_owned(), expected.to_owned());
        Some(EngineError::OtherVersion {
            directory,
            found: format!("another version ({})", message(foreign)),
            expected,
        })
    })
}

/// A line about an option that the server does not know, cannot parse, or changed to another value.
fn refused_option(engine: &'static str, line: &str) -> Option<EngineError> {
    let text = message(line);
    let lower = text.to_lowercase();
    // For `loose-` options the server only warns, which is what the caller chose.
    let about = ["unknown variable '", "unknown option '", "ambiguous option '"].iter().find_map(|start| {
        let at = lower.find(start)?;
        (!lower.contains("[warning]") && !lower.contains("loose")).then(|| &text[at + start.len()..])
    });
    let adjusted = || {
        let at = lower.find("option '")?;
        let bad =
            lower.contains("adjusted to") || lower.contains("unknown suffix") || lower.contains("unsupported value");
        bad.then(|| &text[at + "option '".len()..])
    };
    let wrong_value = || {
        let at = lower.find("while setting value '")?;
        let (_, rest) = text[at..].split_once(" to '")?;
        Some(rest)
    };
    let quoted = about.or_else(adjusted).or_else(wrong_value)?;
    let name = variable_name(quoted.split(['\'', '=']).next()?);
    Some(EngineError::OptionRefused { engine, option: name, reason: text.to_owned() })
}

fn full_disk(line: &str, data: &Path) -> Option<EngineError> {
    let full = ["no space left on device", "errcode: 28", "error number 28", "error 28", "disk is full", "disk full"];
    let lower = line.to_lowercase();
    let detail = message(line).to_owned();
    full.iter().any(|words| lower.contains(words)).then(|| EngineError::DiskFull { place: data.to_owned(), detail })
}

fn is_foreign(line: &str) -> bool {
    let lower = line.to_lowercase();
    [
        "unsupported redo log format",
        "unsupported undo log",
        "upgrade after a crash is not supported",
        "was created with",
        "invalid flags 0x",
    ]
    .iter()
    .any(|words| lower.contains(words))
}

/// A log line without its date, time and thread number.
fn message(line: &str) -> &str {
    line.find('[').map_or(line, |at| &line[at..]).trim()
}

/// Version of this procedure, part of the key: raise it when prepared directories would differ.
const RECIPE: &str = "1";

fn key(kind: &Kind, binary: &Binary, shaping: &BTreeMap<String, String>, dataset: &str) -> CacheKey {
    let options = format!("{shaping:?}");
    let parts = [("recipe", RECIPE), ("binary", &binary.identity), ("options", &options), ("dataset", dataset)];
    CacheKey::new(kind.name, &parts)
}

/// The key of the directory before it contains a data set.
fn key_of_initialised(kind: &Kind, binary: &Binary, shaping: &BTreeMap<String, String>, init: &[String]) -> CacheKey {
    let (options, init) = (format!("{shaping:?}"), init.join(" "));
    let mut parts = vec![("recipe", RECIPE), ("binary", binary.identity.as_str()), ("options", options.as_str())];
    parts.extend((!init.is_empty()).then_some(("init", init.as_str())));
    CacheKey::of_initialised(kind.name, &parts)
}

pub(crate) fn is_prepared(
    kind: &Kind,
    cache: &Path,
    by: &Binary,
    options: &BTreeMap<String, String>,
    dataset: &str,
) -> bool {
    is_cached(cache, &key(kind, by, &arguments::shaping(options), dataset))
}

pub(crate) fn prepare_data(
    kind: &'static Kind,
    request: &PrepareRequest,
    fill: &mut Fill<'_>,
) -> Result<PathBuf, EngineError> {
    let binary = (kind.find)(request.binary.as_deref())?;
    let shaping = arguments::shaping(&request.options);
    let cache = &request.cache_directory;
    cached(cache, &key(kind, &binary, &shaping, &request.dataset), |partial| {
        let fresh = key_of_initialised(kind, &binary, &shaping, &request.init_options);
        let install = |partial: &Path| (kind.install)(&binary, request, &shaping, partial);
        let data = initialised(cache, &fresh, partial, install)?;
        fill_fresh(kind, request, &shaping, &data, fill)
    })
}

/// Runs the build's own `mariadb-install-db`: root without password over the socket, no test database.
pub(super) fn install(
    binary: &Binary,
    request: &PrepareRequest,
    shaping: &BTreeMap<String, String>,
    partial: &Path,
) -> Result<(), EngineError> {
    let data = partial.join("data");
    // A separate directory: a starting server deletes the temporary tables of all others in the same directory.
    let temporary = PrivateDirectory::create(&partial.join("tmp"))?;
    let scratch = ("TMPDIR".to_owned(), temporary.path().to_string_lossy().into_owned());
    let environment = binary.environment(&BTreeMap::from([scratch]));
    let (script, runs) = binary::install_script(&binary.path)?;
    let mut arguments: Vec<OsString> = runs.arguments.iter().map(OsString::from).collect();
    arguments.push(script.clone().into());
    arguments.extend(of_script(&script, &Layout::of(&binary.path))?);
    // The script splits its arguments at spaces, also the data directory: a link gives it a simple name.
    let link = if is_one_word(&data) { None } else { Some(PrivateDirectory::create(&request.run_directory)?) };
    let named = match &link {
        None => data.clone(),
        Some(folder) => {
            let name = folder.path().join("data");
            fs::create_dir(&data).map_err(|e| EngineError::io("create the directory", &data, e))?;
            std::os::unix::fs::symlink(&data, &name).map_err(|e| EngineError::io("link the directory", &name, e))?;
            name
        }
    };
    arguments.push(arguments::path("datadir", &named));
    arguments.extend(arguments::run_as());
    arguments.extend(arguments::given(NAME, shaping)?);
    let explain = |log: &str| explain("mariadb-install-db", log, &data, &binary.version);
    let stop_policy = StopPolicy::default();
    run_installer("mariadb-install-db", &runs.program, arguments, &environment, stop_policy, request, explain)
}

/// The arguments of the script: where its tree is, and those other options that this version knows.
fn of_script(script: &Path, layout: &Layout) -> Result<Vec<OsString>, EngineError> {
    let text = fs::read(script).map_err(|source| EngineError::io("read", script, source))?;
    let text = String::from_utf8_lossy(&text);
    let mut arguments: Vec<OsString> = vec!["--no-defaults".into()];
    // `--force` avoids looking up this machine's host name.
    let wanted = ["--auth-root-authentication-method=normal", "--skip-test-db", "--force"];
    arguments.extend(wanted.into_iter().filter(|option| text.contains(option)).map(OsString::from));
    match layout {
        Layout::System => {}
        Layout::Tree(base) => {
            // The script runs this program to read options.
            check_may_run(&base.join("bin/my_print_defaults"))?;
            arguments.push(arguments::path("basedir", base));
        }
        Layout::Build { build, source } => {
            arguments.extend([arguments::path("srcdir", source), arguments::path("builddir", build)]);
        }
    }
    Ok(arguments)
}

/// Whether a shell treats the path as one word in every context.
fn is_one_word(path: &Path) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:@%=".contains(&byte);
    path.as_os_str().as_bytes().iter().copied().all(plain)
}

/// Starts a server on the fresh directory, lets the caller fill it, and shuts it down: every copy starts alike.
fn fill_fresh(
    kind: &'static Kind,
    request: &PrepareRequest,
    shaping: &BTreeMap<String, String>,
    data: &Path,
    fill: &mut Fill<'_>,
) -> Result<(), EngineError> {
    let mut server = start(kind, &StartRequest::to_fill(request, data, shaping.clone()))?;
    let mut session = server.connect()?;
    statement(&mut *session, &format!("CREATE DATABASE {DEFAULT_DATABASE}"))?;
    server.use_database(DEFAULT_DATABASE);
    (kind.begin_fill)(&mut *session)?;
    fill(&server).map_err(|error| EngineError::fill(data, error))?;
    (kind.end_fill)(&mut *session)?;
    // Root without password is for the socket only, whose directory no other user can enter.
    (kind.root_stays_local)(&mut *session)?;
    // A slow shutdown merges and purges everything: no background work is left for the trials.
    statement(&mut *session, "SET GLOBAL innodb_fast_shutdown = 0")?;
    // The page list for innodb_buffer_pool_load_at_startup = ON, which is not this program's default.
    for setting in ["innodb_buffer_pool_dump_pct = 100", "innodb_buffer_pool_dump_at_shutdown = ON"] {
        statement(&mut *session, &format!("SET GLOBAL {setting}"))?;
    }
    drop(session);
    if server.stop(request.timeout)? != StopOutcome::Graceful {
        return Err(server.unfinished(request, "did not shut down"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(log: &str) -> Option<EngineError> {
        explain("mariadb", log, Path::new("/data"), "10.11")
    }

    #[test]
    fn log_lines_become_typed_errors() {
        let unknown = "2026-01-01 10:00:00 0 [ERROR] /usr/sbin/mariadbd: unknown variable 'innodb_bufer_pool=1'\n[ERROR] Aborting";
        assert!(
            matches!(of(unknown), Some(EngineError::OptionRefused { option, .. }) if option == "innodb_bufer_pool")
        );
        let adjusted = "2026-01-01 10:00:00 0 [Warning] option 'table_open_cache': unsigned value 1 adjusted to 10";
        assert!(
            matches!(of(adjusted), Some(EngineError::OptionRefused { option, .. }) if option == "table_open_cache")
        );
        let value = "2026-01-01 10:00:00 0 [ERROR] mariadbd: Error while setting value 'x' to 'innodb-flush-method'";
        assert!(
            matches!(of(value), Some(EngineError::OptionRefused { option, .. }) if option == "innodb_flush_method")
        );
        let full = "2026-01-01 10:00:00 0 [ERROR] mariadbd: Disk is full writing './x' (Errcode: 28 \"No space left on device\")";
        assert!(matches!(of(full), Some(EngineError::DiskFull { .. })));
        let newer =
            "2026-01-01 10:00:00 0 [ERROR] InnoDB: Unsupported redo log format. The redo log was created with MySQL 8";
        assert!(matches!(of(newer), Some(EngineError::OtherVersion { .. })));
        assert!(of("2026-01-01 10:00:00 0 [Note] InnoDB: 128 rollback segments are active.").is_none());
        assert!(of("2026-01-01 10:00:00 0 [Warning] mariadbd: unknown variable 'loose-x=1'").is_none());
    }
}
