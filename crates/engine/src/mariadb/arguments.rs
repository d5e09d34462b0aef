//! The command line of a private instance.

use super::Kind;
use crate::contract::option_file::bytes_of;
use crate::data::directories::{memory_for, memory_for_bytes};
use crate::{EngineError, Footprint};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use tare_files::LogFile;

/// Options that tare sets itself: with another value the instance would be less private or unreachable.
pub(super) const RESERVED: [&str; 15] = [
    "mysqlx",
    "datadir",
    "socket",
    "port",
    "bind_address",
    "skip_networking",
    "pid_file",
    "user",
    "log_error",
    "tmpdir",
    "defaults_file",
    "defaults_extra_file",
    "no_defaults",
    "skip_grant_tables",
    "daemonize",
];

/// Options that determine the format of the files in a data directory.
const SHAPING: [&str; 13] = [
    "innodb_page_size",
    "innodb_data_file_path",
    "innodb_data_home_dir",
    "innodb_log_file_size",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "innodb_undo_tablespaces",
    "innodb_checksum_algorithm",
    "innodb_default_row_format",
    "innodb_file_per_table",
    "character_set_server",
    "collation_server",
    "lower_case_table_names",
];

/// The name of an option as the server's variables spell it.
pub(crate) fn variable_name(option: &str) -> String {
    let name = option.trim_start_matches('-').replace('-', "_").to_lowercase();
    name.strip_prefix("loose_").map(str::to_owned).unwrap_or(name)
}

/// Makes InnoDB spread its buffer pool over all nodes that its cpuset allows, whatever policy it inherited.
pub(crate) const SPREADS: &str = "innodb_numa_interleave";

/// The option, if `options` turn it on; `by_default` decides if none of them mentions it.
pub(crate) fn spreads_memory(options: &BTreeMap<String, String>, by_default: bool) -> Option<&'static str> {
    let mut given = options.iter().filter_map(|(name, value)| {
        let name = variable_name(name);
        let is_on = !matches!(value.to_lowercase().as_str(), "0" | "off" | "false");
        match name.strip_prefix("skip_") {
            Some(plain) => (plain == SPREADS).then_some(false),
            None => (name == SPREADS).then_some(is_on),
        }
    });
    given.next_back().unwrap_or(by_default).then_some(SPREADS)
}

/// The options among these that determine the format of files.
pub(super) fn shaping(options: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    options
        .iter()
        .map(|(name, value)| (variable_name(name), value.clone()))
        .filter(|(name, _)| SHAPING.contains(&name.as_str()))
        .collect()
}

pub(crate) fn given(engine: &'static str, options: &BTreeMap<String, String>) -> Result<Vec<OsString>, EngineError> {
    let argument = |(name, value): (&String, &String)| {
        let variable = variable_name(name);
        if RESERVED.contains(&variable.as_str()) {
            let reason = "is set by tare itself for a private instance; leave it out".to_owned();
            return Err(EngineError::OptionRefused { engine, option: name.clone(), reason });
        }
        let name = name.trim_start_matches('-');
        Ok(if value.is_empty() { format!("--{name}").into() } else { format!("--{name}={value}").into() })
    };
    options.iter().map(argument).collect()
}

/// Further arguments of mariadbd-safe: by default it redirects the server's output to a log of its own, and kills
/// servers of the same name before it restarts one.
pub(super) fn of_safe_script(log: &LogFile) -> Vec<OsString> {
    let log = std::path::absolute(log.path_by_handle()).unwrap_or_else(|_| log.path());
    vec!["--skip-syslog".into(), "--skip-kill-mysqld".into(), path("log-error", &log)]
}

pub(crate) fn path(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(format!("--{name}="));
    option.push(value);
    option
}

pub(super) struct Places<'a> {
    pub data: &'a Path,
    pub run: &'a Path,
    pub socket: &'a Path,
    pub temporary: &'a Path,
}

/// The whole command line; `listens` is the TCP address. The caller's options come last and override the defaults.
pub(super) fn all(
    kind: &Kind,
    places: &Places<'_>,
    listens: Option<SocketAddr>,
    more: Vec<OsString>,
    options: &BTreeMap<String, String>,
) -> Result<Vec<OsString>, EngineError> {
    let mut arguments: Vec<OsString> = vec!["--no-defaults".into()];
    if let Some(user) = run_as() {
        arguments.push(user);
    }
    arguments.extend([path("datadir", places.data), path("socket", places.socket)]);
    arguments.extend([path("pid-file", &places.run.join("server.pid")), path("tmpdir", places.temporary)]);
    match listens {
        None => arguments.push("--skip-networking".into()),
        Some(at) => {
            let (address, port) = (at.ip(), at.port());
            arguments.extend([format!("--bind-address={address}").into(), format!("--port={port}").into()]);
            arguments.push("--skip-name-resolve".into());
        }
    }
    let given = given(kind.name, options)?;
    arguments.extend(more);
    for (name, value) in defaults(places.data) {
        arguments.push(format!("--{name}={value}").into());
    }
    arguments.push("--skip-log-bin".into());
    arguments.extend(given);
    Ok(arguments)
}

/// The server runs as root only with this explicit option. It must not switch to another user: a change of user
/// clears the parent-death signal.
pub(crate) fn run_as() -> Option<OsString> {
    rustix::process::geteuid().is_root().then(|| "--user=root".into())
}

/// Settings that a benchmark needs and on which no result should depend; the rest keeps the server's defaults.
fn defaults(data: &Path) -> Vec<(&'static str, String)> {
    vec![
        ("innodb-buffer-pool-size", memory_for(data).to_string()),
        // Otherwise the pages of the last run are loaded in the background during the measurement.
        ("innodb-buffer-pool-load-at-startup", "OFF".to_owned()),
        ("innodb-buffer-pool-dump-at-shutdown", "OFF".to_owned()),
        // For hundreds of clients with a statement for each of many tables.
        ("max-connections", "4096".to_owned()),
        ("max-prepared-stmt-count", "1048576".to_owned()),
    ]
}

/// Size of a data directory without tables and without its redo log, bytes (MariaDB 10.11, MySQL 9.7: 40 and 70 MB).
const EMPTY_BYTES: u64 = 64 << 20;
/// Default size of the redo log of both servers, bytes.
const REDO_BYTES: u64 = 96 << 20;

pub(crate) fn footprint(options: &BTreeMap<String, String>, data_bytes: u64) -> Footprint {
    let bytes = |name: &str| bytes_of(options, name);
    let logs = options.iter().find(|(name, _)| variable_name(name) == "innodb_log_files_in_group");
    let logs = logs.and_then(|(_, value)| value.parse().ok()).unwrap_or(1);
    let redo = bytes("innodb_redo_log_capacity").or_else(|| Some(bytes("innodb_log_file_size")? * logs));
    Footprint {
        pool_bytes: bytes("innodb_buffer_pool_size").unwrap_or_else(|| memory_for_bytes(data_bytes)),
        files_bytes: EMPTY_BYTES + redo.unwrap_or(REDO_BYTES),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_in_any_spelling_are_recognised() {
        let options = BTreeMap::from([
            ("innodb-page-size".to_owned(), "8K".to_owned()),
            ("max_connections".to_owned(), "9".to_owned()),
        ]);
        assert_eq!(shaping(&options), BTreeMap::from([("innodb_page_size".to_owned(), "8K".to_owned())]));
        let reserved = BTreeMap::from([("bind-address".to_owned(), "0.0.0.0".to_owned())]);
        assert!(given("mariadb", &reserved).unwrap_err().to_string().contains("bind-address"));
        assert_eq!(given("mariadb", &BTreeMap::from([("skip-x".to_owned(), String::new())])).unwrap(), ["--skip-x"]);
    }
}
