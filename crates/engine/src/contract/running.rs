//! A server that someone else runs, with the interface of a private one: never started, stopped or changed.

use super::diagnostics::{Diagnostics, Unset};
use super::session::SET_UP;
use crate::{ConnectTarget, Engine, EngineError, Server, StopOutcome};
use std::path::Path;
use std::time::Duration;

pub struct RunningServer {
    engine: &'static dyn Engine,
    target: ConnectTarget,
    version: String,
    encryption: Option<String>,
}

impl RunningServer {
    pub fn attach(engine: &'static dyn Engine, target: ConnectTarget) -> Result<Self, EngineError> {
        let mut session = engine.connect(&target)?;
        let failed = |source| EngineError::Connect { address: target.address.to_string(), source };
        session.set_timeout(Some(SET_UP)).map_err(failed)?;
        // A query that most servers understand; for one that does not, the version is recorded as unknown.
        let answer = session.query("SELECT version()").unwrap_or_default();
        let version = answer.into_iter().flatten().flatten().next();
        let (version, encryption) = (version.unwrap_or_else(|| "unknown".to_owned()), session.encryption());
        Ok(Self { engine, target, version, encryption })
    }

    /// How connections to it are encrypted, in words; none if they are not.
    pub fn encryption(&self) -> Option<&str> {
        self.encryption.as_deref()
    }
}

impl Server for RunningServer {
    /// No usable number: a process of someone else must not be inspected or ended by its number.
    fn pid(&self) -> u32 {
        0
    }

    fn is_ours(&self) -> bool {
        false
    }

    fn engine(&self) -> &'static dyn Engine {
        self.engine
    }

    fn data(&self) -> &Path {
        Path::new("")
    }

    fn target(&self) -> &ConnectTarget {
        &self.target
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn setting(&self, name: &str) -> Result<Option<String>, EngineError> {
        self.engine.read_setting(&mut *self.connect()?, name)
    }

    /// Does nothing: the server continues to run.
    fn stop(&mut self, _timeout: Duration) -> Result<StopOutcome, EngineError> {
        Ok(StopOutcome::GoesOn)
    }

    fn is_alive(&mut self) -> bool {
        self.connect().is_ok()
    }

    fn diagnostics(&self) -> Result<Box<dyn Diagnostics>, EngineError> {
        Ok(Box::new(Unset(self.engine.diagnostics(&self.target, &self.target)?)))
    }

    fn log_tail(&self, _lines: usize) -> Vec<String> {
        vec!["its log is its owner's".to_owned()]
    }
}
