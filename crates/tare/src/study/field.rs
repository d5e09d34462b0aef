//! One key of a study, and the table of all of them: parsing, factors, `--set`, writing and the reference page read it.

use super::fields;
use super::settings::{Kind, Settings};

/// One key of a study. As a factor it is known by `key` alone.
pub struct Field {
    /// Table it stands in.
    pub section: &'static str,
    /// Its name in a study file.
    pub key: &'static str,
    /// The workload it belongs to; none: all.
    pub only: Option<Kind>,
    /// What it means, for the reference.
    pub help: &'static str,
    /// The present value, none when it is not set.
    pub get: fn(&Settings) -> Option<String>,
    /// Sets a value; the error says what was expected.
    pub set: fn(&mut Settings, &str) -> Result<(), String>,
}

/// What is captured is no factor: it must not change what is measured.
pub const CAPTURE: &str = "capture";

/// All keys but `engine.options.*` and the machine settings, which are open-ended.
pub fn all() -> impl Iterator<Item = &'static Field> {
    fields::ALL.iter().copied().flatten()
}

/// The field known by `key` in `section`.
pub fn find(section: &str, key: &str) -> Option<&'static Field> {
    all().find(|f| f.section == section && f.key == key)
}

/// The field that a factor of this name varies: `engine` and `workload` stand for their `name`.
pub fn factor(name: &str) -> Option<&'static Field> {
    if matches!(name, "engine" | "workload") {
        return find(name, "name");
    }
    all().find(|f| f.key == name && f.key != "name" && f.section != CAPTURE)
}
