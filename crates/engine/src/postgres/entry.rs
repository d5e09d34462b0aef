//! The implementation of [`Engine`] for PostgreSQL.

use super::binary::{NAME, Postgresql};
use super::connection::Connection;
use super::diagnostics::PostgresDiagnostics;
use super::{binary, dialect, server};
use crate::contract::diagnostics::Diagnostics;
use crate::contract::option_file::bytes_of;
use crate::contract::server::Fill;
use crate::data::directories::memory_for_bytes;
use crate::login::{as_libpq_reads, of_service, of_variables_of_libpq, password_of, socket_of_postgres};
use crate::{
    Binary, ConnectTarget, DEFAULT_DATABASE, Dialect, Engine, EngineError, Footprint, Login, OptionFile, PoolMemory,
    PrepareRequest, SelfReport, Server, Session, StartRequest,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Size of a cluster without tables, with its first write-ahead log, bytes (PostgreSQL 15: 40 MB).
const EMPTY_BYTES: u64 = 40 << 20;

/// Where Debian's and PostgreSQL's own packages put sockets.
const SOCKETS: &str = "/var/run/postgresql";

impl Engine for Postgresql {
    fn name(&self) -> &'static str {
        NAME
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::PostgresDialect
    }

    fn footprint(&self, options: &BTreeMap<String, String>, data_bytes: u64) -> Footprint {
        Footprint {
            pool_bytes: bytes_of(options, "shared_buffers").unwrap_or_else(|| memory_for_bytes(data_bytes)),
            files_bytes: EMPTY_BYTES,
        }
    }

    fn pool_memory(&self) -> PoolMemory {
        PoolMemory::Shared
    }

    fn start_cost_s(&self) -> f64 {
        0.5
    }

    fn fresh_cost_s(&self) -> f64 {
        2.0
    }

    fn default_port(&self) -> u16 {
        5432
    }

    fn default_user(&self) -> &'static str {
        server::ROOT
    }

    fn usual_sockets(&self, port: Option<u16>) -> Vec<PathBuf> {
        [SOCKETS, "/tmp"].map(|folder| socket_of_postgres(Path::new(folder), port)).to_vec()
    }

    fn socket_at(&self, path: PathBuf, port: Option<u16>) -> PathBuf {
        if path.is_dir() { socket_of_postgres(&path, port) } else { path }
    }

    /// From PostgreSQL 18 on initdb enables them by default (release notes); older versions do not.
    fn data_checksums(&self, binary: &Binary, init_options: &[String]) -> Option<bool> {
        let requested = init_options.iter().rev().find_map(|option| match option.as_str() {
            "--data-checksums" | "-k" => Some(true),
            "--no-data-checksums" => Some(false),
            _ => None,
        });
        if requested.is_some() {
            return requested;
        }
        binary::major(&binary.version).map(|major| major >= 18)
    }

    fn programs(&self) -> &'static [&'static str] {
        &["postgres"]
    }

    fn places(&self) -> Vec<PathBuf> {
        binary::all_places()
    }

    fn install(&self) -> Option<&'static str> {
        Some(binary::INSTALL)
    }

    fn check_data(&self, data: &Path, binary: &Binary) -> Result<(), EngineError> {
        server::check_version(data, binary)
    }

    fn binary(&self, explicit: Option<&Path>) -> Result<Binary, EngineError> {
        binary::find(explicit)
    }

    fn knows_option(&self, name: &str, binary: Option<&Path>) -> Result<bool, EngineError> {
        binary::knows_option(name, binary)
    }

    fn option_names(&self, binary: Option<&Path>) -> Result<Vec<String>, EngineError> {
        binary::option_names(binary)
    }

    fn read_options(&self, path: &Path, _binary: &Binary) -> Result<OptionFile, EngineError> {
        binary::read_option_file(path)
    }

    fn is_prepared(&self, cache: &Path, by: &Binary, _: &BTreeMap<String, String>, dataset: &str) -> bool {
        server::is_prepared(cache, by, dataset)
    }

    fn prepare_data(&self, request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError> {
        server::prepare_data(request, fill)
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Server>, EngineError> {
        Ok(Box::new(server::start(request)?))
    }

    fn connect(&self, target: &ConnectTarget) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(Connection::to(target)?))
    }

    fn address_sources(&self) -> Option<&'static str> {
        Some("PGHOST, PGSERVICE")
    }

    fn password_file(&self) -> Option<&'static str> {
        Some("~/.pgpass")
    }

    /// The requested service or the one in `PGSERVICE`; then the password file, if no password is known yet.
    fn login_files(&self, requested: &Login) -> Result<Login, EngineError> {
        let service =
            requested.service.clone().or_else(|| std::env::var("PGSERVICE").ok()).filter(|name| !name.is_empty());
        let found = service.map_or_else(|| Ok(Login::default()), |name| of_service(&name))?;
        let found = as_libpq_reads(found.or(of_variables_of_libpq()?));
        let all = requested.clone().or(found.clone());
        if all.password.is_some() {
            return Ok(found);
        }
        // For a socket outside the usual folder, libpq looks up the folder's name in the password file.
        let host = all.host.as_deref().filter(|host| *host != SOCKETS).unwrap_or("localhost");
        let (database, user) = (all.database.as_deref().unwrap_or(DEFAULT_DATABASE), all.user.as_deref());
        let user = user.unwrap_or_else(|| self.default_user());
        let password = password_of(host, all.port.unwrap_or_else(|| self.default_port()), database, user)?;
        Ok(Login { password, ..found })
    }

    fn read_setting(&self, session: &mut dyn Session, name: &str) -> Result<Option<String>, EngineError> {
        server::setting(session, name)
    }

    fn self_report(&self, owner: &mut dyn Session) -> Result<SelfReport, EngineError> {
        let settings = "SELECT name, setting, boot_val, source, unit, sourcefile FROM pg_settings";
        let mut report = SelfReport::read(owner, settings)?;
        // A process of its own serves each connection.
        report.thread_pool = Some(false);
        report.buffer_pool_bytes = report.settings.get("shared_buffers").and_then(|pool| {
            let page_kib: u64 = pool.unit.as_ref()?.strip_suffix("kB")?.parse().ok()?;
            Some((pool.value.parse::<u64>().ok()? * page_kib) << 10)
        });
        // Only the superuser of some versions may read this view; otherwise the build stays unknown.
        let build = "SELECT name, setting FROM pg_config WHERE name IN ('CONFIGURE', 'CC', 'CFLAGS', 'LDFLAGS')";
        for row in owner.query(build).unwrap_or_default() {
            if let [Some(name), Some(value)] = row.as_slice() {
                report.build.insert(name.clone(), value.clone());
            }
        }
        Ok(report)
    }

    fn diagnostics(&self, target: &ConnectTarget, _owner: &ConnectTarget) -> Result<Box<dyn Diagnostics>, EngineError> {
        Ok(Box::new(PostgresDiagnostics::new(self.connect(target)?, self.connect(target)?)))
    }
}
