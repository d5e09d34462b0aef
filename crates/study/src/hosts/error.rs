//! Why another host cannot be worked with.

use std::io;

/// Why another host cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("{program} cannot be started to reach {host}: {source}")]
    NotStarted { host: String, program: String, source: io::Error },
    /// It cannot be reached, or this program is not there.
    #[error(
        "client.host {host} did not answer: {reason}; `{command}` must work without a question, with the same tare there \
         (client.program says where)"
    )]
    NotReached { host: String, reason: String, command: String },
    #[error("tare {found} is on {host}, and {expected} here: install the same version on both hosts")]
    OtherVersion { host: String, found: String, expected: String },
    #[error("client.host {host} is gone: {reason}; {aftermath}")]
    Lost { host: String, reason: String, aftermath: String },
    #[error("interrupted")]
    Interrupted,
}
