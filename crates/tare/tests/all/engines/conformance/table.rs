//! Differences between the engines in the tests of common guarantees.

use tare_engine::{Engine, Mariadb, Mysql, Postgresql, Sqlite};

/// An engine and its specific values.
pub struct Differs {
    pub engine: &'static dyn Engine,
    /// Query for the value of `Server::version`.
    pub version: &'static str,
    /// Query for the database of a session; `None`: there is only one.
    pub database: Option<&'static str>,
    /// The setting for the listen address, and its values with a socket only and with TCP.
    pub listens: Option<Listens>,
    /// An option and its value, as requested.
    pub option: (&'static str, &'static str),
    /// The same, as the server reports it.
    pub reads_back: (&'static str, &'static str),
    /// Options with which no server starts: unknown, with an invalid or adjusted value, or reserved.
    pub refused: &'static [(&'static str, &'static str)],
    /// Part of the error for a syntax error.
    pub syntax: &'static str,
    /// Part of the error for a duplicate key.
    pub duplicate: &'static str,
    /// Makes a session wait only briefly for a lock; `None`: it does not wait.
    pub impatient: Option<&'static str>,
    /// A statement that can be run but not prepared.
    pub not_preparable: Option<&'static str>,
    /// Query for the number of a session, and a statement that ends the session with number `#`.
    pub ends_session: Option<(&'static str, &'static str)>,
    /// Each connection has a process instead of a thread.
    pub has_processes: bool,
    /// Parts of the error for a wrong password, of which one must match.
    pub denied: &'static [&'static str],
    /// Part of the error for an empty data directory.
    pub empty: &'static str,
    /// A file of data that this server cannot use, and part of the error.
    pub other_data: OtherData,
    /// Statements that would write to the path `@written`, read the path `@private`, or gain the right to.
    pub beyond_the_database: &'static [&'static str],
}

pub struct Listens {
    pub on_socket: (&'static str, &'static str),
    pub on_tcp: (&'static str, &'static str),
}

pub struct OtherData {
    pub file: &'static str,
    pub content: &'static str,
    pub says: &'static str,
}

pub const MARIADB: Differs = Differs {
    engine: &Mariadb,
    version: "SELECT VERSION()",
    database: Some("SELECT DATABASE()"),
    listens: Some(Listens { on_socket: ("skip_networking", "ON"), on_tcp: ("bind_address", "127.0.0.1") }),
    option: ("innodb-buffer-pool-size", "64M"),
    reads_back: ("innodb_buffer_pool_size", "67108864"),
    refused: &[
        ("innodb_bufer_pool_size", "64M"), // unknown
        ("table_open_cache", "1"),         // adjusted, with a warning in the log only
        ("innodb_flush_method", "fast"),   // no such value
        ("datadir", "/elsewhere"),         // reserved
    ],
    syntax: "(code 1064)",
    duplicate: "(code 1062)",
    impatient: Some("SET innodb_lock_wait_timeout = 1"),
    not_preparable: Some("PREPARE s FROM 'SELECT 1'"),
    ends_session: Some(("SELECT CONNECTION_ID()", "KILL #")),
    has_processes: false,
    denied: &["1045"],
    empty: "died during start",
    other_data: OtherData {
        file: "mysql_upgrade_info",
        content: "12.7.1-MariaDB",
        says: "was created by version 12.7.1-MariaDB",
    },
    beyond_the_database: &[
        "SELECT 1 INTO OUTFILE '@written'",
        "LOAD DATA INFILE '@private' INTO TABLE t",
        "SET GLOBAL general_log_file = '@written'",
        "INSTALL PLUGIN other SONAME 'ha_example.so'",
        "GRANT FILE ON *.* TO CURRENT_USER()",
        "CREATE TABLE other (id INTEGER) DATA DIRECTORY '@written'",
        "INSERT INTO mysql.func VALUES ('other', 0, '@private', 'function')",
    ],
};

pub const MYSQL: Differs = Differs {
    engine: &Mysql,
    refused: &[
        ("innodb_bufer_pool_size", "64M"), // unknown
        ("max_connections", "0"),          // adjusted, with a warning in the log only
        ("mysqlx", "ON"),                  // reserved
    ],
    other_data: OtherData { file: "aria_log_control", content: "", says: "was created by version MariaDB" },
    ..MARIADB
};

pub const POSTGRESQL: Differs = Differs {
    engine: &Postgresql,
    version: "SHOW server_version",
    database: Some("SELECT current_database()"),
    listens: Some(Listens { on_socket: ("listen_addresses", ""), on_tcp: ("listen_addresses", "127.0.0.1") }),
    option: ("shared_buffers", "64MB"),
    reads_back: ("shared_buffers", "64MB"),
    refused: &[
        ("shared_bufers", "64MB"), // unknown
        ("wal_level", "much"),     // no such value
        ("port", "5433"),          // reserved
    ],
    syntax: "(SQLSTATE 42601)",
    // Also occurs if two sessions delete a row and insert it again.
    duplicate: "(SQLSTATE 23505)",
    impatient: Some("SET lock_timeout = '300ms'"),
    not_preparable: None,
    ends_session: Some(("SELECT pg_backend_pid()", "SELECT pg_terminate_backend(#)")),
    has_processes: true,
    denied: &["28P01", "password"],
    empty: "it has no file PG_VERSION",
    other_data: OtherData { file: "PG_VERSION", content: "9\n", says: "was created by version 9" },
    beyond_the_database: &[
        "COPY t TO '@written'",
        "COPY t TO PROGRAM 'tee @written'",
        "COPY t FROM '@private'",
        "SELECT pg_read_file('@private')",
        "SELECT lo_import('@private')",
        "ALTER SYSTEM SET log_directory = '@written'",
        "CREATE ROLE other SUPERUSER",
        "SET ROLE postgres",
    ],
};

pub const SQLITE: Differs = Differs {
    engine: &Sqlite,
    version: "SELECT sqlite_version()",
    database: None,
    listens: None,
    option: ("cache_size", "-1234"),
    reads_back: ("cache_size", "-1234"),
    // `page_size` determines the format of the file, which exists already with another size.
    refused: &[("cash_size", "1"), ("page_size", "8192")],
    syntax: "syntax error",
    duplicate: "UNIQUE constraint failed: t.id (code 1555)",
    impatient: None,
    not_preparable: None,
    ends_session: None,
    has_processes: false,
    denied: &["wrong password"],
    empty: "not a data directory",
    other_data: OtherData {
        file: "tare.db",
        content: "this is no database, whatever its name says",
        says: "not a database",
    },
    beyond_the_database: &["ATTACH DATABASE '@written' AS other", "VACUUM INTO '@written'"],
};
