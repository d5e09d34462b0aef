//! The file of statements, and the keys of a study for it.

use super::mix::{FileChanges, Mix};
use crate::workload::keys;
use crate::workload::sessions::Pace;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tare_text::{Key, Keyed, UnknownWord};

/// Size limit of a file of statements, bytes: the same as for a study.
pub const LARGEST: u64 = 16 << 20;

/// Reads a regular file of at most `limit` bytes; pipes and devices are refused, so that reading cannot block.
///
/// # Errors
/// The file is not regular, is larger, or is not UTF-8.
pub fn read_statements(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = tare_files::read_named_file(path, limit)?;
    String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

#[derive(Debug, Clone, Default)]
pub struct SqlSettings {
    /// The file's text and its parsed form; None before a file is named.
    mix: Option<(String, Arc<Mix>)>,
    requested: FileChanges,
    pub directory: PathBuf,
    pub pace: Pace,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl PartialEq for SqlSettings {
    fn eq(&self, other: &Self) -> bool {
        (self.text(), &self.requested, &self.directory, self.pace, self.preload)
            == (other.text(), &other.requested, &other.directory, other.pace, other.preload)
    }
}

impl SqlSettings {
    fn read(&mut self, path: &str) -> Result<(), String> {
        let text = read_statements(Path::new(path), LARGEST)
            .map_err(|e| format!("a file of statements in place of {path}: {e}"))?;
        self.set_text(&text).map_err(|expected| format!("in {path}: {expected}"))?;
        let whole = std::path::absolute(path).map_err(|e| format!("a path: {e}"))?;
        self.directory = whole.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(())
    }

    pub fn set_text(&mut self, text: &str) -> Result<(), String> {
        self.mix = Some((text.to_owned(), Arc::new(Mix::read(text, &self.requested)?)));
        Ok(())
    }

    pub fn set_builtin(&mut self, name: &str) -> Result<(), String> {
        self.set_text(builtin(name)?)
    }

    /// Changes values of the file, now or once the file is known.
    fn ask(&mut self, change: impl FnOnce(&mut FileChanges)) -> Result<(), String> {
        change(&mut self.requested);
        match self.text().map(str::to_owned) {
            Some(text) => self.set_text(&text),
            None => Ok(()),
        }
    }

    /// The text of the file, as stored in a plan.
    pub fn text(&self) -> Option<&str> {
        self.mix.as_ref().map(|(text, _)| text.as_str())
    }

    pub(super) fn requested(&self) -> &FileChanges {
        &self.requested
    }

    pub(super) fn mix(&self) -> Option<&Arc<Mix>> {
        self.mix.as_ref().map(|(_, mix)| mix)
    }
}

impl Keyed for SqlSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key::words(
            "file",
            "sql: the file of your statements, transactions and data (docs/sql.md), relative to the study; a run \
             keeps a copy",
            // The content is stored as `statements`.
            |_| None,
            |s, v| s.read(&v.to_string()),
        ),
        Key::words(
            "statements",
            "sql: the text of such a file",
            |s| s.text().map(Into::into),
            |s, v| s.set_text(&v.to_string()),
        ),
        Key::words(
            "builtin",
            "sql: a file of statements that comes with the program (docs/workloads.md): insert-benchmark or microbenchmarks",
            // The content is stored as `statements`.
            |_| None,
            |s, v| s.set_builtin(&v.to_string()),
        ),
        Key::words(
            "transaction",
            "sql: names of the file's transactions to run, separated by commas; absent: all, according to their \
             weights",
            |s| s.requested.transaction.as_deref().map(Into::into),
            |s, v| s.ask(|requested| requested.transaction = Some(v.to_string())),
        ),
        keys::tables(|s| s.requested.tables, |s, n| drop(s.ask(|requested| requested.tables = Some(n)))),
        keys::rows(|s| s.requested.rows, |s, n| drop(s.ask(|requested| requested.rows = Some(n)))),
        Key::path(
            "data_directory",
            "sql: the directory that paths of its data are relative to; absent: that of the file",
            |s| Some(&s.directory).filter(|directory| !directory.as_os_str().is_empty()),
            |s, directory| s.directory = directory,
        ),
        keys::rate_of_pace(),
        keys::objective(),
        keys::preload(|s| Some(s.preload), |s, on| s.preload = on),
    ];
}

const INSERT_BENCHMARK: &str = include_str!("../../../../../studies/loads/insert-benchmark.toml");
const MICROBENCHMARKS: &str = include_str!("../../../../../studies/loads/microbenchmarks.toml");

/// Their names for `workload.builtin` and `tare load`.
pub const BUILTIN_NAMES: [&str; 2] = ["insert-benchmark", "microbenchmarks"];

pub(super) fn builtin(name: &str) -> Result<&'static str, String> {
    match name {
        "insert-benchmark" => Ok(INSERT_BENCHMARK),
        "microbenchmarks" => Ok(MICROBENCHMARKS),
        _ => Err(UnknownWord::among(name, &BUILTIN_NAMES).to_string()),
    }
}
