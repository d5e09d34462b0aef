//! Option files of MariaDB and MySQL (my.cnf): groups of options; a server reads those with its name.

use super::arguments::{RESERVED, variable_name};
use super::binary::{PRODUCT, series};
use crate::contract::option_file::{my_cnf_line, read_file};
use crate::{Binary, EngineError, OptionFile};
use std::path::Path;

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
