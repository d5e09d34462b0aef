//! A private server of any engine, as the handle that loads and trials know.

use super::instance::{ERROR_LINES, Instance};
use crate::contract::diagnostics::Diagnostics;
use crate::{ConnectTarget, Dialect, Engine, EngineError, PrepareRequest, SelfReport, Server, Session, StopOutcome};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) struct PrivateServer {
    pub engine: &'static dyn Engine,
    pub instance: Instance,
    pub target: ConnectTarget,
    /// As who may do everything: for the engine's own questions.
    pub administration: ConnectTarget,
    pub version: String,
    pub data: PathBuf,
}

impl PrivateServer {
    /// New sessions start in `database`.
    pub(crate) fn use_database(&mut self, database: &str) {
        self.target.database = Some(database.to_owned());
    }

    /// Why the data directory that it filled is not whole.
    pub(crate) fn unfinished(&self, request: &PrepareRequest, reason: &str) -> EngineError {
        let (engine, tail) = (self.engine.name(), self.log_tail(ERROR_LINES));
        let (waited, reason, log) = (request.timeout, reason.to_owned(), request.log.path());
        EngineError::NotReady { engine, waited, reason, log, tail }
    }

    fn administer(&self) -> Result<Box<dyn Session>, EngineError> {
        self.engine.connect(&self.administration)
    }
}

impl Server for PrivateServer {
    fn pid(&self) -> u32 {
        self.instance.process.pid()
    }

    fn dialect(&self) -> &'static dyn Dialect {
        self.engine.dialect()
    }

    fn data(&self) -> &Path {
        &self.data
    }

    fn lock_wait_setting(&self) -> Option<&'static str> {
        self.engine.lock_wait_setting()
    }

    fn target(&self) -> &ConnectTarget {
        &self.target
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn connect(&self) -> Result<Box<dyn Session>, EngineError> {
        self.engine.connect(&self.target)
    }

    fn setting(&self, name: &str) -> Result<Option<String>, EngineError> {
        self.engine.read_setting(&mut *self.administer()?, name)
    }

    fn self_report(&self) -> Result<SelfReport, EngineError> {
        self.engine.self_report(&mut *self.administer()?)
    }

    fn stop(&mut self, timeout: Duration) -> Result<StopOutcome, EngineError> {
        self.instance.stop(timeout)
    }

    fn diagnostics(&self) -> Result<Box<dyn Diagnostics>, EngineError> {
        self.engine.diagnostics(&self.target, &self.administration)
    }

    fn outlived(&self) -> &[String] {
        self.instance.process.outlived()
    }

    fn is_alive(&mut self) -> bool {
        self.instance.process.is_alive()
    }

    fn log_tail(&self, lines: usize) -> Vec<String> {
        self.instance.process.log_tail(lines)
    }
}
