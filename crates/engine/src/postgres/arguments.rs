//! The command line of a private cluster, and the check that its options took effect.

use super::binary::{NAME, option_name};
use crate::EngineError;
use crate::contract::option_file::same_value;
use crate::data::directories::memory_for;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;

/// The port number in the socket name of a cluster that listens only on its socket.
pub(super) const PORT: u16 = 5432;

/// Options that tare sets itself: with another value the cluster would be less private or unreachable.
pub(super) const RESERVED: [&str; 11] = [
    "data_directory",
    "config_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "unix_socket_permissions",
    "external_pid_file",
    "logging_collector",
    "log_destination",
];

/// The whole command line; `listens` is the TCP address. The caller's options come last and override the defaults.
pub(super) fn all(
    data: &Path,
    run: &Path,
    listens: Option<SocketAddr>,
    options: &BTreeMap<String, String>,
) -> Result<Vec<OsString>, EngineError> {
    let mut arguments: Vec<OsString> = vec!["-D".into(), data.into(), "-k".into(), run.into()];
    let mut set = |name: &str, value: &str| arguments.extend(["-c".into(), format!("{name}={value}").into()]);
    set("listen_addresses", &listens.map_or(String::new(), |at| at.ip().to_string()));
    set("port", &listens.map_or(PORT, |at| at.port()).to_string());
    set("unix_socket_permissions", "0700");
    // The distribution's own way of starting may redirect the log.
    set("logging_collector", "off");
    set("shared_buffers", &format!("{}kB", memory_for(data) >> 10));
    // Memory shared by parallel queries must not outlive a killed server, as POSIX shared memory does: System V's
    // ends with the namespace that a server gets when tare is root, files end with the data directory.
    set("dynamic_shared_memory_type", if rustix::process::geteuid().is_root() { "sysv" } else { "mmap" });
    // For hundreds of clients.
    set("max_connections", "1000");
    for (name, value) in options {
        let option = option_name(name);
        if RESERVED.contains(&option.as_str()) {
            let reason = "is set by tare itself for a private cluster; leave it out".to_owned();
            return Err(EngineError::OptionRefused { engine: NAME, option: name.clone(), reason });
        }
        set(&option, value);
    }
    Ok(arguments)
}

/// Whether `setting`, as the server reports it in its own `unit`, means the same as `requested`.
pub(super) fn matches_request(requested: &str, setting: &str, unit: Option<&str>) -> bool {
    if same_value(requested, setting) {
        return true;
    }
    let number = |text: &str| {
        let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c))).unwrap_or(text.len());
        Some((text[..end].parse::<f64>().ok()?, factor(text[end..].trim())?))
    };
    match (number(requested.trim()), setting.parse::<f64>(), unit.and_then(|unit| number_of_unit(unit, &number))) {
        (Some((requested, factor)), Ok(setting), Some(unit)) => (requested * factor / unit).round() == setting,
        _ => false,
    }
}

/// The size of a unit of the server: `ms`, `kB`, or with a number in front `8kB`.
fn number_of_unit(unit: &str, number: &dyn Fn(&str) -> Option<(f64, f64)>) -> Option<f64> {
    match unit.starts_with(|c: char| c.is_ascii_digit()) {
        true => number(unit).map(|(count, factor)| count * factor),
        false => factor(unit),
    }
}

/// Bytes or seconds of one of the server's units.
fn factor(unit: &str) -> Option<f64> {
    Some(match unit {
        "B" => 1.0,
        "kB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        "GB" => 1024.0 * 1024.0 * 1024.0,
        "TB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_the_same_in_any_unit() {
        for (requested, setting, unit) in [
            ("64MB", "8192", Some("8kB")),
            ("on", "on", None),
            ("5min", "300", Some("s")),
            ("200ms", "200", Some("ms")),
            ("4096", "4096", Some("kB")),
            ("off", "off", None),
        ] {
            assert!(matches_request(requested, setting, unit), "{requested} {setting}");
        }
        assert!(!matches_request("64MB", "8191", Some("8kB")) && !matches_request("on", "off", None));
    }

    #[test]
    fn options_that_keep_a_server_private_cannot_be_overridden() {
        let options = BTreeMap::from([("listen-addresses".to_owned(), "*".to_owned())]);
        let error = all(Path::new("/d"), Path::new("/r"), None, &options).unwrap_err();
        assert!(error.to_string().contains("listen-addresses"), "{error}");
    }
}
