//! The data a workload needs, made once and cached.

use crate::run::state;
use crate::study::settings::{Kind, Settings};
use crate::trial::measure::{Trial, TrialError};
use crate::workload::{dbt3, oltp};
use std::error::Error;
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tare_engine::{PrepareRequest, Server, engine_by_name};

/// The data directory of a trial's condition: the one that the study names, or else the cached one, made when it is not
/// there.
pub fn prepared(trial: &Trial<'_>) -> Result<PathBuf, TrialError> {
    let settings = &trial.condition.settings;
    if let Some(data) = &settings.engine.data {
        return Ok(data.clone());
    }
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
    Ok(engine.prepare_data(&request, &mut |server| fill(trial, server))?)
}

fn fill(trial: &Trial<'_>, server: &dyn Server) -> Result<(), Box<dyn Error + Send + Sync>> {
    let settings = &trial.condition.settings;
    let parallel = std::thread::available_parallelism().map_or(1, usize::from);
    let dialect = server.dialect();
    let connect = || server.connect();
    let go_on = |_| match trial.interrupted.load(Ordering::Relaxed) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    if settings.workload.kind == Kind::Dbt3 {
        let directory = scratch(server)?;
        let fill = dbt3::Fill { scale: settings.workload.dbt3.scale, dialect, parallel, directory: &directory };
        dbt3::prepare(&fill, &connect, &go_on)?;
        if dialect.needs_scratch() {
            std::fs::remove_dir_all(&directory)?;
        }
        return Ok(());
    }
    let fill = oltp::Fill {
        tables: settings.workload.oltp.tables,
        distribution: tare_load::Distribution::default(),
        seed: trial.study.sampling.seed,
        sessions: parallel,
        dialect,
    };
    Ok(oltp::prepare(&fill, &connect, &go_on)?)
}

/// Whether the data directory that a study names is there.
///
/// # Errors
/// The reason.
pub fn available(settings: &Settings) -> Result<(), String> {
    match &settings.engine.data {
        Some(path) => std::fs::read_dir(path)
            .map(drop)
            .map_err(|e| format!("the data directory {} cannot be read: {e}", path.display())),
        None => Ok(()),
    }
}

/// A directory beside the data being made, on the same file system. Of a filling that fails or is killed it goes with
/// the data. Not made where the engine needs none.
fn scratch(server: &dyn Server) -> Result<PathBuf, Box<dyn Error + Send + Sync>> {
    if !server.dialect().needs_scratch() {
        return Ok(PathBuf::new());
    }
    let directory = server.data().parent().ok_or("the server's data have no directory around them")?.join("scratch");
    std::fs::DirBuilder::new().mode(0o700).create(&directory)?;
    Ok(directory)
}

/// Two conditions with the same words share one data directory.
fn description(settings: &Settings, seed: u64) -> String {
    if settings.workload.kind == Kind::Dbt3 {
        return format!("dbt3, recipe {}, scale {}", dbt3::RECIPE, settings.workload.dbt3.scale);
    }
    let tables = settings.workload.oltp.tables;
    format!("sysbench oltp, tables {}, rows {}, seed {seed}", tables.tables, tables.rows)
}
