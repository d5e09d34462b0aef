//! Programs that make a data directory: run to their end, with the reason where they fail.

use super::instance::ERROR_LINES;
use super::leftovers::Registration;
use super::process_tree::ProcessTree;
use super::server_process::{Launch, ServerProcess, StopPolicy};
use crate::{EngineError, PrepareRequest};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// Runs it with the arguments that the study adds, listed where the next start finds it after a kill. `explain` reads
/// the reason of a failure out of the log.
pub(crate) fn run_installer(
    name: &'static str,
    program: &Path,
    mut arguments: Vec<OsString>,
    environment: &BTreeMap<String, String>,
    manners: StopPolicy,
    request: &PrepareRequest,
    explain: impl Fn(&str) -> Option<EngineError>,
) -> Result<(), EngineError> {
    arguments.extend(request.init_options.iter().map(OsString::from));
    let (log, tree) = (&request.log, ProcessTree::planned());
    let launch = Launch { program, arguments, environment, aslr: None, preload: None, log, manners, tree };
    let state = request.state_directory.as_deref();
    let mut registration = state.map(|state| Registration::begin(state, Vec::new(), &launch.tree)).transpose()?;
    // Dropped first: it is listed until all of it has ended.
    let mut process = ServerProcess::spawn(&launch)?;
    if let Some(registration) = &mut registration {
        registration.started(process.pid())?;
    }
    let ended = process.wait(request.timeout)?;
    EngineError::unless_interrupted()?;
    if ended && process.succeeded() {
        return Ok(());
    }
    if let Some(error) = explain(&process.log_text()) {
        return Err(error);
    }
    // Some end with a page of advice; what went wrong stands above it.
    let is_error = |line: &&str| line.to_uppercase().contains("ERROR");
    let errors: Vec<String> = process.log_text().lines().filter(is_error).map(str::to_owned).collect();
    let tail = if errors.is_empty() { process.log_tail(ERROR_LINES) } else { errors };
    let log = log.path();
    Err(if ended {
        EngineError::Died { engine: name, status: process.status(), log, tail }
    } else {
        let reason = "what makes the data directory still runs".to_owned();
        EngineError::NotReady { engine: name, waited: request.timeout, reason, log, tail }
    })
}
