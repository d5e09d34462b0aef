//! What a run passes to the processes of its trials, so that they need not trust files for it.

use serde::{Deserialize, Serialize};
use std::io::{self, BufRead};
use tare_results::schema::Plan;

/// The input of a trial, sent through a pipe that no other process can use.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Handed {
    pub study: String,
    /// All conditions and the whole schedule on this machine.
    pub plan: Plan,
    pub password: Option<String>,
    /// Whether the user trusts everyone else who may write to the results.
    pub trusted: bool,
    /// The identity ([`Folder::identity`]) of the results directory that the run has open.
    ///
    /// [`Folder::identity`]: tare_files::Folder::identity
    pub results: (u64, u64),
}

impl Handed {
    /// One line of JSON for the pipe.
    pub(crate) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self).map_err(io::Error::other)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads the input from the run that started this process.
    pub(crate) fn receive() -> io::Result<Self> {
        let mut bytes = Vec::new();
        io::stdin().lock().read_until(b'\n', &mut bytes)?;
        serde_json::from_slice(&bytes).map_err(io::Error::other)
    }

    /// Waits until the run lets this trial of a pair go on: for a line, or the end of the pipe, which ends all waiting.
    pub(crate) fn wait_for_other() {
        // A pipe that cannot be read counts as closed.
        let _ = io::stdin().lock().read_until(b'\n', &mut Vec::new());
    }
}
