//! The data a workload needs, made once and cached.

use super::{Trial, TrialError};
use crate::state;
use crate::workload::FillJob;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tare_engine::{PrepareRequest, Server, engine_by_name};

/// The data directory of a trial's condition: the one that the study names, or else the cached one, made when it is not
/// there.
///
/// # Errors
/// When the engine cannot make it, or the load cannot fill it.
pub fn prepared(trial: &Trial<'_>) -> Result<PathBuf, TrialError> {
    let settings = &trial.task.condition.settings;
    if let Some(data) = &settings.engine.data {
        return Ok(data.clone());
    }
    let (seed, load) = (trial.task.sampling.seed, settings.workload.load.load());
    let engine = engine_by_name(&settings.engine.name)?;
    let request = PrepareRequest {
        binary: settings.engine.binary.clone(),
        cache_directory: state::cache_directory()?,
        dataset: load.dataset(seed),
        options: settings.engine.options.clone(),
        run_directory: state::run_directory(),
        log: trial.directory.join("logs").join("prepare.log"),
        state_directory: Some(state::directory()?),
        timeout: Duration::from_secs_f64(settings.engine.start_timeout_s.max(60.0)),
    };
    let go_on = |_| match trial.interrupted.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    let parallel = std::thread::available_parallelism().map_or(1, usize::from);
    let job = FillJob { seed, parallel, go_on: &go_on };
    Ok(engine.prepare_data(&request, &mut |server: &dyn Server| load.fill(&job, server))?)
}
