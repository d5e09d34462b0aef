//! The options of every `tare load` that say which server is asked, and as whom.

use crate::cli::{Exit, Problem, secret};
use clap::Args;
use std::path::PathBuf;
use tare_engine::{ConnectTarget, DEFAULT_DATABASE, Engine, Login, TlsMode, engine_by_name, target_of};

/// Which server, and who asks.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// The server's kind: mariadb, mysql, postgresql or sqlite [default: mariadb; with --db-driver=pgsql: postgresql]
    #[arg(long)]
    pub engine: Option<String>,
    /// sysbench's word for it: mysql (mariadb and mysql) or pgsql (postgresql)
    #[arg(long, value_name = "mysql|pgsql", value_parser = ["mysql", "pgsql"], alias = "db_driver")]
    pub db_driver: Option<String>,
    /// Unix socket of the server [default: that of ~/.my.cnf, or of PGSERVICE]
    #[arg(long, value_name = "PATH", conflicts_with = "host", alias = "mysql-socket", alias = "mysql_socket")]
    pub socket: Option<PathBuf>,
    /// Host of the server, for TCP
    #[arg(long, aliases = ["mysql-host", "mysql_host", "pgsql-host", "pgsql_host"])]
    pub host: Option<String>,
    /// Port of the server, for TCP [default: the engine's usual one]
    #[arg(long, aliases = ["mysql-port", "mysql_port", "pgsql-port", "pgsql_port"])]
    pub port: Option<u16>,
    /// Account [default: the engine's usual one: root, or postgres]
    #[arg(long, aliases = ["mysql-user", "mysql_user", "pgsql-user", "pgsql_user"])]
    pub user: Option<String>,
    /// Ask for the password; without this it comes from TARE_PASSWORD, ~/.my.cnf or ~/.pgpass
    #[arg(long)]
    pub ask_password: bool,
    /// Refused: every user of the machine could read it
    #[arg(long, hide = true, value_name = "PASSWORD", aliases = ["mysql-password", "mysql_password", "pgsql-password", "pgsql_password"])]
    pub password: Option<String>,
    /// Refused: login paths are not read
    #[arg(long, hide = true, value_name = "NAME")]
    pub login_path: Option<String>,
    /// MySQL's option file in place of ~/.my.cnf
    #[arg(long, value_name = "FILE")]
    pub option_file: Option<PathBuf>,
    /// Service of PostgreSQL's pg_service.conf [default: PGSERVICE]
    #[arg(long, value_name = "NAME")]
    pub service: Option<String>,
    /// TLS: off, preferred, required, verify-ca or verify-full, or the words of MySQL and PostgreSQL [default: as
    /// ~/.my.cnf, the service or PGSSLMODE says, else off]
    #[arg(long, value_name = "MODE", visible_aliases = ["ssl-mode", "sslmode"])]
    pub tls: Option<TlsMode>,
    /// Certificates (PEM) of the authorities that are believed [default: those of the system]
    #[arg(long, value_name = "FILE", visible_aliases = ["ssl-ca", "sslrootcert"])]
    pub tls_ca: Option<PathBuf>,
    /// The client's own certificate (PEM)
    #[arg(long, value_name = "FILE", visible_aliases = ["ssl-cert", "sslcert"])]
    pub tls_cert: Option<PathBuf>,
    /// Its private key (PEM)
    #[arg(long, value_name = "FILE", visible_aliases = ["ssl-key", "sslkey"])]
    pub tls_key: Option<PathBuf>,
    /// MySQL: the server's RSA key (PEM), with which a password may be encrypted where the connection is not
    #[arg(long, value_name = "FILE", visible_alias = "server-public-key-path")]
    pub server_public_key: Option<PathBuf>,
    /// MySQL: encrypt it with whichever key the server sends, where no one can be in between
    #[arg(long)]
    pub get_server_public_key: bool,
    /// Database that holds the tables
    #[arg(long, default_value = DEFAULT_DATABASE, aliases = ["mysql-db", "mysql_db", "pgsql-db", "pgsql_db"])]
    pub database: String,
}

impl ServerArgs {
    /// The engine that was asked for, by either word.
    ///
    /// # Errors
    /// An engine that there is not, or a driver that speaks to another.
    pub fn engine(&self) -> Result<&'static dyn Engine, Problem> {
        let usual = if self.db_driver.as_deref() == Some("pgsql") { "postgresql" } else { "mariadb" };
        let engine = engine_by_name(self.engine.as_deref().unwrap_or(usual))
            .map_err(|e| Problem::new(Exit::Usage, e.to_string()))?;
        let (name, engines) = match self.db_driver.as_deref() {
            Some("mysql") => ("mysql", &["mariadb", "mysql"][..]),
            Some("pgsql") => ("pgsql", &["postgresql"][..]),
            _ => return Ok(engine),
        };
        if engines.contains(&engine.name()) {
            return Ok(engine);
        }
        let what = format!("--db-driver={name} does not speak to {}, which --engine asks for", engine.name());
        Err(Problem::new(Exit::Usage, what)
            .expected(format!("--engine {}", engines.join(" or ")))
            .advice("leave out --db-driver, or set --engine to the server that is there"))
    }

    /// Where it is and who asks it.
    ///
    /// # Errors
    /// What was said and cannot be: a password that everybody can read, files that cannot be read.
    pub fn target(&self, engine: &dyn Engine) -> Result<ConnectTarget, Problem> {
        if self.password.is_some() {
            return Err(Problem::new(
                Exit::Usage,
                "a password on the command line can be read by every user of this machine",
            )
            .advice(
                "put it into TARE_PASSWORD, ~/.my.cnf or ~/.pgpass, or let --ask-password ask for it; and change it",
            ));
        }
        if self.login_path.is_some() {
            return Err(Problem::new(Exit::Usage, "login paths (~/.mylogin.cnf of mysql_config_editor) are not read")
                .advice(
                    "write user and password under [client] into a file that you alone can read: --option-file FILE",
                ));
        }
        let login = Login {
            socket: self.socket.clone(),
            host: self.host.clone(),
            port: self.port,
            user: self.user.clone(),
            password: secret::password(self.ask_password)?,
            database: Some(self.database.clone()),
            tls: self.tls,
            tls_ca: self.tls_ca.clone(),
            tls_cert: self.tls_cert.clone(),
            tls_key: self.tls_key.clone(),
            server_public_key: self.server_public_key.clone(),
            get_server_public_key: self.get_server_public_key.then_some(true),
            option_file: self.option_file.clone(),
            service: self.service.clone(),
        };
        target_of(login, engine).map_err(|e| Problem::new(Exit::Usage, e.to_string()))
    }
}
