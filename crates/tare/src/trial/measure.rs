//! One trial, in a process of its own: set, start, bind, load, verify, stop, put back, append one record.

use super::dbt3_load;
use crate::capture::interference::Seen;
use crate::plan::design::Condition;
use crate::run::progress::Progress;
use crate::run::state::StateError;
use crate::study::settings::Kind;
use crate::study::spec::Study;
use crate::trial::contamination;
use crate::trial::counters_trial;
use crate::trial::dataset;
use crate::trial::loaded::{note_captures, note_no_captures};
use crate::trial::machine;
use crate::trial::process;
use crate::trial::server_start;
use crate::trial::session_load::{LoadError, load};
use crate::workload::dbt3::Dbt3Error;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tare_engine::{EngineError, Server};
use tare_noise::NoiseError;
use tare_results::schema::{AppliedSetting, Outcome, Plan, PlannedTrial, TrialRecord};
use tare_results::store::{self, DirectoryError};
use tare_topology::bind::BindError;
use tare_topology::{CpuSet, Machine, MachineError, ResolvedPlacement};
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
    /// The results directory that the record goes to.
    pub directory: &'a Path,
    /// The study, adapted to machine and engine.
    pub study: &'a Study,
    /// The plan's entry that is measured.
    pub planned: PlannedTrial,
    /// Which attempt this is; the first one is 1.
    pub attempt: u32,
    /// The condition, with the levels set.
    pub condition: Condition,
    /// Its placement on this machine.
    pub placement: ResolvedPlacement,
    /// Set when the run wants it to stop.
    pub interrupted: &'a AtomicBool,
    /// Why samples of it are contaminated.
    disturbed: Mutex<Vec<String>>,
}

impl<'a> Trial<'a> {
    /// Finds trial number `trial` of a results directory and resolves it on this machine.
    ///
    /// # Errors
    /// When the plan has no such trial or the machine can no longer do it.
    pub fn find(
        directory: &'a Path,
        study: &'a Study,
        plan: &Plan,
        trial: usize,
        attempt: u32,
        interrupted: &'a AtomicBool,
    ) -> Result<Self, TrialError> {
        let planned = plan
            .trials
            .iter()
            .find(|t| t.trial == trial)
            .cloned()
            .ok_or_else(|| TrialError::Plan(format!("the plan has no trial {trial}")))?;
        let condition = crate::plan::design::conditions(study)
            .map_err(TrialError::Plan)?
            .into_iter()
            .find(|c| c.name == planned.condition)
            .ok_or_else(|| TrialError::Plan(format!("the study has no condition {}", planned.condition)))?;
        let placement = condition
            .settings
            .placement
            .resolve(&Machine::this()?, condition.settings.workload.threads)
            .map_err(|e| TrialError::Plan(e.to_string()))?;
        let disturbed = Mutex::default();
        Ok(Self { directory, study, planned, attempt, condition, placement, interrupted, disturbed })
    }

    /// Makes sure that the data of this condition is in the cache.
    ///
    /// # Errors
    /// When the server cannot be started or filled.
    pub fn prepare(&self) -> Result<(), TrialError> {
        match self.condition.settings.workload.kind {
            Kind::Oltp | Kind::Dbt3 => dataset::prepared(self).map(drop),
            Kind::Counters => Ok(()),
        }
    }

    /// Measures and appends the record, of a failure too. False when interrupted: then there is none.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub fn run(&self) -> Result<bool, TrialError> {
        let started_at = tare_results::now();
        let clock = Instant::now();
        let mut record = TrialRecord::new(&self.planned, self.attempt, self.condition.levels.clone(), started_at);
        match self.measure(&mut record) {
            Ok(()) => {
                let reasons = self.disturbed.lock().unwrap_or_else(PoisonError::into_inner);
                contamination::mark(&mut record, &reasons, self.study.sampling.attempts);
            }
            Err(TrialError::Load(LoadError::Interrupted)) => return Ok(false),
            // Its run is gone, and so nobody counts its attempts.
            Err(e @ TrialError::State(StateError::Noise(NoiseError::NotParentsLock { .. }))) => return Err(e),
            // What fails while everything is being stopped says nothing about the condition.
            Err(_) if self.interrupted.load(Ordering::Relaxed) => return Ok(false),
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
        let prepared = if kind == Kind::Counters { None } else { Some(dataset::prepared(self)?) };
        // Put back when it is dropped, on every way out of here.
        let mut machine = machine::apply(&self.condition.settings)?;
        record.settings.append(&mut machine.applied);
        match prepared {
            Some(prepared) => self.measure_server(&prepared, record)?,
            None => {
                record.samples = counters_trial::measure(self)?;
                note_no_captures(self, "this workload has no server", record);
            }
        }
        machine.restore().map_err(StateError::from)?;
        Ok(())
    }

    fn measure_server(&self, prepared: &Path, record: &mut TrialRecord) -> Result<(), TrialError> {
        let mut server = server_start::start(self, prepared)?;
        record.server_version = Some(server.version().to_owned());
        record.settings.append(&mut self.server_settings(server.as_ref())?);
        let loaded = match self.condition.settings.workload.kind {
            Kind::Dbt3 => {
                note_no_captures(self, "the workload dbt3 has no capture sample yet", record);
                dbt3_load::load(self, server.as_ref())
            }
            Kind::Oltp | Kind::Counters => load(self, server.as_ref()),
        };
        Progress::Stopping.send();
        let mut loaded = match loaded {
            Ok(loaded) => loaded,
            // Whoever runs out of patience or time kills the server.
            Err(e @ (LoadError::Interrupted | LoadError::Dbt3(Dbt3Error::Timeout { .. }))) => return Err(e.into()),
            // A server that died says why in its log, and nothing else does.
            Err(e) if server.is_alive() => return Err(e.into()),
            Err(e) => {
                let tail = server.log_tail(12).join("\n");
                return Err(LoadError::ServerDied { reason: e.to_string(), tail }.into());
            }
        };
        record.samples = loaded.samples;
        record.settings.append(&mut loaded.applied);
        server.stop(STOP_TIMEOUT)?;
        note_captures(loaded.captures, loaded.capture_cost, record);
        Ok(())
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
            && let Some(setting) = server.lock_wait_setting()
            && let Some(value) = server.setting(setting)?
        {
            applied.push(AppliedSetting {
                factor: "capture.locks".into(),
                level: format!("{setting}=ON"),
                found: None,
                verified: format!("the server says {value}"),
            });
        }
        applied.extend(process::verify(&settings.process, server.pid())?);
        Ok(applied)
    }

    /// Every CPU that a thread is bound to; empty when a side may run anywhere.
    pub fn cpus(&self) -> CpuSet {
        let (client, server) = (&self.placement.client, &self.placement.server);
        let no_server = self.condition.settings.workload.kind == Kind::Counters;
        if client.is_empty() || (server.is_empty() && !no_server) {
            return CpuSet::default();
        }
        client.iter().chain(server).flat_map(CpuSet::iter).collect()
    }

    /// Takes what was seen beside a sample: judged here, and returned as its covariates.
    pub fn take_in(&self, sample: usize, seen: Seen) -> BTreeMap<String, f64> {
        if let Some(reason) = contamination::judge(&self.study.sampling, sample, &seen) {
            self.disturbed.lock().unwrap_or_else(PoisonError::into_inner).push(reason);
        }
        let mut covariates = seen.covariates;
        for name in ["foreign_cpu_s", "foreign_cpu_fraction"] {
            covariates.entry(name.into()).and_modify(|value| *value = value.max(0.0));
        }
        covariates
    }
}
