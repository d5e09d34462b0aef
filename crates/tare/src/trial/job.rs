//! The input of a trial.

use std::sync::atomic::AtomicBool;
use tare_drive::workload::Progress;
use tare_files::{Folder, LogFile};
use tare_results::schema::Plan;
use tare_results::store::{LOGS, Writer};
use tare_study::plan::task::Task;

#[derive(Clone)]
pub(crate) struct Trial<'a> {
    pub directory: &'a Folder,
    pub plan: &'a Plan,
    pub task: Task,
    /// The first attempt is 1.
    pub attempt: u32,
    /// The writer in whose file the record goes; `None`: the local run.
    pub writer: Option<Writer>,
    /// Password for a running server, from the environment or a prompt.
    pub password: Option<String>,
    /// Set when the trial must stop.
    pub interrupted: &'a AtomicBool,
    /// Called at the start of every step.
    pub report: &'a (dyn Fn(Progress) + Sync),
}

impl Trial<'_> {
    pub(super) fn log(&self, name: &str) -> tare_files::Result<LogFile> {
        self.directory.make_sub(LOGS)?.log(name)
    }
}
