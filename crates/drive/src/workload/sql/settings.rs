//! Which file of statements.

use super::mix::Mix;
use crate::workload::sessions::Pace;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub struct SqlSettings {
    /// The file's text and what it comes to; none: not yet named.
    mix: Option<(String, Arc<Mix>)>,
    /// What paths of data are relative to.
    pub directory: PathBuf,
    pub pace: Pace,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl PartialEq for SqlSettings {
    fn eq(&self, other: &Self) -> bool {
        (self.text(), &self.directory, self.pace, self.preload)
            == (other.text(), &other.directory, other.pace, other.preload)
    }
}

impl SqlSettings {
    /// Takes the statements from a file.
    pub fn read(&mut self, path: &str) -> Result<(), String> {
        let text =
            std::fs::read_to_string(path).map_err(|e| format!("a file of statements in place of {path}: {e}"))?;
        self.set_text(&text).map_err(|expected| format!("in {path}: {expected}"))?;
        let whole = std::path::absolute(path).map_err(|e| format!("a path: {e}"))?;
        self.directory = whole.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(())
    }

    /// Takes the statements as a file has them.
    pub fn set_text(&mut self, text: &str) -> Result<(), String> {
        self.mix = Some((text.to_owned(), Arc::new(Mix::read(text)?)));
        Ok(())
    }

    /// The text of the file, as a plan keeps it.
    pub fn text(&self) -> Option<&str> {
        self.mix.as_ref().map(|(text, _)| text.as_str())
    }

    /// What it comes to.
    pub(super) fn mix(&self) -> Option<&Arc<Mix>> {
        self.mix.as_ref().map(|(_, mix)| mix)
    }
}
