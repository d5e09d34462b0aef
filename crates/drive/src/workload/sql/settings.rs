//! Which file of statements, and the keys that say it.

use super::mix::Mix;
use crate::workload::keys;
use crate::workload::sessions::Pace;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tare_text::{Key, Keyed};

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

impl Keyed for SqlSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key::words(
            "file",
            "sql: the file of your statements, transactions and data (docs/sql.md), relative to the study; a run keeps \
             what it says",
            // What it said is kept as `statements`.
            |_| None,
            |s, v| s.read(&v.to_string()),
        ),
        Key::words(
            "statements",
            "sql: the text of such a file",
            |s| s.text().map(Into::into),
            |s, v| s.set_text(&v.to_string()),
        ),
        Key::path(
            "data_directory",
            "sql: what the paths of its data are relative to; absent: the folder of the file",
            |s| Some(&s.directory).filter(|directory| !directory.as_os_str().is_empty()),
            |s, directory| s.directory = directory,
        ),
        keys::rate_of_pace(),
        keys::objective(),
        keys::preload(|s| s.preload, |s, on| s.preload = on),
    ];
}
