//! The server that a trial measured, its settings, and whether it had finished its background work before: the
//! information needed to repeat the trial or to question it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Name of the capture stored as a [`SettingsFile`]. Trials with the same settings share one.
pub const SETTINGS: &str = "settings";
/// Prefix of the names of these files in the folder of captures.
pub const SETTINGS_FILE: &str = "settings-";

/// The server of a trial. Paths of its private directories are written as `{data}` and `{run}` in values, so that
/// trials are comparable.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// The vendor, as the server reports it: MariaDB, MySQL, Percona Server ...
    pub product: String,
    pub version: String,
    pub path: String,
    /// The linker's build id; none if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// Compiler and flags, if the server or its source tree reports them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub build: BTreeMap<String, String>,
    /// The whole command line of the process that answered.
    pub arguments: Vec<String>,
    /// Option files with settings for the server, as it reports them, and the study's `defaults_file`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub option_files: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_pool_bytes: Option<u64>,
    /// Settings that differ from the program's defaults, by their source.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, Setting>,
    /// Whether a pool of threads serves the connections, so that none belongs to one of them, as its engine decides.
    /// None in older records ([`ServerRecord::has_thread_pool`]), and if the server does not report its settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_pool: Option<bool>,
}

/// The setting of MariaDB and MySQL by which older records tell whether there is a pool of threads.
const THREAD_HANDLING: (&str, &str) = ("thread_handling", "one-thread-per-connection");

/// A level of optimisation below that of builds for production.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LowOptimisation {
    /// `-O0`: none.
    None,
    /// `-O1` or `-O`.
    Some,
    /// `-Og`: optimisation that keeps a debugger usable.
    Debugging,
    /// `-Os` or `-Oz`: for size.
    Size,
}

impl ServerRecord {
    /// Whether a pool of threads serves the connections.
    pub fn has_thread_pool(&self) -> bool {
        let (setting, own_threads) = THREAD_HANDLING;
        let by_setting = || self.changed.get(setting).is_some_and(|handling| handling.value != own_threads);
        self.thread_pool.unwrap_or_else(by_setting)
    }

    /// The optimisation level of this build, if it is known to be below the usual one. The last flag counts, as for
    /// compilers.
    pub fn low_optimisation(&self) -> Option<LowOptimisation> {
        let flags = self.build.iter().filter(|(key, _)| key.ends_with("FLAGS") && !key.contains("LD"));
        let level = |word: &str| match word {
            "-O0" => Some(Some(LowOptimisation::None)),
            "-O1" | "-O" => Some(Some(LowOptimisation::Some)),
            "-Og" => Some(Some(LowOptimisation::Debugging)),
            "-Os" | "-Oz" => Some(Some(LowOptimisation::Size)),
            "-O2" | "-O3" | "-Ofast" => Some(None),
            _ => None,
        };
        flags.flat_map(|(_, value)| value.split_whitespace()).filter_map(level).next_back().flatten()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    pub value: String,
    /// The compiled-in default, if the server reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Its source, in the server's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The unit of the value, if the server reports it separately: `8kB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
}

impl Setting {
    /// Whether the value differs from the program's default, as far as the server's answer shows it.
    pub fn is_changed(&self) -> bool {
        match (&self.default, &self.source) {
            (Some(default), _) => !default.eq_ignore_ascii_case(&self.value),
            (None, Some(source)) => !["COMPILED", "COMPILE-TIME", "AUTO", "default"].contains(&source.as_str()),
            (None, None) => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsFile {
    pub schema: u32,
    /// By name, in lower case.
    pub settings: BTreeMap<String, Setting>,
}

/// The wait for the server between warm-up and samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SettledRecord {
    /// Seconds of the study's statements and the engine's own (PostgreSQL's CHECKPOINT).
    pub statements_s: f64,
    /// Seconds waited after the statements.
    pub waited_s: f64,
    /// Whether no work was left before the study's time limit.
    pub settled: bool,
    /// Remaining work of the server at the end of the wait, by name: `history_list_length`, `dirty_pages`,
    /// `autovacuum_workers`, `tables_to_vacuum`, `wal_pages`.
    pub left: BTreeMap<String, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_level_among_the_flags_counts() {
        let of = |flags: &str| {
            let build =
                BTreeMap::from([("CFLAGS".to_owned(), flags.to_owned()), ("LDFLAGS".to_owned(), "-O0".to_owned())]);
            ServerRecord { build, ..ServerRecord::default() }.low_optimisation()
        };
        assert_eq!(of("-Wall -O2 -Os -DX"), Some(LowOptimisation::Size));
        assert_eq!(of("-O0 -g -O2"), None);
        assert_eq!(
            (of("-O"), of("-Og"), of("-Wall")),
            (Some(LowOptimisation::Some), Some(LowOptimisation::Debugging), None)
        );
    }

    #[test]
    fn a_setting_counts_as_changed_if_it_differs_from_the_default_or_was_given() {
        let setting = |value: &str, default: Option<&str>, source: Option<&str>| Setting {
            value: value.to_owned(),
            default: default.map(str::to_owned),
            source: source.map(str::to_owned),
            unit: None,
        };
        assert!(setting("2", Some("1"), None).is_changed());
        assert!(!setting("ON", Some("on"), Some("CONFIG")).is_changed());
        assert!(setting("2", None, Some("COMMAND_LINE")).is_changed());
        assert!(!setting("2", None, Some("COMPILED")).is_changed());
        assert!(!setting("2", None, None).is_changed());
    }
}
