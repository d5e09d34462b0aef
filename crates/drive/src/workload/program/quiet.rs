//! A program that prepares or cleans up: run to its end, unmeasured.

use super::ProgramError;
use super::process::{Job, Running};
use std::time::{Duration, Instant};

/// Time between two questions whether to go on.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs it to its end.
///
/// # Errors
/// When it fails, takes longer than it may, or the caller no longer wants it.
pub fn run(job: &Job, limit_s: f64, go_on: &dyn Fn() -> bool) -> Result<(), ProgramError> {
    let program = job.program();
    let mut running = Running::start(job)?;
    let began = Instant::now();
    while !running.has_ended(LOOK_EVERY)? {
        if !go_on() {
            return Err(ProgramError::Interrupted);
        }
        if began.elapsed().as_secs_f64() > limit_s {
            return Err(ProgramError::TimedOut { program, limit_s, tail: running.tail() });
        }
    }
    let ended = running.finish()?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(ProgramError::Failed { program, status: ended.status, tail: ended.tail }),
    }
}
