//! The data a workload needs, made once and cached.

use super::settings::Settings;
use super::state;
use super::trial::{Trial, TrialError};
use crate::engine::{PrepareRequest, engine_by_name};
use crate::workload::oltp;
use std::path::PathBuf;
use std::time::Duration;

/// The cached data directory of a trial's condition, made when it is not there.
pub fn prepared(trial: &Trial<'_>) -> Result<PathBuf, TrialError> {
    let settings = &trial.condition.settings;
    let engine = engine_by_name(&settings.engine.name).map_err(|e| TrialError::Plan(e.to_string()))?;
    let request = PrepareRequest {
        binary: settings.engine.binary.clone(),
        cache_directory: state::cache_directory(),
        dataset: description(settings, trial.study.sampling.seed),
        options: settings.engine.options.clone(),
        run_directory: state::run_directory(),
        log: trial.directory.join("logs").join("prepare.log"),
        state_directory: Some(state::directory().map_err(|e| TrialError::Plan(e.to_string()))?),
        timeout: Duration::from_secs_f64(settings.engine.start_timeout_s.max(60.0)),
    };
    let tables = oltp::Tables::of(settings, trial.study.sampling.seed);
    Ok(engine.prepare_data(&request, &mut |server| Ok(oltp::prepare(&|| server.connect(), &tables)?))?)
}

/// Two conditions with the same words share one data directory.
fn description(settings: &Settings, seed: u64) -> String {
    let oltp = &settings.workload.oltp;
    format!("sysbench oltp, tables {}, rows {}, seed {seed}", oltp.tables, oltp.rows)
}
