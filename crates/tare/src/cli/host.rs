//! Taking the machine for a command, and saying what was found on it.

use super::{Problem, output};
use crate::state::{self, Host};

/// Takes the machine. What a killed run had left, and who else uses the machine, is said on standard error.
///
/// # Errors
/// As [`state::take_host`].
pub fn take() -> Result<Host, Problem> {
    let host = state::take_host()?;
    if let Some(other) = host.beside() {
        output::note(&format!(
            "note: another user's run has this machine as well and may disturb this one: {other}; root does not wait"
        ));
    }
    for file in host.restored.failed().chain(host.restored.changed_by_other()) {
        output::note(&format!("note: {} ({}) is not as it was found: {:?}", file.setting, file.path, file.outcome));
    }
    Ok(host)
}
