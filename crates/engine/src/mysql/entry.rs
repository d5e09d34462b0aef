//! What stands in the registry for this engine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::binary::NAME;
use super::{binary, kind};
use crate::contract::server::Fill;
use crate::login::{of_option_file, of_variables_of_mysql, sockets_of_mysql};
use crate::mariadb::arguments::variable_name;
use crate::mariadb::binary::series;
use crate::mariadb::session::{CHARSET_QUESTION, MariadbSession};
use crate::mariadb::{arguments, install as shared, option_file, options, server};
use crate::{
    Binary, ConnectTarget, Dialect, Engine, EngineError, Footprint, Login, OptionFile, PrepareRequest, Server, Session,
    StartRequest,
};

/// The engine `mysql`: MySQL 5.7 or newer, tried with 9.7.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mysql;

impl Engine for Mysql {
    fn name(&self) -> &'static str {
        NAME
    }

    fn dialect(&self) -> &'static dyn Dialect {
        kind::KIND.dialect
    }

    fn footprint(&self, options: &BTreeMap<String, String>, data_bytes: u64) -> Footprint {
        arguments::footprint(options, data_bytes)
    }

    fn start_cost_s(&self) -> f64 {
        3.0
    }

    fn fresh_cost_s(&self) -> f64 {
        8.0
    }

    fn usual_sockets(&self, _port: Option<u16>) -> Vec<PathBuf> {
        sockets_of_mysql()
    }

    fn charset_question(&self) -> Option<&'static str> {
        Some(CHARSET_QUESTION)
    }

    fn spreads_memory(&self, options: &BTreeMap<String, String>, version: &str) -> Option<&'static str> {
        // On by default since 8.4.
        arguments::spreads_memory(options, series(version).is_some_and(|series| series >= (8, 4)))
    }

    fn programs(&self) -> &'static [&'static str] {
        &["mysqld"]
    }

    fn places(&self) -> Vec<PathBuf> {
        binary::searched()
    }

    fn install(&self) -> Option<&'static str> {
        Some(binary::INSTALL)
    }

    fn check_data(&self, data: &Path, binary: &Binary) -> Result<(), EngineError> {
        server::check_version(&kind::KIND, data, binary)
    }

    fn binary(&self, explicit: Option<&Path>) -> Result<Binary, EngineError> {
        binary::find(explicit)
    }

    fn knows_option(&self, name: &str, binary: Option<&Path>) -> Result<bool, EngineError> {
        options::knows(&kind::KIND, name, binary)
    }

    fn unknown_options(&self, names: &[&str], binary: &Path) -> Result<Vec<String>, EngineError> {
        options::unknown(&kind::KIND, names, binary)
    }

    fn read_options(&self, path: &Path, binary: &Binary) -> Result<OptionFile, EngineError> {
        option_file::read(path, binary)
    }

    fn is_prepared(&self, cache: &Path, by: &Binary, options: &BTreeMap<String, String>, dataset: &str) -> bool {
        shared::is_prepared(&kind::KIND, cache, by, options, dataset)
    }

    fn prepare_data(&self, request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError> {
        shared::prepare_data(&kind::KIND, request, fill)
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Server>, EngineError> {
        Ok(Box::new(server::start(&kind::KIND, request)?))
    }

    fn connect(&self, target: &ConnectTarget) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(MariadbSession::open(target)?))
    }

    fn login_files(&self, asked: &Login) -> Result<Login, EngineError> {
        Ok(of_option_file(asked.option_file.as_deref(), &["client"])?.or(of_variables_of_mysql()?))
    }

    fn read_setting(&self, session: &mut dyn Session, name: &str) -> Result<Option<String>, EngineError> {
        server::variable(&kind::KIND, session, &variable_name(name))
    }
}
