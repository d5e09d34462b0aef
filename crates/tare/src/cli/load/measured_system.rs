//! The system that a load of `tare load` measured: server, connection and workload.

use super::request::LoadRequest;
use crate::cli::Problem;
use serde::Serialize;
use tare_engine::{Address, RunningServer, Server};
use tare_text::count;

/// The server and the load, as reported by server and connection.
#[derive(Debug, Serialize)]
pub(crate) struct MeasuredSystem {
    engine: &'static str,
    version: String,
    /// `socket` or `tcp`.
    transport: &'static str,
    address: String,
    /// Protocol version and cipher suite; null if the connection is not encrypted.
    encryption: Option<String>,
    workload: &'static str,
    /// The user's files of statements; empty for other loads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files: Vec<String>,
    client_threads: usize,
}

impl MeasuredSystem {
    /// Describes the server over a connection of its own.
    pub(crate) fn of(request: &LoadRequest<'_>) -> Result<Self, Problem> {
        let server = RunningServer::attach(request.engine, request.target.clone())?;
        Ok(Self {
            engine: request.engine.name(),
            version: server.version().to_owned(),
            transport: match server.address() {
                Address::Socket(_) => "socket",
                Address::Tcp(..) => "tcp",
            },
            address: server.address().to_string(),
            encryption: server.encryption().map(str::to_owned),
            workload: request.settings.workload.load.load().name(),
            files: request.places.names.clone(),
            client_threads: request.threads(),
        })
    }

    pub(crate) fn words(&self) -> String {
        let Self { engine, version, transport, address, encryption, workload, files, client_threads } = self;
        // PostgreSQL's version also names the compiler, after " on ".
        let version = version.split(" on ").next().unwrap_or_default();
        let server = match version {
            "unknown" => product(engine).to_owned(),
            // PostgreSQL's version begins with the name of the product.
            version if version.to_lowercase().starts_with(engine) => version.to_owned(),
            version => format!("{} {version}", product(engine)),
        };
        let how = encryption.as_deref().unwrap_or("not encrypted");
        let through = if *transport == "socket" { "Unix socket" } else { "TCP" };
        let threads = count(*client_threads, "client thread");
        let of = if files.is_empty() { String::new() } else { format!(" ({})", files.join(", ")) };
        format!("server        {server}, {through} {address}, {how}\nload          {workload}{of}, {threads}\n")
    }
}

/// The product name of an engine, in the spelling of its vendor.
fn product(engine: &str) -> &str {
    match engine {
        "mariadb" => "MariaDB",
        "mysql" => "MySQL",
        "postgresql" => "PostgreSQL",
        "sqlite" => "SQLite",
        other => other,
    }
}
