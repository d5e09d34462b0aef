//! Where the captures of a trial go, and what they left behind.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tare_files::{Folder, Result};
use tare_results::store::CAPTURES;

/// Call chains of the profile.
pub(super) const FOLDED_FILE: &str = "profile.folded";

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
    /// `captures` of the results directory.
    pub(super) all: Arc<Folder>,
    /// The trial's folder in it, and its name: `trial-00003-1`.
    pub(super) folder: Arc<Folder>,
    name: String,
    /// Connections that work during the sample.
    pub threads: usize,
    pub sample_s: f64,
}

impl Place {
    /// The trial's folder, made where missing.
    ///
    /// # Errors
    /// When it cannot be made, or is a link.
    pub fn make(results: &Folder, trial: usize, attempt: u32, threads: usize, sample_s: f64) -> Result<Self> {
        let name = format!("trial-{trial:05}-{attempt}");
        let all = results.make_sub(CAPTURES)?;
        let folder = all.make_sub(&name)?;
        Ok(Self { all: Arc::new(all), folder: Arc::new(folder), name, threads, sample_s })
    }

    /// The path of a file through the folder's handle, for programs that take nothing else.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path_by_handle(name)
    }

    /// Removes a file that is not needed any more.
    pub(super) fn remove(&self, name: &str) {
        // One that stays is in no one's way.
        let _ = self.folder.remove(name);
    }

    /// Removes the folder where nothing could be captured.
    pub(super) fn remove_empty(&self) {
        let _ = self.all.remove_sub(&self.name);
    }

    /// Name of a file as the record has it.
    pub(super) fn relative(&self, name: &str) -> String {
        format!("{CAPTURES}/{}/{name}", self.name)
    }

    /// Writes a file and notes it.
    pub(super) fn write(&self, captured: &mut Captured, capture: &str, name: &str, content: &[u8]) {
        match self.folder.write(name, content) {
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
