//! MariaDB: a private instance of the installed server, without configuration files and without network.

pub(super) mod arguments;
pub(super) mod binary;
mod diagnostics;
pub(super) mod dialect;
pub(super) mod explain;
pub(super) mod install;
mod kind;
pub(super) mod options;
pub(super) mod server;
pub(super) mod session;

use std::path::{Path, PathBuf};

use super::server::Fill;
use super::{Binary, ConnectTarget, Dialect, Engine, EngineError, PrepareRequest, Server, Session, StartRequest};

pub(super) use kind::Kind;

const NAME: &str = "mariadb";

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

    fn start_cost_s(&self) -> f64 {
        3.0
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

    fn prepare_data(&self, request: &PrepareRequest, fill: &mut Fill<'_>) -> Result<PathBuf, EngineError> {
        install::prepare_data(&kind::KIND, request, fill)
    }

    fn start(&self, request: &StartRequest) -> Result<Box<dyn Server>, EngineError> {
        Ok(Box::new(server::start(&kind::KIND, request)?))
    }

    fn connect(&self, target: &ConnectTarget) -> Result<Box<dyn Session>, EngineError> {
        Ok(Box::new(session::MariadbSession::open(target)?))
    }
}
