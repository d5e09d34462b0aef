//! The kind of server that is MariaDB.

use super::binary::Layout;
use super::binary::NAME;
use super::dialect::MARIADB;
use super::kind::{Kind, MadeBy, OfKind};
use super::{arguments, binary, server};
use crate::data::directories::small_file;
use crate::process::instance::{rows, statement};
use crate::programs::program::places;
use crate::{EngineError, Session};
use std::io::Read;
use std::path::Path;

/// The engine `mariadb`: MariaDB 10.2 or newer (10.6 or newer sends no repeated column metadata).
#[derive(Debug, Clone, Copy, Default)]
pub struct Mariadb;

impl OfKind for Mariadb {
    fn kind(&self) -> &'static Kind {
        &KIND
    }
}

pub(super) static KIND: Kind = Kind {
    engine: &Mariadb,
    name: NAME,
    interleaves_from: None,
    start_cost_s: 0.6,
    fresh_cost_s: 5.0,
    programs: &binary::PROGRAMS,
    places: || places(&[]),
    install_command: binary::INSTALL,
    login_groups: &["client", "client-server", "client-mariadb"],
    socket: "mariadb.sock",
    variables: "information_schema.GLOBAL_VARIABLES",
    settings: "SELECT VARIABLE_NAME, GLOBAL_VALUE, DEFAULT_VALUE, GLOBAL_VALUE_ORIGIN, NULL, NULL \
               FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL",
    dialect: &MARIADB,
    find: binary::find,
    made_by: |data| {
        let read = |name| small_file(&data.join(name));
        // The data dictionary of MySQL, which MariaDB cannot read.
        let foreign = data.join("mysql.ibd").exists().then(|| MadeBy::Another("MySQL 8.0 or newer".to_owned()));
        let reported =
            || ["mariadb_upgrade_info", "mysql_upgrade_info"].into_iter().find_map(read).map(MadeBy::Version);
        foreign.or_else(reported).or_else(|| log_creator(data))
    },
    install: server::install,
    arguments: |binary, log, lock_waits| {
        // Loose: a server built without performance_schema can still start.
        let mut more = Layout::of(binary).arguments();
        more.push(format!("--loose-performance-schema={}", if lock_waits { "ON" } else { "OFF" }).into());
        // From 11.4 on each start would generate a key for seconds, for sockets that need no encryption.
        more.push("--loose-ssl=0".into());
        if binary::is_safe_script(binary) {
            more.extend(arguments::of_safe_script(log));
        }
        more
    },
    begin_fill: |_| Ok(()),
    end_fill: |_| Ok(()),
    root_stays_local,
    tables_stay_inside: &["--skip-symbolic-links"],
    password_key: |_| Ok(None),
    account: |account, password| vec![format!("CREATE OR REPLACE USER {account} IDENTIFIED BY '{password}'")],
};

/// The version that created InnoDB's log, from the log's header: old versions record it nowhere else.
fn log_creator(data: &Path) -> Option<MadeBy> {
    let mut head = [0; 48];
    tare_files::open_named(&data.join("ib_logfile0")).ok()??.read_exact(&mut head).ok()?;
    // log0log.h: LOG_HEADER_CREATOR.
    let creator = String::from_utf8_lossy(&head[16..]);
    let creator = creator.trim_end_matches('\0');
    match creator.strip_prefix("MariaDB ") {
        Some(version) => Some(MadeBy::Version(version.to_owned())),
        None => creator.starts_with("MySQL ").then(|| MadeBy::Another(creator.to_owned())),
    }
}

/// Drops remote root accounts and anonymous accounts, which some versions create. mysql.user may be a view.
fn root_stays_local(session: &mut dyn Session) -> Result<(), EngineError> {
    let sql = "SELECT User, Host FROM mysql.user WHERE User = '' OR (User = 'root' AND Host <> 'localhost')";
    for row in rows(session, sql)? {
        let [Some(user), Some(host)] = row.as_slice() else { continue };
        statement(session, &format!("DROP USER '{}'@'{}'", user.replace('\'', "''"), host.replace('\'', "''")))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_without_a_version_file_is_recognised_by_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let of = |creator: &str| {
            let mut head = vec![0; 512];
            head[16..16 + creator.len()].copy_from_slice(creator.as_bytes());
            std::fs::write(folder.path().join("ib_logfile0"), head).unwrap();
            (KIND.made_by)(folder.path())
        };
        assert_eq!((KIND.made_by)(folder.path()), None);
        let version = |text: &str| Some(MadeBy::Version(text.to_owned()));
        assert_eq!(of("MariaDB 10.2.11"), version("10.2.11"));
        assert_eq!(of("MySQL 5.7.44"), Some(MadeBy::Another("MySQL 5.7.44".to_owned())));
        assert_eq!(of(""), None);
        std::fs::write(folder.path().join("mysql_upgrade_info"), "10.6.1-MariaDB").unwrap();
        assert_eq!(of("MariaDB 10.2.11"), version("10.6.1-MariaDB"));
    }
}
