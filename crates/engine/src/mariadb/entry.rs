//! The implementation of [`Engine`] for MariaDB and MySQL, and the kind of server that is MariaDB.

use super::arguments::variable_name;
use super::binary::{Layout, NAME, PRODUCT, product_of, series};
use super::diagnostics::MariadbDiagnostics;
use super::dialect::MARIADB;
use super::kind::{Kind, MadeBy, OfKind};
use super::{arguments, binary, options, server};
use crate::contract::diagnostics::Diagnostics;
use crate::contract::server::Fill;
use crate::data::directories::small_file;
use crate::login::{of_option_file, of_variables_of_mysql, sockets_of_mysql};
use crate::process::instance::{rows, statement};
use crate::programs::program::places;
use crate::wire::{Connection, HANDLING, OWN_THREADS};
use crate::{
    Binary, ConnectTarget, Dialect, Engine, EngineError, Footprint, Login, OptionFile, PoolMemory, PrepareRequest,
    SelfReport, Server, Session, StartRequest,
};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The character set in which the server expects the statements of this connection.
const CHARSET_QUESTION: &str = "SELECT @@character_set_client";

/// The engine that uses this code too.
const MYSQL: &str = "mysql";

/// The engine of a server with this version, if the version says so: MySQL's names no product, and a MariaDB can be
/// given a version without its name, but MySQL has no version 10 or later.
fn own_engine(version: &str) -> Option<&'static str> {
    match series(version) {
        _ if version.contains(PRODUCT) => Some(NAME),
        Some((major, _)) if major < 10 => Some(MYSQL),
        _ => None,
    }
}

impl<E: OfKind> Engine for E {
    fn name(&self) -> &'static str {
        self.kind().name
    }

    fn dialect(&self) -> &'static dyn Dialect {
        self.kind().dialect
    }

    fn footprint(&self, options: &BTreeMap<String, String>, data_bytes: u64) -> Footprint {
        arguments::footprint(options, data_bytes)
    }

    fn start_cost_s(&self) -> f64 {
        self.kind().start_cost_s
    }

    fn fresh_cost_s(&self) -> f64 {
        self.kind().fresh_cost_s
    }

    fn usual_sockets(&self, _port: Option<u16>) -> Vec<PathBuf> {
        sockets_of_mysql()
    }

    fn charset_question(&self) -> Option<&'static str> {
        Some(CHARSET_QUESTION)
    }

    fn spreads_memory(&self, options: &BTreeMap<String, String>, version: &str) -> Option<&'static str> {
        let by_default = self.kind().interleaves_from.zip(series(version)).is_some_and(|(from, found)| found >= from);
        arguments::spreads_memory(options, by_default)
    }

    fn pool_memory(&self) -> PoolMemory {
        PoolMemory::Interleaved(arguments::SPREADS)
    }

    fn programs(&self) -> &'static [&'static str] {
        self.kind().programs
    }

    fn places(&self) -> Vec<PathBuf> {
        (self.kind().places)()
    }

    fn install(&self) -> Option<&'static str> {
        Some(self.kind().install_command)
    }

    fn check_data(&self, data: &Path, binary: &Binary) -> Result<(), EngineError> {
        server::check_data(self.kind(), data, binary)
    }

    fn binary(&self, explicit: Option<&Path>) -> Result<Binary, EngineError> {
        (self.kind().find)(explicit)
    }

    fn knows_option(&self, name: &str, binary: Option<&Path>) -> Result<bool, EngineError> {
        options::knows(self.kind(), name, binary)
    }

    fn option_names(&self, binary: Option<&Path>) -> Result<Vec<String>, EngineError> {
        Ok(options::all(self.kind(), binary)?.into_iter().collect())
    }

    fn unknown_options(&self, names: &[&str], binary: &Path) -> Result<Vec<String>, EngineError> {
        options::unknown(self.kind(), names, binary)
    }

    fn read_options(&self, path: &Path, binary: &Binary) -> Result<OptionFile, EngineError> {
        options::read(path, binary)
    }

    fn is_prepared(&self, cache: &Path, by: &Binary, options: &BTreeMap<String, String>, dataset: &str) -> bool {
        server::is_prepared(self.kind(), cache, by, options, dataset)
    }

    fn prepare_data(&self, request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError> {
        server::prepare_data(self.kind(), request, fill)
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Server>, EngineError> {
        Ok(Box::new(server::start(self.kind(), request)?))
    }

    fn connect(&self, target: &ConnectTarget) -> Result<Box<dyn Session>, EngineError> {
        let connection = Connection::to(target)?;
        let engine = self.kind().name;
        if let Some(its_own) = own_engine(connection.version()).filter(|own| *own != engine) {
            let (version, address) = (connection.version().to_owned(), target.address.to_string());
            let product = if its_own == NAME { PRODUCT } else { "MySQL" };
            let version = format!("{product} {version}");
            return Err(EngineError::OtherProduct { engine, its_own, version, address });
        }
        Ok(Box::new(connection))
    }

    fn login_files(&self, requested: &Login) -> Result<Login, EngineError> {
        Ok(of_option_file(requested.option_file.as_deref(), self.kind().login_groups)?.or(of_variables_of_mysql()?))
    }

    fn address_sources(&self) -> Option<&'static str> {
        Some("~/.my.cnf, MYSQL_UNIX_PORT")
    }

    fn password_file(&self) -> Option<&'static str> {
        Some("~/.my.cnf")
    }

    fn read_setting(&self, session: &mut dyn Session, name: &str) -> Result<Option<String>, EngineError> {
        server::variable(self.kind(), session, &variable_name(name))
    }

    fn self_report(&self, owner: &mut dyn Session) -> Result<SelfReport, EngineError> {
        let mut report = SelfReport::read(owner, self.kind().settings)?;
        let message = ["version", "version_comment"].map(|name| report.settings.get(name));
        let message = message.map(|setting| setting.map_or("", |setting| setting.value.as_str())).join(" ");
        report.product = (!message.trim().is_empty()).then(|| product_of(&message));
        let pool = report.settings.get("innodb_buffer_pool_size");
        report.buffer_pool_bytes = pool.and_then(|pool| pool.value.parse().ok());
        report.thread_pool = report.settings.get(HANDLING).map(|handling| handling.value != OWN_THREADS);
        Ok(report)
    }

    fn diagnostics(&self, _target: &ConnectTarget, owner: &ConnectTarget) -> Result<Box<dyn Diagnostics>, EngineError> {
        let (session, variables) = (self.connect(owner)?, self.kind().variables);
        Ok(Box::new(MariadbDiagnostics { session, variables }))
    }

    fn lock_wait_setting(&self) -> Option<&'static str> {
        Some("performance_schema")
    }
}

/// The engine `mariadb`: MariaDB 10.2 or newer (10.6 or newer sends no repeated column metadata).
#[derive(Debug, Clone, Copy, Default)]
pub struct Mariadb;

impl OfKind for Mariadb {
    fn kind(&self) -> &'static Kind {
        &KIND
    }
}

pub(super) static KIND: Kind = Kind {
    engine: &Mariadb,
    name: NAME,
    interleaves_from: None,
    start_cost_s: 0.6,
    fresh_cost_s: 5.0,
    programs: &binary::PROGRAMS,
    places: || places(&[]),
    install_command: binary::INSTALL,
    login_groups: &["client", "client-server", "client-mariadb"],
    socket: "mariadb.sock",
    variables: "information_schema.GLOBAL_VARIABLES",
    settings: "SELECT VARIABLE_NAME, GLOBAL_VALUE, DEFAULT_VALUE, GLOBAL_VALUE_ORIGIN, NULL, NULL \
               FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL",
    dialect: &MARIADB,
    find: binary::find,
    made_by: |data| {
        let read = |name| small_file(&data.join(name));
        // The data dictionary of MySQL, which MariaDB cannot read.
        let foreign = data.join("mysql.ibd").exists().then(|| MadeBy::Another("MySQL 8.0 or newer".to_owned()));
        let reported =
            || ["mariadb_upgrade_info", "mysql_upgrade_info"].into_iter().find_map(read).map(MadeBy::Version);
        foreign.or_else(reported).or_else(|| log_creator(data))
    },
    install: server::install,
    arguments: |binary, log, lock_waits| {
        // Loose: a server built without performance_schema can still start.
        let mut more = Layout::of(binary).arguments();
        more.push(format!("--loose-performance-schema={}", if lock_waits { "ON" } else { "OFF" }).into());
        // From 11.4 on each start would generate a key for seconds, for sockets that need no encryption.
        more.push("--loose-ssl=0".into());
        if binary::is_safe_script(binary) {
            more.extend(arguments::of_safe_script(log));
        }
        more
    },
    begin_fill: |_| Ok(()),
    end_fill: |_| Ok(()),
    root_stays_local,
    tables_stay_inside: &["--skip-symbolic-links"],
    password_key: |_| Ok(None),
    account: |account, password| vec![format!("CREATE OR REPLACE USER {account} IDENTIFIED BY '{password}'")],
};

/// The version that created InnoDB's log, from the log's header: old versions record it nowhere else.
fn log_creator(data: &Path) -> Option<MadeBy> {
    let mut head = [0; 48];
    tare_files::open_named(&data.join("ib_logfile0")).ok()??.read_exact(&mut head).ok()?;
    // log0log.h: LOG_HEADER_CREATOR.
    let creator = String::from_utf8_lossy(&head[16..]);
    let creator = creator.trim_end_matches('\0');
    match creator.strip_prefix("MariaDB ") {
        Some(version) => Some(MadeBy::Version(version.to_owned())),
        None => creator.starts_with("MySQL ").then(|| MadeBy::Another(creator.to_owned())),
    }
}

/// Drops remote root accounts and anonymous accounts, which some versions create. mysql.user may be a view.
fn root_stays_local(session: &mut dyn Session) -> Result<(), EngineError> {
    let sql = "SELECT User, Host FROM mysql.user WHERE User = '' OR (User = 'root' AND Host <> 'localhost')";
    for row in rows(session, sql)? {
        let [Some(user), Some(host)] = row.as_slice() else { continue };
        statement(session, &format!("DROP USER '{}'@'{}'", user.replace('\'', "''"), host.replace('\'', "''")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_tells_mariadb_from_mysql_unless_it_was_replaced() {
        let of = ["10.11.19-MariaDB-0+deb12u1", "9.7.4-2", "5.7.44-48-log", "11.8.3-own", "own"].map(own_engine);
        assert_eq!(of, [Some(NAME), Some(MYSQL), Some(MYSQL), None, None]);
    }

    #[test]
    fn a_directory_without_a_version_file_is_recognised_by_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let of = |creator: &str| {
            let mut head = vec![0; 512];
            head[16..16 + creator.len()].copy_from_slice(creator.as_bytes());
            std::fs::write(folder.path().join("ib_logfile0"), head).unwrap();
            (KIND.made_by)(folder.path())
        };
        assert_eq!((KIND.made_by)(folder.path()), None);
        let version = |text: &str| Some(MadeBy::Version(text.to_owned()));
        assert_eq!(of("MariaDB 10.2.11"), version("10.2.11"));
        assert_eq!(of("MySQL 5.7.44"), Some(MadeBy::Another("MySQL 5.7.44".to_owned())));
        assert_eq!(of(""), None);
        std::fs::write(folder.path().join("mysql_upgrade_info"), "10.6.1-MariaDB").unwrap();
        assert_eq!(of("MariaDB 10.2.11"), version("10.6.1-MariaDB"));
    }
}
