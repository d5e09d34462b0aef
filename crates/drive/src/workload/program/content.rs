//! The content of a client's program files as they ran, which identifies a program even if its file is replaced.

use super::Job;
use super::line::file_of;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use tare_engine::remembered_sha1;
use tare_files::open_named;

/// The started file, and the program that its process runs when it begins to measure, which is another one if the file
/// is a script, or a wrapper that calls exec. The files are kept open, and read when nothing is timed any more.
#[derive(Debug, Default)]
pub(super) struct ClientFiles {
    started: Option<File>,
    measured: Option<File>,
}

impl ClientFiles {
    /// Opens the file that is about to be started.
    pub(super) fn of(job: &Job) -> Self {
        let own = || std::env::var_os("PATH").unwrap_or_default();
        let path = job.environment.iter().find(|(name, _)| name == "PATH").map_or_else(own, |(_, path)| path.clone());
        let file = file_of(&job.program(), &path).map(|file| match &job.directory {
            Some(directory) => directory.join(file),
            None => file,
        });
        Self { started: file.and_then(|file| open_named(&file).ok()?), measured: None }
    }

    /// Opens the program that this process runs now.
    pub(super) fn look(&mut self, pid: i32) {
        self.measured = open_named(&PathBuf::from(format!("/proc/{pid}/exe"))).ok().flatten();
    }

    /// SHA-1 of each file that could be read.
    pub(super) fn sha1(self, cache: &Path) -> BTreeSet<String> {
        self.started.into_iter().chain(self.measured).filter_map(|file| remembered_sha1(file, cache)).collect()
    }
}
