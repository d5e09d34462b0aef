//! Which server a trial measured, and how it was set: what a peer needs to repeat it, or to doubt it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the capture that is a [`SettingsFile`]. Trials with the same settings share one.
pub const SETTINGS: &str = "settings";

/// The server of a trial. Paths of its private directories are `{data}` and `{run}` in values, so that trials compare.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// Whose it is, by what it says itself: MariaDB, MySQL, Percona Server ...
    pub product: String,
    /// What the program answers to `--version`.
    pub version: String,
    /// The program that was started.
    pub path: String,
    /// The linker's number of this very build; none where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Compiler and flags, where the server or the tree that it lies in tells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub build: BTreeMap<String, String>,
    /// The whole command line of the process that answered.
    pub arguments: Vec<String>,
    /// Option files that gave it something, as it says itself, and the study's `defaults_file`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub option_files: Vec<String>,
    /// Memory for pages of tables, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_pool_bytes: Option<u64>,
    /// Settings that differ from the program's own, by the one who set them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, Setting>,
}

/// One setting of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// As it was in the trial.
    pub value: String,
    /// What the program has compiled in, where the server tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Where it comes from, in the server's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What the value counts, where the server says it apart: `8kB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

/// All settings that a server reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsFile {
    /// Version of this format.
    pub schema: u32,
    /// By name, in lower case.
    pub settings: BTreeMap<String, Setting>,
}
