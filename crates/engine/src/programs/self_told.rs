//! What a server program says of itself.

use std::path::{Path, PathBuf};

use super::ask::{Question, ask};
use crate::{Binary, EngineError};

impl Binary {
    /// What it prints when it is called with these arguments.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String, EngineError> {
        ask(&Question { libraries: self.libraries.as_deref(), ..Question::new(&self.path, arguments) })
    }
}

/// What a program says of itself, and the folders of libraries that it needs for that: without them, where it can.
pub(crate) fn self_told(
    path: &Path,
    arguments: &[&str],
    beside: &[PathBuf],
) -> Result<(String, Option<String>), EngineError> {
    let question = Question { with_errors: true, ..Question::new(path, arguments) };
    let text = ask(&question)?;
    if beside.is_empty() || !text.contains("error while loading shared libraries") {
        return Ok((text, None));
    }
    let folders: Vec<String> = beside.iter().map(|folder| folder.display().to_string()).collect();
    let libraries = folders.join(":");
    let text = ask(&Question { libraries: Some(&libraries), ..question })?;
    Ok((text, Some(libraries)))
}

/// As much of an answer as an error shows.
pub(crate) fn start(text: &str) -> String {
    text.trim().chars().take(200).collect()
}
