//! What a trial is given.

use std::sync::atomic::AtomicBool;
use tare_drive::workload::Progress;
use tare_files::{Folder, LogFile};
use tare_results::schema::Plan;
use tare_results::store::{LOGS, Writer};
use tare_study::plan::task::Task;

#[derive(Clone)]
pub struct Trial<'a> {
    pub directory: &'a Folder,
    pub plan: &'a Plan,
    pub task: Task,
    /// The first one is 1.
    pub attempt: u32,
    /// Whose file the record goes to; none: the local run's.
    pub writer: Option<Writer>,
    /// Password for a server that someone else runs, where it came from the environment or a prompt.
    pub password: Option<String>,
    /// Set when anyone who started it wants it to stop.
    pub interrupted: &'a AtomicBool,
    /// Told every step as it begins.
    pub tell: &'a (dyn Fn(Progress) + Sync),
}

impl Trial<'_> {
    pub(super) fn log(&self, name: &str) -> tare_files::Result<LogFile> {
        self.directory.make_sub(LOGS)?.log(name)
    }
}
