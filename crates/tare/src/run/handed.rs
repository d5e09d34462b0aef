//! What a run hands to the processes of its trials: what they are to do, so that they believe no file for it.

use serde::{Deserialize, Serialize};
use std::io::{self, BufRead};
use tare_results::schema::Plan;

/// Everything that a trial must be sure of, through a pipe that no one else has.
#[derive(Debug, Serialize, Deserialize)]
pub struct Handed {
    pub study: String,
    /// All conditions and the whole schedule on this machine.
    pub plan: Plan,
    pub password: Option<String>,
    /// Whether the user trusts who else may write to the results.
    pub trusted: bool,
    /// The results directory that the run has open: [`Folder::identity`].
    ///
    /// [`Folder::identity`]: tare_files::Folder::identity
    pub results: (u64, u64),
}

impl Handed {
    /// As it goes through the pipe: one line.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(self).map_err(io::Error::other)?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// What the run that waits for this process has handed to it.
    pub fn receive() -> io::Result<Self> {
        let mut bytes = Vec::new();
        io::stdin().lock().read_until(b'\n', &mut bytes)?;
        serde_json::from_slice(&bytes).map_err(io::Error::other)
    }

    /// Waits until the run lets this trial of a pair go on: for a line, or for the end of the pipe, after which it
    /// waits no more.
    pub fn wait_for_other() {
        // A pipe that cannot be read is as good as closed.
        let _ = io::stdin().lock().read_until(b'\n', &mut Vec::new());
    }
}
