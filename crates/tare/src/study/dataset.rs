//! The data a workload needs, made once and cached.

use super::settings::Settings;
use super::state;
use super::trial::{Trial, TrialError};
use crate::engine::{PrepareRequest, engine_by_name};
use crate::workload::Dialect;
use crate::workload::oltp::{self, Fill};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
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
        state_directory: Some(state::directory()?),
        timeout: Duration::from_secs_f64(settings.engine.start_timeout_s.max(60.0)),
    };
    let fill = Fill {
        tables: settings.workload.oltp.tables,
        distribution: tare_load::Distribution::default(),
        seed: trial.study.sampling.seed,
        sessions: std::thread::available_parallelism().map_or(1, usize::from),
        dialect: dialect(settings),
    };
    let go_on = |_| match trial.interrupted.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    Ok(engine.prepare_data(&request, &mut |server| Ok(oltp::prepare(&fill, &|| server.connect(), &go_on)?))?)
}

/// The SQL that a condition's engine speaks.
pub fn dialect(settings: &Settings) -> Dialect {
    Dialect::of(&settings.engine.name)
}

/// Two conditions with the same words share one data directory.
fn description(settings: &Settings, seed: u64) -> String {
    let tables = settings.workload.oltp.tables;
    format!("sysbench oltp, tables {}, rows {}, seed {seed}", tables.tables, tables.rows)
}
