//! Reaching a server that someone else runs.

use super::{Trial, TrialError};
use tare_engine::{RunningServer, engine_by_name, target_of};

/// The server of the study, reached as the study and the user's own files say.
pub fn attach(trial: &Trial<'_>) -> Result<RunningServer, TrialError> {
    let settings = &trial.task.condition.settings.engine;
    let engine = engine_by_name(&settings.name)?;
    let mut target = target_of(settings.running.login(trial.password.clone()), engine)?;
    target.charset = settings.charset;
    Ok(RunningServer::attach(engine, target)?)
}
