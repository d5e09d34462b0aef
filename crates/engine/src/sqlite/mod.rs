//! SQLite as a server: the same executable as a separate process, with a thread a connection, so that placement,
//! restarts and pairing mean the same as for any server.
//!
//! A result is sent to the client row by row as a server would send it, also when the client discards it: what is
//! measured includes carrying the bytes. A transaction that meets BUSY is rolled back by the server before it answers,
//! and ROLLBACK outside a transaction is no error; both as MariaDB does on a deadlock, so that a workload can simply
//! begin again.

mod connection;
mod diagnostics;
mod dialect;
mod engine;
mod memory;
#[cfg_attr(not(any(test, feature = "planted-lock")), path = "unplanted.rs")]
mod planted;
mod pragmas;
mod protocol;
mod serve;
mod session;
mod waits;

use std::path::{Path, PathBuf};

use super::server::Fill;
use super::{Binary, ConnectTarget, Dialect, Engine, EngineError, PrepareRequest, Server, Session, StartRequest};

pub use serve::{ServeArgs, serve};

const NAME: &str = "sqlite";
/// The one file of a data directory.
const DATABASE_FILE: &str = "tare.db";
/// The hidden subcommand of this executable that is the server.
const SUBCOMMAND: &str = "sqlite-server";

/// The engine `sqlite`: the SQLite that is built into this program.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sqlite;

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::SqliteDialect
    }

    fn start_cost_s(&self) -> f64 {
        0.3
    }

    fn check_data(&self, data: &Path, _binary: &Binary) -> Result<(), EngineError> {
        engine::check_data(data)
    }

    fn binary(&self, explicit: Option<&Path>) -> Result<Binary, EngineError> {
        engine::binary(explicit)
    }

    fn knows_option(&self, name: &str, _binary: Option<&Path>) -> Result<bool, EngineError> {
        pragmas::exists(name)
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
}
