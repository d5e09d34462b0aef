//! The resolved study of a results directory, read back.

use super::document::{Source, StudyError};
use super::parse::{Overrides, parse};
use super::spec::Study;
use std::path::Path;

/// Parses the resolved study that a run wrote into a results directory, as it was read there.
pub fn parse_written(text: &str, directory: &Path) -> Result<Study, StudyError> {
    parse(Source { origin: &directory.join("study.toml").display().to_string(), text }, &Overrides::default())
}
