//! The server program: where it is and which options it knows, the command line of a private cluster, the check that
//! its options took effect, and option files (postgresql.conf): one name and value per line.

use crate::contract::option_file::{OptionLine, read_file, same_value, unquoted};
use crate::data::directories::memory_for;
use crate::programs::ask::{self_reported, start};
use crate::programs::program::{check_may_run, existing, is_program, named, places};
use crate::{Binary, EngineError, OptionFile};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The engine `postgresql`: PostgreSQL 12 or newer, tested with 15.
#[derive(Debug, Clone, Copy, Default)]
pub struct Postgresql;

pub(super) const NAME: &str = "postgresql";

pub(super) const INSTALL: &str = "sudo apt-get install postgresql";
/// Where Debian installs every version.
const VERSIONED: &str = "/usr/lib/postgresql";

/// The server program: `explicit`, otherwise `postgres` in PATH and the usual places, or the newest of Debian's.
pub(super) fn find(explicit: Option<&Path>) -> Result<Binary, EngineError> {
    let found = match named(explicit, NAME) {
        Some(path) => Some(existing(path)?),
        None => all_places().iter().map(|place| place.join("postgres")).find(|path| is_program(path)),
    };
    let Some(path) = found else {
        return Err(EngineError::BinaryMissing {
            engine: NAME,
            program: "postgres".to_owned(),
            searched: all_places(),
            install: INSTALL,
        });
    };
    check_may_run(&path)?;
    let path = std::fs::canonicalize(&path).map_err(|source| EngineError::io("resolve", &path, source))?;
    not_in_a_build_tree(&path)?;
    let (text, libraries) = self_reported(&path, &["--version"], &libraries_next_to(&path))?;
    let version = text.split_once("(PostgreSQL) ").and_then(|(_, rest)| rest.split_whitespace().next());
    let Some(version) = version else {
        let reason = format!("is not a PostgreSQL server: --version prints {:?}", start(&text));
        return Err(EngineError::BinaryUnusable { path, reason });
    };
    let version = version.to_owned();
    Binary::identified(path, "PostgreSQL", version, libraries)
}

/// Refuses a server that was built but not installed: it finds neither its catalogue nor its libraries, or finds
/// those of an older installation in its configured path.
fn not_in_a_build_tree(path: &Path) -> Result<(), EngineError> {
    if !path.ends_with("src/backend/postgres") {
        return Ok(());
    }
    let top = path.ancestors().nth(3).unwrap_or(Path::new("/"));
    let installed = format!("DESTDIR={0}/tmp_install", top.display());
    let how = match top.join("meson-info").is_dir() {
        true => format!("{installed} meson install -C {}", top.display()),
        false => format!("make -C {} install {installed}", top.display()),
    };
    let reason =
        format!("is part of a build tree, where it does not find its own files: {how}, and name that bin/postgres");
    Err(EngineError::BinaryUnusable { path: path.to_owned(), reason })
}

fn libraries_next_to(server: &Path) -> Vec<PathBuf> {
    let base = server.parent().and_then(Path::parent).filter(|base| *base != Path::new("/usr"));
    base.into_iter().flat_map(|base| [base.join("lib"), base.join("lib64")]).filter(|place| place.is_dir()).collect()
}

/// Folders of servers, the newest of Debian's first.
pub(super) fn all_places() -> Vec<PathBuf> {
    [versioned(), places(&[])].concat()
}

/// Debian's folders of all versions, the newest first.
fn versioned() -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = std::fs::read_dir(VERSIONED)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, path)| path).collect()
}

pub(super) fn next_to(server: &Path, program: &str) -> Result<PathBuf, EngineError> {
    let place = server.parent().unwrap_or(Path::new("/"));
    let path = place.join(program);
    check_may_run(&path)?;
    if path.is_file() {
        return Ok(path);
    }
    let searched = vec![place.to_owned()];
    Err(EngineError::BinaryMissing { engine: NAME, program: program.to_owned(), searched, install: INSTALL })
}

/// Major version: data directories are compatible within one.
pub(super) fn major(version: &str) -> Option<u32> {
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

pub(super) fn option_name(option: &str) -> String {
    option.trim_start_matches('-').replace('-', "_").to_lowercase()
}

/// Whether the program knows the option; names with a dot belong to extensions and count as known.
pub(super) fn knows_option(option: &str, explicit: Option<&Path>) -> Result<bool, EngineError> {
    let name = option_name(option);
    if name.contains('.') {
        return Ok(true);
    }
    Ok(option_names(explicit)?.iter().any(|known| known.eq_ignore_ascii_case(&name)))
}

pub(super) fn option_names(explicit: Option<&Path>) -> Result<Vec<String>, EngineError> {
    // One line per option, its name first.
    let described = find(explicit)?.ask(&["--describe-config"])?;
    Ok(described.lines().filter_map(|line| line.split('\t').next()).map(str::to_owned).collect())
}

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
pub(super) fn all_arguments(
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

/// Options with paths, or that run a program of this machine.
const PLACES: [&str; 11] = [
    "log_directory",
    "log_filename",
    "stats_temp_directory",
    "unix_socket_group",
    "ssl",
    "ssl_cert_file",
    "ssl_key_file",
    "ssl_ca_file",
    "archive_command",
    "restore_command",
    "primary_conninfo",
];

/// Reads it as the server would: names in any case, the last value of each.
pub(super) fn read_option_file(path: &Path) -> Result<OptionFile, EngineError> {
    read_file(path, true, &line, &placed)
}

fn line(text: &str) -> OptionLine {
    let text = text.trim();
    if text.is_empty() || text.starts_with('#') {
        return OptionLine::Empty;
    }
    let end = text.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let value = unquoted(rest.trim_start().trim_start_matches('='));
    match name.to_lowercase().as_str() {
        "include" => OptionLine::File(PathBuf::from(value), true),
        "include_if_exists" => OptionLine::File(PathBuf::from(value), false),
        "include_dir" => OptionLine::Folder(PathBuf::from(value), ".conf"),
        name => OptionLine::Option(option_name(name), Some(value)),
    }
}

fn placed(name: &str, _: &str) -> Option<&'static str> {
    if RESERVED.contains(&name) || name == "dynamic_shared_memory_type" {
        return Some("tare sets it itself for a private cluster");
    }
    PLACES.contains(&name).then_some("it names a path or a program, and a private cluster has its own")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_installed_server_knows_its_own_options_and_no_others() {
        for name in ["shared_buffers", "work-mem", "TimeZone", "pg_stat_statements.max"] {
            assert!(knows_option(name, None).unwrap(), "{name}");
        }
        assert!(!knows_option("innodb_buffer_pool_size", None).unwrap());
        assert_eq!(major(&find(None).unwrap().version).map(|major| major >= 12), Some(true));
    }

    #[test]
    fn another_program_is_no_server() {
        let error = find(Some(Path::new("/bin/echo"))).unwrap_err();
        assert!(matches!(error, EngineError::BinaryUnusable { .. }), "{error}");
        let missing = find(Some(Path::new("/nonexistent"))).unwrap_err().to_string();
        assert!(missing.contains("there is no program at this path"), "{missing}");
        let folder = tempfile::tempdir().unwrap();
        let built = folder.path().join("src/backend/postgres");
        std::fs::create_dir_all(built.parent().unwrap()).unwrap();
        std::fs::copy("/bin/echo", &built).unwrap();
        let error = find(Some(&built)).unwrap_err().to_string();
        assert!(error.contains("part of a build tree") && error.contains("make -C"), "{error}");
    }

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
        let error = all_arguments(Path::new("/d"), Path::new("/r"), None, &options).unwrap_err();
        assert!(error.to_string().contains("listen-addresses"), "{error}");
    }

    #[test]
    fn names_and_values_are_read_in_every_spelling_and_places_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("postgresql.conf");
        let text = "# a comment\nshared_buffers = 64MB\t# and one\nwork_mem '8MB'\nPort=5433\nssl = on\n\
                    include_if_exists 'absent.conf'\ninclude 'more.conf'\n";
        std::fs::write(&path, text).unwrap();
        std::fs::write(folder.path().join("more.conf"), "jit=off\nwork_mem=16MB\n").unwrap();
        let found = read_option_file(&path).unwrap();
        let options: Vec<String> = found.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(options, ["jit=off", "shared_buffers=64MB", "work_mem=16MB"]);
        let left: Vec<&str> = found.left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["port", "ssl"]);
    }
}
