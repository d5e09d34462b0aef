//! Starts a private instance.

use super::arguments::{self, Places, variable_name};
use super::explain::{explain, refused_option};
use super::{Kind, MadeBy, binary};
use crate::contract::option_file::same_value;
use crate::data::directories::socket_path;
use crate::process::huge_pages;
use crate::process::instance::{PrivateServer, ServerDirectories, free_port, random_password, single};
use crate::process::server_process::StopPolicy;
use crate::wire::Connection;
use crate::{
    Address, Binary, Charset, ConnectTarget, EngineError, PasswordKey, Server, Session, StartRequest, Tls, Transport,
};
use std::fs::DirBuilder;
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

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
            huge_pages::verify(kind.name, option, server.pid(), wanted)?;
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
