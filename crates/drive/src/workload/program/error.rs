//! Why a program of someone else's gave no result.

use super::output::SHOWN_LINES;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use tare_engine::{EngineError, TlsMode};

/// Why a program gave no result; the last that it said is part of the message.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It could not be started.
    #[error("cannot run {program}: {source}; give its full path, or install it")]
    Start {
        /// Its first word.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It could not be listed for the next start, which ends what a kill leaves of it.
    #[error("cannot list {program} as one that runs: {source}")]
    List {
        /// Its first word.
        program: String,
        /// What is wrong with the state directory.
        source: Box<EngineError>,
    },
    /// There is no place for the files that it reads and writes.
    #[error("no private folder for files of the client: {source}")]
    Folder {
        /// What is wrong with the temporary folder or the state directory.
        source: Box<EngineError>,
    },
    /// A line of the study names what this server does not have.
    #[error("{{{placeholder}}} means nothing here: {reason}")]
    Placeholder {
        /// Its name, without braces.
        placeholder: &'static str,
        /// Why, and what to do.
        reason: String,
    },
    /// It ended badly.
    #[error("{program} ended with {status}{}", said(.tail))]
    Failed {
        /// Its first word.
        program: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it wrote.
        tail: Vec<String>,
    },
    /// It did not end.
    #[error("{program} had not ended after {limit_s:.0} s and was killed{}", said(.tail))]
    TimedOut {
        /// Its first word.
        program: String,
        /// What it might take, seconds.
        limit_s: f64,
        /// The last lines that it wrote.
        tail: Vec<String>,
    },
    /// It wrote without end.
    #[error(
        "{program} wrote more than {} MiB and was killed; output = \"discard\" throws standard output away{}",
        limit >> 20, said(.tail)
    )]
    Flood {
        /// Its first word.
        program: String,
        /// What it might write, bytes.
        limit: u64,
        /// The last lines that it wrote.
        tail: Vec<String>,
    },
    /// It ended, and processes that it had started did not.
    #[error(
        "{program} ended and left processes running, which were killed: {}; run it in the foreground, or stop them in \
         its cleanup", .left.join(", ")
    )]
    LeftRunning {
        /// Its first word.
        program: String,
        /// Name and number of each.
        left: Vec<String>,
    },
    /// What it wrote holds no result.
    #[error("the output of {program} has no result: {expected}{}", said(.tail))]
    NoMetric {
        /// Its first word.
        program: String,
        /// What was looked for.
        expected: String,
        /// The last lines that it wrote.
        tail: Vec<String>,
    },
    /// It measured before its threads were where they belong.
    #[error(
        "{program} began to measure before its threads had been bound: give it a longer warm-up (sampling.warmup_s)"
    )]
    TooEarly {
        /// Its first word.
        program: String,
    },
    /// A file of the trial.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file in question.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It would send in clear what must be encrypted.
    #[error(
        "{program} would not encrypt its connections, and tls = {mode} is asked for: drive this server with tare's own \
         loads, or over its Unix socket"
    )]
    Unencrypted {
        /// Its first word.
        program: String,
        /// What is asked for.
        mode: TlsMode,
    },
    /// The process could not be looked after.
    #[error("cannot look after {program}: {source}")]
    Watch {
        /// Its first word.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The caller wants the work to end.
    #[error("interrupted")]
    Interrupted,
}

fn said(tail: &[String]) -> String {
    match tail {
        [] => "; it wrote nothing".to_owned(),
        lines => format!("; it wrote last:\n{}", lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")),
    }
}
