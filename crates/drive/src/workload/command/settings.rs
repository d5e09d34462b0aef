//! What is run, and what is read from it.

use crate::workload::program::{Line, Parser};
use std::path::PathBuf;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandSettings {
    /// The program that is measured, with its arguments.
    pub command: Option<Line>,
    /// Whether its lines are given to a shell.
    pub shell: bool,
    /// Added to its environment.
    pub environment: Vec<(String, String)>,
    /// Where it runs; none: where tare was started.
    pub directory: Option<PathBuf>,
    /// Fills a fresh server, once; the data are kept.
    pub fill: Option<Line>,
    /// Run before every sample.
    pub prepare: Option<Line>,
    /// Run after every sample.
    pub cleanup: Option<Line>,
    /// Whether it needs a server; none: where a line speaks of one.
    pub server: Option<bool>,
    /// Runs before the first sample that are thrown away.
    pub warmup_runs: usize,
    /// Seconds that one run may take.
    pub timeout_s: Option<f64>,
    /// What is read from its output; nothing: how long it took is the result.
    pub metrics: Vec<Parser>,
    /// Whether its standard output is thrown away unread.
    pub discard: bool,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl CommandSettings {
    /// The lines of a study that are run.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        [&self.command, &self.fill, &self.prepare, &self.cleanup].into_iter().flatten()
    }
}
