//! The request of `tare load`: a study of one condition, driven directly with a line per interval, or with `--out` as a
//! run; and the system that it measured, as its server and connection report it.

use super::options::{RunArgs, ServerArgs};
use crate::cli::{Exit, Problem, run};
use crate::trial::running;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tare_drive::capture::settings::CaptureSettings;
use tare_drive::workload::{AnyLoad, LoadError};
use tare_engine::{Address, ConnectTarget, Engine, EngineError, RunningServer, Server};
use tare_study::language::made::{KeyValue, MadeStudy};
use tare_study::language::parse::Overrides;
use tare_study::language::settings::{Sampling, Settings};
use tare_text::count;

/// Where the user's own statements come from.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The files, with weights other than 1, or the name of a file that comes with tare.
    pub names: Vec<String>,
    /// The file of statements; `None`: scripts, or a file that comes with tare.
    pub file: Option<PathBuf>,
    /// File and line of statements in scripts, by the names in their metrics.
    pub lines: BTreeMap<String, String>,
}

impl Places {
    fn of(&self, name: &str) -> String {
        match (self.lines.get(name), &self.file) {
            (Some(line), _) => line.clone(),
            (None, Some(file)) => format!("{}, statement {name}", file.display()),
            (None, None) => format!("statement {name}"),
        }
    }
}

pub(crate) struct LoadRequest<'a> {
    pub args: &'a RunArgs,
    /// The named engine, or that of sysbench's driver.
    pub engine: &'static dyn Engine,
    pub target: ConnectTarget,
    pub settings: Settings,
    /// One sample with the seed and the durations of the options.
    pub sampling: Sampling,
    pub places: Places,
    made: MadeStudy,
}

impl<'a> LoadRequest<'a> {
    pub(crate) fn new(server: &ServerArgs, args: &'a RunArgs, of_load: Vec<KeyValue>) -> Result<Self, Problem> {
        let engine = server.engine()?;
        let mut values = vec![("engine", "name", engine.name().into())];
        values.extend(server.keys.values().iter().cloned());
        values.extend(of_load);
        values.extend(args.keys.values().iter().filter(|(_, key, _)| !TIMES.contains(key)).cloned());
        let made = MadeStudy { name: "load", origin: "tare load", question: None, values, factors: Vec::new() };
        let (mut settings, sampling) = made.settings()?;
        // What a study records of every sample is not printed here.
        settings.capture = CaptureSettings { memory: false, schedule: false, cache: false, ..settings.capture };
        let sampling = Sampling { samples: 1, warmup_s: args.warmup_s(), sample_s: args.sample_s(), ..sampling };
        let target = running::target(&settings.engine, server.password()?).map_err(|e| match e {
            EngineError::NoAddress { .. } => e.into(),
            _ => Problem::new(Exit::Usage, e.to_string()),
        })?;
        Ok(Self { args, engine, target, settings, sampling, places: Places::default(), made })
    }

    /// Converts an error of the load, with the place of the statement if a statement is the cause.
    pub(crate) fn failed(&self, error: LoadError) -> Problem {
        let (is_lost, is_denied) = (error.is_connection_lost(), error.is_denied());
        let statement = error.refused_statement().map(str::to_owned);
        let problem = Problem::from(error);
        match statement {
            _ if is_lost => {
                let more = match self.settings.workload.load {
                    AnyLoad::Sql(_) | AnyLoad::Tpcc(_) => "",
                    _ => "; to continue when it is back, add --reconnect",
                };
                problem.advice(format!("read in the server's log why it ended{more}"))
            }
            Some(name) => problem.at(self.places.of(&name)).advice(match is_denied {
                true => "grant the account the right to it, or name another account: --user USER",
                false => "correct the statement, its data or what it names: the server does not accept it",
            }),
            None => problem,
        }
    }

    pub(crate) fn threads(&self) -> usize {
        self.settings.workload.threads
    }

    /// Measures as often as requested and keeps all results in a new directory.
    pub(crate) fn keep(mut self, out: &Path, json: bool) -> Result<Exit, Problem> {
        let place = self.place();
        let args = self.args;
        let values = &mut self.made.values;
        values.extend(place);
        values.extend([
            ("sampling", "trials", args.repeat.into()),
            ("sampling", "samples", 1_usize.into()),
            ("sampling", "warmup_s", args.warmup_s().into()),
            ("sampling", "sample_s", args.sample_s().into()),
        ]);
        let overrides = Overrides { sets: args.set.clone(), ..Overrides::default() };
        let study = self.made.study(&overrides)?;
        // The user has entered the password already; children get it through a private channel.
        let password = (!self.target.password.is_empty()).then(|| self.target.password.to_string());
        run::carry_out(study, out, password, json)
    }

    /// The address and user that were found by default, so that every trial connects to the same server.
    fn place(&self) -> Vec<KeyValue> {
        let (running, target) = (&self.settings.engine.running, &self.target);
        let mut found: Vec<KeyValue> = vec![("engine", "user", target.user.as_str().into())];
        found.extend(target.database.as_deref().map(|database| ("engine", "database", database.into())));
        if !running.is_requested() {
            match &target.address {
                Address::Socket(path) => found.push(("engine", "socket", path.display().to_string().into())),
                Address::Tcp(host, port) => {
                    found.push(("engine", "host", host.as_str().into()));
                    found.push(("engine", "port", u32::from(*port).into()));
                }
            }
        }
        found
    }
}

/// Keys that may have larger values on the command line than in a study.
const TIMES: [&str; 2] = ["warmup_s", "sample_s"];

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
    pub(crate) fn of(request: &LoadRequest<'_>, server: &RunningServer) -> Self {
        Self {
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
        }
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
