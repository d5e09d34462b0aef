//! Why another host cannot be worked with.

use std::io;

/// Why another host cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The program that reaches it could not be started.
    #[error("{program} cannot be started to reach {host}: {source}")]
    NotStarted {
        /// The host, as the study names it.
        host: String,
        /// The first word of client.ssh.
        program: String,
        /// The operating system's reason.
        source: io::Error,
    },
    /// It cannot be reached, or this program is not there.
    #[error(
        "client.host {host} did not answer: {reason}; `{command}` must work without a question, with the same tare there \
         (client.program says where)"
    )]
    NotReached {
        /// The host, as the study names it.
        host: String,
        /// What is known of why.
        reason: String,
        /// What was run.
        command: String,
    },
    /// Another version is there.
    #[error("tare {found} is on {host}, and {expected} here: install the same version on both hosts")]
    OtherVersion {
        /// The host, as the study names it.
        host: String,
        /// The version there.
        found: String,
        /// The version here.
        expected: String,
    },
    /// It was there, and is gone.
    #[error("client.host {host} is gone: {reason}; {aftermath}")]
    Lost {
        /// The host, as the study names it.
        host: String,
        /// What is known of why.
        reason: String,
        /// What became of what was set there.
        aftermath: String,
    },
    /// Someone wants everything to end.
    #[error("interrupted")]
    Interrupted,
}
