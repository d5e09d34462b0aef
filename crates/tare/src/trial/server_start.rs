//! Starts the server of a trial with its placement: the new process inherits CPUs and memory policy.

use super::dataset::TrialData;
use super::two_hosts::Clients;
use super::{Trial, TrialError, memory_nodes, pool_memory, process};
use crate::state::{self, StateError};
use std::time::Duration;
use tare_cpuset::CpuSet;
use tare_engine::{Server, StartRequest};
use tare_noise::{CacheGroup, System};
use tare_results::schema::{AppliedSetting, TrialRecord};
use tare_study::language::settings::PADDING;
use tare_topology::bind;

/// A server with its resource control group, which is removed on drop.
pub(crate) struct Started {
    pub server: Box<dyn Server>,
    _limits: Option<CacheGroup>,
}

/// Starts the server on data that it may change, at an address that its clients can reach.
pub(crate) fn start(
    trial: &Trial<'_>,
    data: &TrialData,
    clients: Option<&Clients>,
    record: &mut TrialRecord,
) -> Result<Started, TrialError> {
    let settings = &trial.task.condition.settings;
    let engine = settings.engine.kind;
    let log = trial.log(&format!("server-{:05}-{}.log", trial.task.planned.trial, trial.attempt))?;
    let mut request = StartRequest {
        binary: settings.engine.binary.clone(),
        state_directory: Some(state::directory()?),
        options: settings.engine.options.clone(),
        start_timeout: Duration::from_secs_f64(settings.engine.start_timeout_s),
        transport: settings.engine.transport,
        charset: settings.engine.charset,
        lock_waits: settings.capture.locks,
        ..StartRequest::new(data.directory()?, state::run_directory(), log)
    };
    if let Some(clients) = clients {
        request.listen = clients.listen;
        request.clients_elsewhere = true;
    }
    process::request(&settings.process, std::env::var(PADDING).ok(), &mut request).map_err(TrialError::Process)?;
    let all: CpuSet = trial.task.placement.server.iter().flat_map(CpuSet::iter).collect();
    request.memory = memory_nodes::confines(trial)?;
    let requested = &trial.task.placement.memory;
    let inherited = match &request.memory.nodes {
        Some(_) => memory_nodes::inherited(requested)?,
        None => requested.clone(),
    };
    let here = bind::Placed::apply((!all.is_empty()).then_some(&all), &inherited)?;
    let limits = CacheGroup::make(&System::of_environment(), settings.process.cache).map_err(StateError::from)?;
    request.limits = limits.as_ref().map(CacheGroup::tasks);
    let server = engine.start(&request)?;
    here.restore()?;
    if let Some(nodes) = &request.memory.nodes {
        record.settings.push(memory_nodes::verify(nodes, requested, server.as_ref())?);
    }
    record.settings.extend(pool_memory::apply(trial, server.as_ref())?);
    if let Some(limits) = &limits {
        // The server started inside the group, but a wrapper may have started it outside.
        limits.enter(server.pid().cast_signed()).map_err(StateError::from)?;
        let found = limits.verify().map_err(StateError::from)?.into_iter();
        record.settings.extend(found.map(|(factor, level, verified)| AppliedSetting::new(factor, level, verified)));
    }
    Ok(Started { server, _limits: limits })
}
