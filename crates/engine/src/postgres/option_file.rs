//! Option files of PostgreSQL (postgresql.conf): one name and value per line.

use super::arguments::RESERVED;
use super::binary::option_name;
use crate::contract::option_file::{OptionLine, read_file, unquoted};
use crate::{EngineError, OptionFile};
use std::path::{Path, PathBuf};

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
pub(super) fn read(path: &Path) -> Result<OptionFile, EngineError> {
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
    fn names_and_values_are_read_in_every_spelling_and_places_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("postgresql.conf");
        let text = "# a comment\nshared_buffers = 64MB\t# and one\nwork_mem '8MB'\nPort=5433\nssl = on\n\
                    include_if_exists 'absent.conf'\ninclude 'more.conf'\n";
        std::fs::write(&path, text).unwrap();
        std::fs::write(folder.path().join("more.conf"), "jit=off\nwork_mem=16MB\n").unwrap();
        let found = read(&path).unwrap();
        let options: Vec<String> = found.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(options, ["jit=off", "shared_buffers=64MB", "work_mem=16MB"]);
        let left: Vec<&str> = found.left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["port", "ssl"]);
    }
}
