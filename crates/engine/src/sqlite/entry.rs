//! What stands in the registry for this engine.

use super::diagnostics::SqliteDiagnostics;
use super::pragmas::{NAME, Sqlite};
use super::{dialect, engine, planted, pragmas, session};
use crate::contract::diagnostics::Diagnostics;
use crate::contract::server::Fill;
use crate::{
    Binary, ConnectTarget, Dialect, Engine, EngineError, Footprint, PrepareRequest, Server, Session, StartRequest,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::SqliteDialect
    }

    /// Pages are the page cache's: what a connection keeps for itself is a few megabytes.
    fn footprint(&self, _options: &BTreeMap<String, String>, _data_bytes: u64) -> Footprint {
        Footprint::default()
    }

    fn start_cost_s(&self) -> f64 {
        0.12
    }

    fn fresh_cost_s(&self) -> f64 {
        0.3
    }

    fn check_data(&self, data: &Path, _binary: &Binary) -> Result<(), EngineError> {
        engine::check_data(data)
    }

    fn binary(&self, explicit: Option<&Path>) -> Result<Binary, EngineError> {
        engine::asked(explicit)
    }

    fn knows_option(&self, name: &str, _binary: Option<&Path>) -> Result<bool, EngineError> {
        Ok(planted::is_option(name) || pragmas::names()?.contains(&name.to_lowercase()))
    }

    fn option_names(&self, _binary: Option<&Path>) -> Result<Vec<String>, EngineError> {
        pragmas::names()
    }

    fn is_prepared(&self, cache: &Path, _: &Binary, options: &BTreeMap<String, String>, dataset: &str) -> bool {
        engine::is_prepared(cache, options, dataset)
    }

    fn prepare_data(&self, request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError> {
        engine::prepare_data(request, fill)
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Server>, EngineError> {
        Ok(Box::new(engine::start(request)?))
    }

    fn connect(&self, target: &ConnectTarget) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(session::SqliteSession::open(target)?))
    }

    fn read_setting(&self, session: &mut dyn Session, name: &str) -> Result<Option<String>, EngineError> {
        engine::setting(session, name)
    }

    fn diagnostics(&self, target: &ConnectTarget, _owner: &ConnectTarget) -> Result<Box<dyn Diagnostics>, EngineError> {
        Ok(Box::new(SqliteDiagnostics::new(self.connect(target)?)))
    }
}
