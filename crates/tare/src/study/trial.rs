//! One trial, in a process of its own: set, start, bind, load, verify, stop, put back, append one record.

use super::design::Condition;
use super::progress::Progress;
use super::session_load::{LoadError, load};
use super::settings::Kind;
use super::spec::Study;
use super::state::StateError;
use super::{counters_trial, dataset, machine, server_start};
use crate::engine::{EngineError, Server};
use crate::results::captures;
use crate::results::schema::{AppliedSetting, Outcome, PlannedTrial, SCHEMA, TrialRecord};
use crate::results::store::{self, DirectoryError};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tare_topology::bind::BindError;
use tare_topology::{Machine, MachineError, ResolvedPlacement};
use thiserror::Error;

/// How long a server may take to shut down before it is killed.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a trial has no result.
#[derive(Debug, Error)]
pub enum TrialError {
    /// The results directory: no record could be written.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The plan has no such trial, or this machine is no longer the one it was made for.
    #[error("{0}")]
    Plan(String),
    /// Reading the machine.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// Binding the server's process.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A machine setting.
    #[error(transparent)]
    State(#[from] StateError),
    /// The server.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The counters.
    #[error("{0}")]
    Counters(String),
    /// The load, or a thread that was not where it belongs.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// What a trial works on.
pub struct Trial<'a> {
    /// Results directory.
    pub directory: &'a Path,
    /// The study.
    pub study: &'a Study,
    /// The plan's entry.
    pub planned: PlannedTrial,
    /// From 1.
    pub attempt: u32,
    /// Its condition.
    pub condition: Condition,
    /// Its placement on this machine.
    pub placement: ResolvedPlacement,
    /// Set when the run wants it to stop.
    pub interrupted: &'a AtomicBool,
}

impl<'a> Trial<'a> {
    /// Finds trial number `trial` of a results directory and resolves it on this machine.
    ///
    /// # Errors
    /// When the plan has no such trial or the machine can no longer do it.
    pub fn find(
        directory: &'a Path,
        study: &'a Study,
        trial: usize,
        attempt: u32,
        interrupted: &'a AtomicBool,
    ) -> Result<Self, TrialError> {
        let plan = store::read_plan(directory)?;
        let planned = plan
            .trials
            .into_iter()
            .find(|t| t.trial == trial)
            .ok_or_else(|| TrialError::Plan(format!("the plan has no trial {trial}")))?;
        let condition = super::design::conditions(study)
            .map_err(TrialError::Plan)?
            .into_iter()
            .find(|c| c.name == planned.condition)
            .ok_or_else(|| TrialError::Plan(format!("the study has no condition {}", planned.condition)))?;
        let placement = condition
            .settings
            .placement
            .resolve(&Machine::this()?, condition.settings.workload.threads)
            .map_err(|e| TrialError::Plan(e.to_string()))?;
        Ok(Self { directory, study, planned, attempt, condition, placement, interrupted })
    }

    /// Makes sure that the data of this condition is in the cache.
    ///
    /// # Errors
    /// When the server cannot be started or filled.
    pub fn prepare(&self) -> Result<(), TrialError> {
        match self.condition.settings.workload.kind {
            Kind::Oltp => dataset::prepared(self).map(drop),
            Kind::Counters => Ok(()),
        }
    }

    /// Measures and appends the record, of a failure too. False when interrupted: then there is none.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn run(&self) -> Result<bool, TrialError> {
        let started_at = crate::results::now();
        let clock = Instant::now();
        let mut record = self.empty_record(started_at);
        match self.measure(&mut record) {
            Ok(()) => {}
            Err(TrialError::Load(LoadError::Interrupted)) => return Ok(false),
            Err(e) => {
                record.outcome = Outcome::Failed;
                record.reason = Some(e.to_string());
            }
        }
        record.elapsed_s = clock.elapsed().as_secs_f64();
        store::append_trial(self.directory, &record)?;
        Ok(true)
    }

    fn measure(&self, record: &mut TrialRecord) -> Result<(), TrialError> {
        Progress::Starting.send();
        let kind = self.condition.settings.workload.kind;
        let prepared = if kind == Kind::Oltp { Some(dataset::prepared(self)?) } else { None };
        // Put back when it is dropped, on every way out of here.
        let mut machine = machine::apply(&self.condition.settings)?;
        record.settings.append(&mut machine.applied);
        match prepared {
            Some(prepared) => self.measure_server(&prepared, record)?,
            None => {
                record.samples = counters_trial::measure(self)?;
                self.note_no_server(record);
            }
        }
        machine.restore().map_err(StateError::from)?;
        Ok(())
    }

    fn measure_server(&self, prepared: &Path, record: &mut TrialRecord) -> Result<(), TrialError> {
        let mut server = server_start::start(self, prepared)?;
        record.server_version = Some(server.version().to_owned());
        record.settings.append(&mut self.server_settings(server.as_ref())?);
        let loaded = load(self, server.as_ref());
        Progress::Stopping.send();
        let mut loaded = match loaded {
            Ok(loaded) => loaded,
            // A server that died says why in its log, and nothing else does.
            Err(e @ LoadError::Interrupted) => return Err(e.into()),
            Err(e) if server.is_alive() => return Err(e.into()),
            Err(e) => {
                let tail = server.log_tail(12).join("\n");
                return Err(LoadError::ServerDied { reason: e.to_string(), tail }.into());
            }
        };
        server.stop(STOP_TIMEOUT)?;
        record.samples = std::mem::take(&mut loaded.samples);
        record.capture_sample = loaded.capture_cost;
        let captured = loaded.finish_captures();
        (record.captures, record.captures_missing) = (captured.files, captured.missing);
        Ok(())
    }

    /// Captures look into a server; a workload without one has none.
    fn note_no_server(&self, record: &mut TrialRecord) {
        let asked = self.condition.settings.capture;
        let all =
            [(asked.profile, captures::PROFILE), (asked.locks, captures::LOCKS), (asked.status, captures::STATUS)];
        for (_, name) in all.into_iter().filter(|(asked, _)| *asked) {
            record.captures_missing.insert(name.to_owned(), "this workload has no server".to_owned());
        }
    }

    /// What was asked of the server, and what it answers now.
    fn server_settings(&self, server: &dyn Server) -> Result<Vec<AppliedSetting>, TrialError> {
        let settings = &self.condition.settings;
        let mut applied = Vec::new();
        for (option, level) in &settings.engine.options {
            let value = server.setting(option)?.unwrap_or_else(|| "unknown to the server".into());
            applied.push(AppliedSetting {
                factor: format!("option.{option}"),
                level: level.clone(),
                found: None,
                verified: format!("the server says {value}"),
            });
        }
        if settings.capture.locks
            && let Some(value) = server.setting("performance_schema")?
        {
            applied.push(AppliedSetting {
                factor: "capture.locks".into(),
                level: "performance_schema=ON".into(),
                found: None,
                verified: format!("the server says {value}"),
            });
        }
        if let Some(on) = settings.process.aslr {
            let personality = std::fs::read_to_string(format!("/proc/{}/personality", server.pid()));
            applied.push(AppliedSetting {
                factor: "aslr".into(),
                level: if on { "on" } else { "off" }.into(),
                found: None,
                verified: format!(
                    "personality {} of the server process",
                    personality.as_deref().unwrap_or("unreadable").trim()
                ),
            });
        }
        Ok(applied)
    }

    fn empty_record(&self, started_at: String) -> TrialRecord {
        TrialRecord {
            schema: SCHEMA,
            trial: self.planned.trial,
            attempt: self.attempt,
            block: self.planned.block,
            condition: self.condition.name.clone(),
            levels: self.condition.levels.clone(),
            outcome: Outcome::Ok,
            reason: None,
            started_at,
            elapsed_s: 0.0,
            settings: Vec::new(),
            server_version: None,
            samples: Vec::new(),
            captures: BTreeMap::new(),
            captures_missing: BTreeMap::new(),
            capture_sample: None,
        }
    }
}
