//! What MySQL does differently from MariaDB.

use super::binary::NAME;
use super::{binary, install};
use crate::data::directories::small_file;
use crate::mariadb::dialect::InnoDb;
use crate::mariadb::layout::Layout;
use crate::mariadb::{Kind, MadeBy, OfKind};
use crate::process::instance::rows;
use crate::{EngineError, Session};
use std::ffi::OsString;
use std::path::Path;
use tare_files::LogFile;

static DIALECT: InnoDb = InnoDb {
    global_status: "performance_schema.global_status",
    explain: "EXPLAIN FORMAT = TRADITIONAL",
    streams_rows: true,
};

/// The engine `mysql`: MySQL 5.7 or newer, tested with 9.7.
#[derive(Debug, Clone, Copy, Default)]
pub struct Mysql;

impl OfKind for Mysql {
    fn kind(&self) -> &'static Kind {
        &KIND
    }
}

static KIND: Kind = Kind {
    engine: &Mysql,
    name: NAME,
    interleaves_from: Some((8, 4)),
    start_cost_s: 3.0,
    fresh_cost_s: 8.0,
    programs: &["mysqld"],
    places: binary::searched,
    install_command: binary::INSTALL,
    login_groups: &["client"],
    socket: "mysql.sock",
    variables: "performance_schema.global_variables",
    settings: "SELECT g.VARIABLE_NAME, g.VARIABLE_VALUE, NULL, i.VARIABLE_SOURCE, NULL, i.VARIABLE_PATH \
               FROM performance_schema.global_variables g \
               LEFT JOIN performance_schema.variables_info i ON i.VARIABLE_NAME = g.VARIABLE_NAME",
    dialect: &DIALECT,
    find: binary::find,
    made_by,
    install: install::install,
    arguments,
    begin_fill: install::begin_fill,
    end_fill: install::end_fill,
    root_stays_local: |_| Ok(()),
    // Since 8.0.21 they stay in the folders of innodb_directories.
    tables_stay_inside: &[],
    password_key,
    account: |account, password| {
        vec![format!("DROP USER IF EXISTS {account}"), format!("CREATE USER {account} IDENTIFIED BY '{password}'")]
    },
};

/// The last version in the history that MySQL keeps since 8.4, or in the file that older versions write.
fn made_by(data: &Path) -> Option<MadeBy> {
    if data.join("aria_log_control").exists() {
        return Some(MadeBy::Another("MariaDB".to_owned()));
    }
    let read = |name: &str| small_file(&data.join(name));
    let Some(history) = read("mysql_upgrade_history") else { return read("mysql_upgrade_info").map(MadeBy::Version) };
    let history: serde_json::Value = serde_json::from_str(&history).ok()?;
    Some(MadeBy::Version(history["upgrade_history"].as_array()?.last()?["version"].as_str()?.to_owned()))
}

/// From 8.0 on a server reports its key; here over its Unix socket.
fn password_key(session: &mut dyn Session) -> Result<Option<String>, EngineError> {
    let sql = "SHOW GLOBAL STATUS LIKE 'Caching_sha2_password_rsa_public_key'";
    Ok(rows(session, sql)?.into_iter().next().and_then(|row| row.into_iter().nth(1)?).filter(|key| !key.is_empty()))
}

fn arguments(binary: &Path, _log: &LogFile, lock_waits: bool) -> Vec<OsString> {
    let mut all = Layout::of(binary).arguments();
    // No X protocol with a port of its own; files may be read from the pipes that fill tables.
    all.extend(["--loose-mysqlx=OFF", "--secure-file-priv="].map(OsString::from));
    // Only performance_schema maps connections to threads. The rest of it is off, unless lock waits are requested.
    all.extend(["--performance-schema=ON", "--performance-schema-instrument=%=OFF"].map(OsString::from));
    if !lock_waits {
        all.push("--performance-schema-consumer-global-instrumentation=OFF".into());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_directory_reveals_the_product_that_created_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        let version = |text: &str| Some(MadeBy::Version(text.to_owned()));
        assert_eq!(made_by(folder.path()), None);
        write("mysql_upgrade_info", "8.0.36");
        assert_eq!(made_by(folder.path()), version("8.0.36"));
        write(
            "mysql_upgrade_history",
            r#"{"file_format":"1","upgrade_history":[{"version":"8.4.2"},{"version":"9.7.4-2"}]}"#,
        );
        assert_eq!(made_by(folder.path()), version("9.7.4-2"));
        write("aria_log_control", "");
        assert_eq!(made_by(folder.path()), Some(MadeBy::Another("MariaDB".to_owned())));
    }
}
