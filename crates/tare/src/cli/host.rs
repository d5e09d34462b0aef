//! Locks the machine for a command, and reports what was found on it.

use super::{Problem, output};
use crate::state::{self, Host, StateError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tare_noise::NoiseError;

/// Locks the machine. Prints on standard error what a killed run had left, and which other user runs on the machine.
pub(crate) fn take() -> Result<Host, Problem> {
    Ok(reported(state::take_host(&report)?))
}

/// Locks the machine for a task of a scheduler; waits if another task has it.
///
/// # Errors
/// As [`take`]; when `requested` is set while waiting, that another run has the machine.
pub(crate) fn take_in_turn(requested: &AtomicBool) -> Result<Host, Problem> {
    let mut noted = false;
    loop {
        match state::take_host(&report) {
            Err(StateError::Noise(error @ NoiseError::Locked { .. })) if !requested.load(Ordering::Relaxed) => {
                if !noted {
                    output::note(&format!("note: {error}; waiting until it ends"));
                }
                noted = true;
                std::thread::sleep(Duration::from_millis(200));
            }
            taken => return Ok(reported(taken?)),
        }
    }
}

fn report(who: &str) {
    output::note(&format!(
        "waiting for the last trial of an earlier run, for a minute at most: {who} still holds its lock"
    ));
}

fn reported(host: Host) -> Host {
    if let Some(other) = host.other() {
        output::note(&format!(
            "note: another user's run uses this machine too and may disturb this one: {other}; root does not wait for \
             it"
        ));
    }
    for file in host.restored.failed().chain(host.restored.changed_by_other()) {
        output::note(&format!("note: {} ({}) {}", file.setting, file.path, file.outcome));
    }
    host
}
