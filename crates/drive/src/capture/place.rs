//! Where the captures of a trial go, and what they left behind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a capture left behind.
#[derive(Debug, Default)]
pub struct Captured {
    /// Name -> path inside the results directory.
    pub files: BTreeMap<String, String>,
    /// Name -> why it is missing.
    pub missing: BTreeMap<String, String>,
}

/// Where the captures of one trial go, and what it knows of itself.
#[derive(Debug, Clone)]
pub struct Place {
    /// The results directory that its files go to.
    pub results: PathBuf,
    /// The trial's directory inside it: `captures/trial-00003-1`.
    pub directory: String,
    /// Connections that work during the sample.
    pub threads: usize,
    pub sample_s: f64,
}

impl Place {
    /// A place that is made when it is needed.
    pub fn new(results: &Path, trial: usize, attempt: u32, threads: usize, sample_s: f64) -> Self {
        let directory = format!("captures/trial-{trial:05}-{attempt}");
        Self { results: results.to_owned(), directory, threads, sample_s }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.results.join(&self.directory).join(name)
    }

    /// Name of a file as the record has it.
    pub(super) fn relative(&self, name: &str) -> String {
        format!("{}/{name}", self.directory)
    }

    /// Writes a file and notes it.
    pub(super) fn write(&self, captured: &mut Captured, capture: &str, name: &str, content: &[u8]) {
        match tare_files::write_whole(&self.path(name), content) {
            Ok(()) => drop(captured.files.insert(capture.to_owned(), self.relative(name))),
            Err(e) => drop(captured.missing.insert(capture.to_owned(), format!("cannot write {name}: {e}"))),
        }
    }

    /// Writes a document and notes it.
    pub(super) fn write_json(
        &self,
        captured: &mut Captured,
        capture: &str,
        name: &str,
        document: &impl serde::Serialize,
    ) {
        match serde_json::to_vec_pretty(document) {
            Ok(text) => self.write(captured, capture, name, &text),
            Err(e) => drop(captured.missing.insert(capture.to_owned(), e.to_string())),
        }
    }
}
