//! What MariaDB and MySQL do differently, of all that starts, fills and asks a private instance.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::super::{Binary, EngineError, PrepareRequest};
use super::dialect::{InnoDb, MARIADB};
use super::{arguments, binary, install};

/// Makes an empty data directory inside a directory, with the options that shape its files; where it is.
type Install = fn(&Binary, &PrepareRequest, &BTreeMap<String, String>, &Path) -> Result<PathBuf, EngineError>;

/// One of the two.
pub(in super::super) struct Kind {
    /// The engine's name in a study.
    pub name: &'static str,
    /// File name of the socket.
    pub socket: &'static str,
    /// Table of the server's variables.
    pub variables: &'static str,
    /// The SQL that it speaks.
    pub dialect: &'static InnoDb,
    /// Finds the server program.
    pub find: fn(Option<&Path>) -> Result<Binary, EngineError>,
    /// The version that made a data directory, in its own words; none when it does not say.
    pub made_by: fn(&Path) -> Option<String>,
    /// Makes the data directory `data` in a directory.
    pub install: Install,
    /// What its command line has beside that of the other one; for a server whose lock waits can be read, or not.
    pub arguments: fn(&Path, &Path, bool) -> Vec<OsString>,
    /// Statements after which root can come over the socket only.
    pub root_stays_local: &'static [&'static str],
    /// Makes this account ('name'@'host') with a password.
    pub account: fn(&str, &str) -> Vec<String>,
}

/// How MariaDB differs from MySQL.
pub(super) static KIND: Kind = Kind {
    name: super::NAME,
    socket: "mariadb.sock",
    variables: "information_schema.GLOBAL_VARIABLES",
    dialect: &MARIADB,
    find: binary::find,
    made_by: |data| {
        let read = |name| std::fs::read_to_string(data.join(name)).ok();
        // MySQL's own dictionary, which MariaDB cannot read.
        let foreign = data.join("mysql.ibd").exists().then(|| "MySQL 8.0 or newer".to_owned());
        foreign.or_else(|| ["mariadb_upgrade_info", "mysql_upgrade_info"].into_iter().find_map(read))
    },
    install: install::install,
    arguments: |binary, log, lock_waits| {
        // Loose: a server without it is still a server.
        let mut more = vec![format!("--loose-performance-schema={}", if lock_waits { "ON" } else { "OFF" }).into()];
        if binary::is_safe_script(binary) {
            more.extend(arguments::of_safe_script(log));
        }
        more
    },
    root_stays_local: &[
        "DELETE FROM mysql.global_priv WHERE User = 'root' AND Host <> 'localhost'",
        "FLUSH PRIVILEGES",
    ],
    account: |account, password| vec![format!("CREATE OR REPLACE USER {account} IDENTIFIED BY '{password}'")],
};
