//! The options that a server program knows, as the program itself lists them, and option files (my.cnf): groups of
//! options; a server reads those with its name.

use super::arguments::{RESERVED, variable_name};
use super::binary::{PRODUCT, series};
use super::kind::Kind;
use crate::contract::option_file::{my_cnf_line, read_file};
use crate::{Binary, EngineError, OptionFile};
use std::collections::BTreeSet;
use std::path::Path;

/// Whether the program knows the option. An unknown `loose-` option is ignored, so these count as known.
pub(crate) fn knows(kind: &Kind, option: &str, explicit: Option<&Path>) -> Result<bool, EngineError> {
    if is_loose(option) {
        return Ok(true);
    }
    let known = all(kind, explicit)?;
    Ok(is_among(&known, option, |known, name| known.contains(name)))
}

/// The options of a file that the program does not know. A prefix of an option's name counts as known.
pub(crate) fn unknown(kind: &Kind, options: &[&str], program: &Path) -> Result<Vec<String>, EngineError> {
    let known = all(kind, Some(program))?;
    let begins = |known: &BTreeSet<String>, name: &str| known.iter().any(|option| option.starts_with(name));
    let unknown = options.iter().filter(|option| !is_loose(option) && !is_among(&known, option, begins));
    Ok(unknown.map(|option| (*option).to_owned()).collect())
}

fn is_loose(option: &str) -> bool {
    option.trim_start_matches('-').starts_with("loose")
}

pub(crate) fn all(kind: &Kind, explicit: Option<&Path>) -> Result<BTreeSet<String>, EngineError> {
    let binary = (kind.find)(explicit)?;
    Ok(names(&binary.ask(&["--no-defaults", "--verbose", "--help"])?))
}

/// A switch can have a prefix, such as `skip_` or `enable_`.
fn is_among(known: &BTreeSet<String>, option: &str, has: impl Fn(&BTreeSet<String>, &str) -> bool) -> bool {
    let name = variable_name(option.trim_start_matches('-'));
    let plain = ["skip_", "disable_", "enable_", "maximum_"].iter().find_map(|word| name.strip_prefix(word));
    has(known, &name) || plain.is_some_and(|plain| has(known, plain))
}

/// The names in the output of `--verbose --help`: options as `  --name=#`, then a table of variables.
fn names(help: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut in_table = false;
    for line in help.lines() {
        in_table |= line.starts_with("-----");
        let name = match line.trim_start().strip_prefix("--") {
            Some(option) if !in_table => option,
            None if in_table => line,
            _ => continue,
        };
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(name.len());
        if end > 0 {
            names.insert(variable_name(&name[..end]));
        }
    }
    names
}

/// Options with paths. Those of a private server are in its own directory and in its own tree.
const PLACES: [&str; 15] = [
    "basedir",
    "lc_messages_dir",
    "character_sets_dir",
    "plugin_dir",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "innodb_tmpdir",
    "general_log_file",
    "slow_query_log_file",
    "log_bin_index",
    "relay_log",
    "relay_log_index",
    "secure_file_priv",
    "mysqlx_socket",
];

pub(crate) fn read(path: &Path, binary: &Binary) -> Result<OptionFile, EngineError> {
    let names: &[&str] = match binary.product {
        PRODUCT => &["mysqld", "server", "mariadb", "mariadbd", "client-server"],
        _ => &["mysqld", "server"],
    };
    let version = series(&binary.version).map(|(major, minor)| format!("-{major}.{minor}")).unwrap_or_default();
    let is_ours = |group: &str| {
        names
            .iter()
            .any(|name| group == *name || (*name != "client-server" && group.strip_prefix(name) == Some(&version)))
    };
    read_file(path, false, &|text| my_cnf_line(text, &is_ours), &placed)
}

fn placed(name: &str, value: &str) -> Option<&'static str> {
    let name = variable_name(name);
    if RESERVED.contains(&name.as_str()) {
        return Some("tare sets it itself for a private instance");
    }
    let is_elsewhere = PLACES.contains(&name.as_str()) || (name == "log_bin" && value.contains('/'));
    is_elsewhere.then_some("it names a path, and a private instance has its own")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    #[test]
    fn options_and_variables_are_found() {
        let help = "  --innodb-adaptive-hash-index \n                      Enable it (enabled by default; --x)\n  \
                    --plugin-load-add=name \n  --parts[=#] \nVariables (--variable-name=value)\n\
                    and boolean options {FALSE|TRUE}   Value\n---------------- -----\nbulk-size    8\n\nTo see\n";
        let names = names(help);
        for name in ["innodb_adaptive_hash_index", "plugin_load_add", "parts", "bulk_size"] {
            assert!(names.contains(name), "{name}: {names:?}");
        }
        assert!(!names.contains("enable") && !names.contains("x"), "{names:?}");
    }

    #[test]
    fn the_installed_server_knows_its_own_options_and_no_others() {
        for name in ["innodb_adaptive_hash_index", "--innodb-old-blocks-time", "skip-log-bin", "loose_anything"] {
            assert!(knows(&super::super::entry::KIND, name, None).unwrap(), "{name}");
        }
        assert!(!knows(&super::super::entry::KIND, "cache_size", None).unwrap());
        let requested = ["key_buffer", "cache_size", "loose_anything", "skip_networking", "innodb_nothing"];
        let program = (super::super::entry::KIND.find)(None).unwrap().path;
        let unknown = unknown(&super::super::entry::KIND, &requested, &program).unwrap();
        assert_eq!(unknown, ["cache_size", "innodb_nothing"]);
    }

    #[test]
    fn a_servers_groups_are_read_and_places_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.cnf");
        std::fs::create_dir(folder.path().join("conf.d")).unwrap();
        std::fs::write(folder.path().join("conf.d/a.cnf"), "[mariadb-10.11]\nmax_connections=7\n").unwrap();
        std::fs::write(folder.path().join("conf.d/a.txt"), "[mysqld]\nmax_connections=8\n").unwrap();
        let text = "[client]\nsocket=/x\npassword=secret\n[mysqld]\n# a comment\ninnodb-buffer-pool-size = 64M # and one\n\
                    sql_mode=\"A,B\"\nskip-name-resolve\ndatadir=/var/lib/mysql\nlog_bin = /var/log/x\n\
                    [mariadb-10.5]\nmax_connections=5\n!includedir conf.d\n";
        std::fs::write(&path, text).unwrap();
        let binary = |product, version: &str| Binary {
            path: PathBuf::new(),
            product,
            version: version.to_owned(),
            build_id: None,
            build: BTreeMap::new(),
            identity: String::new(),
            libraries: None,
        };
        let found = read(&path, &binary(PRODUCT, "10.11.5-MariaDB")).unwrap();
        let expected = [
            ("innodb_buffer_pool_size", "64M"),
            ("max_connections", "7"),
            ("skip_name_resolve", ""),
            ("sql_mode", "A,B"),
        ];
        let expected: BTreeMap<String, String> =
            expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        assert_eq!(found.options, expected);
        let left: Vec<&str> = found.left_out.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(left, ["datadir", "log_bin"]);
        assert_eq!(found.files.len(), 2);
        assert_eq!(read(&path, &binary("MySQL", "8.4.0")).unwrap().options.get("max_connections"), None);
        std::fs::write(&path, "!include my.cnf\n").unwrap();
        let error = read(&path, &binary(PRODUCT, "10.11.5")).unwrap_err().to_string();
        assert!(error.contains("include each other"), "{error}");
        assert!(read(Path::new("/nonexistent"), &binary(PRODUCT, "1")).is_err());
    }
}
