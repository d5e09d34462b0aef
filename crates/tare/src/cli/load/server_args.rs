//! The options of every `tare load` for the server and the user of its connections.

use super::options::{Chosen, KeyOption, KeyOptions, SERVER};
use crate::cli::{Exit, Problem, secret};
use clap::Args;
use tare_engine::{Engine, engine_by_name};

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    pub keys: Chosen<ServerKeys>,
    /// sysbench's name of the engine: mysql (mariadb and mysql) or pgsql (postgresql)
    #[arg(long, value_name = "mysql|pgsql", value_parser = ["mysql", "pgsql"], alias = "db_driver",
        help_heading = SERVER)]
    pub db_driver: Option<String>,
    /// Ask for the password; without this it comes from TARE_PASSWORD, ~/.my.cnf or ~/.pgpass
    #[arg(long, help_heading = SERVER)]
    pub ask_password: bool,
    /// Refused: every user of the machine could read it
    #[arg(long, hide = true, value_name = "PASSWORD", aliases = ["mysql-password", "mysql_password", "pgsql-password", "pgsql_password"])]
    pub password: Option<String>,
    /// Refused: login paths are not read
    #[arg(long, hide = true, value_name = "NAME")]
    pub login_path: Option<String>,
}

#[derive(Debug)]
pub(crate) struct ServerKeys;

impl KeyOptions for ServerKeys {
    const OPTIONS: &'static [KeyOption] = &[
        KeyOption {
            value: "ENGINE",
            more: " [default: mariadb; with --db-driver=pgsql: postgresql]",
            ..KeyOption::new("engine", "engine", "name")
        },
        KeyOption {
            value: "PATH",
            not_with: Some("host"),
            taken: &["mysql-socket", "mysql_socket"],
            more: "; absent: that of ~/.my.cnf, or of PGSERVICE",
            ..KeyOption::new("socket", "engine", "socket")
        },
        KeyOption {
            value: "HOST",
            taken: &["mysql-host", "mysql_host", "pgsql-host", "pgsql_host"],
            ..KeyOption::new("host", "engine", "host")
        },
        KeyOption {
            value: "PORT",
            taken: &["mysql-port", "mysql_port", "pgsql-port", "pgsql_port"],
            ..KeyOption::new("port", "engine", "port")
        },
        KeyOption {
            value: "USER",
            taken: &["mysql-user", "mysql_user", "pgsql-user", "pgsql_user"],
            ..KeyOption::new("user", "engine", "user")
        },
        KeyOption::new("option-file", "engine", "option_file"),
        KeyOption::new("service", "engine", "service"),
        KeyOption { value: "MODE", also: &["ssl-mode", "sslmode"], ..KeyOption::new("tls", "engine", "tls") },
        KeyOption { also: &["ssl-ca", "sslrootcert"], ..KeyOption::new("tls-ca", "engine", "tls_ca") },
        KeyOption { also: &["ssl-cert", "sslcert"], ..KeyOption::new("tls-cert", "engine", "tls_cert") },
        KeyOption { also: &["ssl-key", "sslkey"], ..KeyOption::new("tls-key", "engine", "tls_key") },
        KeyOption {
            also: &["server-public-key-path"],
            ..KeyOption::new("server-public-key", "engine", "server_public_key")
        },
        KeyOption::new("get-server-public-key", "engine", "get_server_public_key"),
        KeyOption {
            value: "DATABASE",
            taken: &["mysql-db", "mysql_db", "pgsql-db", "pgsql_db"],
            ..KeyOption::new("database", "engine", "database")
        },
    ];
}

impl ServerArgs {
    pub(crate) fn engine(&self) -> Result<&'static dyn Engine, Problem> {
        let usual = if self.db_driver.as_deref() == Some("pgsql") { "postgresql" } else { "mariadb" };
        let named = self.keys.get("name").map_or(usual.to_owned(), ToString::to_string);
        let engine = engine_by_name(&named).map_err(|e| Problem::new(Exit::Usage, e.to_string()))?;
        let (name, engines) = match self.db_driver.as_deref() {
            Some("mysql") => ("mysql", &["mariadb", "mysql"][..]),
            Some("pgsql") => ("pgsql", &["postgresql"][..]),
            _ => return Ok(engine),
        };
        if engines.contains(&engine.name()) {
            return Ok(engine);
        }
        let what = format!("--db-driver={name} contradicts --engine {}", engine.name());
        Err(Problem::new(Exit::Usage, what)
            .expected(format!("--engine {}", engines.join(" or ")))
            .advice("leave out --db-driver, or set --engine to the running server"))
    }

    /// The password, if it is known before the user's own files are read.
    ///
    /// # Errors
    /// When an option was given that is refused: a password that every user could read, or a login path.
    pub(crate) fn password(&self) -> Result<Option<String>, Problem> {
        if self.password.is_some() {
            let file = self.engine()?.password_file().map_or_else(String::new, |file| format!(" or {file}"));
            return Err(Problem::new(
                Exit::Usage,
                "a password on the command line can be read by every user of this machine",
            )
            .advice(format!("put it into TARE_PASSWORD{file}, or use --ask-password; and change it")));
        }
        if self.login_path.is_some() {
            return Err(Problem::new(Exit::Usage, "login paths (~/.mylogin.cnf of mysql_config_editor) are not read")
                .advice(
                    "write user and password under [client] into a file that only you can read: --option-file FILE",
                ));
        }
        secret::password(self.ask_password)
    }
}
