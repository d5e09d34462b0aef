//! A program that prepares, cleans up or builds: run to its end, unmeasured.

use super::ProgramError;
use super::process::{Ended, Job, Running};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(50);

pub fn run(job: &Job, limit_s: f64, go_on: &dyn Fn() -> bool) -> Result<(), ProgramError> {
    let ended = to_its_end(job, limit_s, go_on)?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(ProgramError::Failed { program: job.program(), status: ended.status, tail: ended.tail }),
    }
}

pub fn to_its_end(job: &Job, limit_s: f64, go_on: &dyn Fn() -> bool) -> Result<Ended, ProgramError> {
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
    running.finish()
}
