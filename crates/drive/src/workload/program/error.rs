//! Errors of external programs.

use super::output::SHOWN_LINES;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use tare_engine::{EngineError, TlsMode};

/// Why a program gave no result; its last output is part of the message.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("cannot run {program}: {source}; give its full path, or install it")]
    Start { program: String, source: io::Error },
    /// It could not be listed. From the list the next start ends processes that remain if this process is killed.
    #[error("cannot record {program} as a running process: {source}")]
    List { program: String, source: Box<EngineError> },
    #[error("cannot create a private directory for the client's files: {source}")]
    Folder {
        /// The problem of the temporary folder or the state directory.
        source: Box<EngineError>,
    },
    #[error("sysbench has no driver for this engine")]
    NoDriver,
    #[error("{{{placeholder}}} has no value here: {reason}")]
    Placeholder { placeholder: &'static str, reason: String },
    #[error("{program} ended with {status}{}", last_output(.tail))]
    Failed { program: String, status: ExitStatus, tail: Vec<String> },
    #[error("{program} had not ended after {limit_s:.0} s and was killed{}", last_output(.tail))]
    TimedOut { program: String, limit_s: f64, tail: Vec<String> },
    #[error(
        "{program} wrote more than {} MiB and was killed; output = \"discard\" discards standard output{}",
        limit >> 20, last_output(.tail)
    )]
    Flood { program: String, limit: u64, tail: Vec<String> },
    /// The program ended, but processes that it had started did not.
    #[error(
        "{program} ended and left processes running, which were killed: {}; run it in the foreground, or stop them in \
         its cleanup", .left.join(", ")
    )]
    LeftRunning { program: String, left: Vec<String> },
    #[error("the output of {program} has no result: {expected}{}", last_output(.tail))]
    NoMetric { program: String, expected: String, tail: Vec<String> },
    #[error(
        "{program} began to measure before its threads had been bound: give it a longer warm-up (sampling.warmup_s)"
    )]
    TooEarly { program: String },
    #[error("cannot {doing} {}: {source}", path.display())]
    File { doing: &'static str, path: PathBuf, source: io::Error },
    #[error(
        "{program} does not encrypt its connections, and tls = {mode} requires it: use tare's own loads, or the \
         server's Unix socket"
    )]
    Unencrypted { program: String, mode: TlsMode },
    #[error("cannot supervise {program}: {source}")]
    Watch { program: String, source: io::Error },
    #[error("interrupted")]
    Interrupted,
}

fn last_output(tail: &[String]) -> String {
    match tail {
        [] => "; it wrote nothing".to_owned(),
        lines => format!("; it wrote last:\n{}", lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")),
    }
}
