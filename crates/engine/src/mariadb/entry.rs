//! What stands in the registry for this engine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::arguments::variable_name;
use super::binary::NAME;
use super::{arguments, binary, dialect, install, option_file, options, own, server, session};
use crate::contract::server::Fill;
use crate::login::{of_option_file, of_variables_of_mysql, sockets_of_mysql};
use crate::{
    Binary, ConnectTarget, Dialect, Engine, EngineError, Footprint, Login, OptionFile, PrepareRequest, Server, Session,
    StartRequest,
};

/// The engine `mariadb`: MariaDB 10.2 or newer (10.6 or newer sends no repeated column metadata).
#[derive(Debug, Clone, Copy, Default)]
pub struct Mariadb;

impl Engine for Mariadb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::MARIADB
    }

    fn footprint(&self, options: &BTreeMap<String, String>, data_bytes: u64) -> Footprint {
        arguments::footprint(options, data_bytes)
    }

    fn start_cost_s(&self) -> f64 {
        0.6
    }

    fn fresh_cost_s(&self) -> f64 {
        5.0
    }

    fn usual_sockets(&self, _port: Option<u16>) -> Vec<PathBuf> {
        sockets_of_mysql()
    }

    fn charset_question(&self) -> Option<&'static str> {
        Some(session::CHARSET_QUESTION)
    }

    fn spreads_memory(&self, options: &BTreeMap<String, String>, _version: &str) -> Option<&'static str> {
        arguments::spreads_memory(options, false)
    }

    fn programs(&self) -> &'static [&'static str] {
        &binary::PROGRAMS
    }

    fn install(&self) -> Option<&'static str> {
        Some(binary::INSTALL)
    }

    fn check_data(&self, data: &Path, binary: &Binary) -> Result<(), EngineError> {
        server::check_version(&own::KIND, data, binary)
    }

    fn binary(&self, explicit: Option<&Path>) -> Result<Binary, EngineError> {
        binary::find(explicit)
    }

    fn knows_option(&self, name: &str, binary: Option<&Path>) -> Result<bool, EngineError> {
        options::knows(&own::KIND, name, binary)
    }

    fn unknown_options(&self, names: &[&str], binary: &Path) -> Result<Vec<String>, EngineError> {
        options::unknown(&own::KIND, names, binary)
    }

    fn read_options(&self, path: &Path, binary: &Binary) -> Result<OptionFile, EngineError> {
        option_file::read(path, binary)
    }

    fn is_prepared(&self, cache: &Path, by: &Binary, options: &BTreeMap<String, String>, dataset: &str) -> bool {
        install::is_prepared(&own::KIND, cache, by, options, dataset)
    }

    fn prepare_data(&self, request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError> {
        install::prepare_data(&own::KIND, request, fill)
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Server>, EngineError> {
        Ok(Box::new(server::start(&own::KIND, request)?))
    }

    fn connect(&self, target: &ConnectTarget) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(session::MariadbSession::open(target)?))
    }

    fn login_files(&self, asked: &Login) -> Result<Login, EngineError> {
        Ok(of_option_file(asked.option_file.as_deref(), &["client", "client-server", "client-mariadb"])?
            .or(of_variables_of_mysql()?))
    }

    fn read_setting(&self, session: &mut dyn Session, name: &str) -> Result<Option<String>, EngineError> {
        server::variable(&own::KIND, session, &variable_name(name))
    }
}
