//! MariaDB, of the two.

use super::super::{EngineError, Session};
use super::dialect::MARIADB;
use super::install::statement;
use super::kind::Kind;
use super::layout::Layout;
use super::names::NAME;
use super::{arguments, binary, install};

/// How MariaDB differs from MySQL.
pub(super) static KIND: Kind = Kind {
    name: NAME,
    socket: "mariadb.sock",
    variables: "information_schema.GLOBAL_VARIABLES",
    settings: "SELECT VARIABLE_NAME, GLOBAL_VALUE, DEFAULT_VALUE, GLOBAL_VALUE_ORIGIN, NULL, NULL \
               FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE IS NOT NULL",
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
        let mut more = Layout::of(binary).arguments();
        more.push(format!("--loose-performance-schema={}", if lock_waits { "ON" } else { "OFF" }).into());
        if binary::is_safe_script(binary) {
            more.extend(arguments::of_safe_script(log));
        }
        more
    },
    root_stays_local,
    account: |account, password| vec![format!("CREATE OR REPLACE USER {account} IDENTIFIED BY '{password}'")],
};

/// Without the accounts of other hosts and of nobody, which some versions make. Their table is a view in some.
fn root_stays_local(session: &mut dyn Session) -> Result<(), EngineError> {
    let sql = "SELECT User, Host FROM mysql.user WHERE User = '' OR (User = 'root' AND Host <> 'localhost')";
    let rows = session.query(sql).map_err(|source| EngineError::Sql { statement: sql.to_owned(), source })?;
    for row in rows {
        let [Some(user), Some(host)] = row.as_slice() else { continue };
        statement(session, &format!("DROP USER '{}'@'{}'", user.replace('\'', "''"), host.replace('\'', "''")))?;
    }
    Ok(())
}
