//! What the options of a load ask for: a study of one condition, driven at once with a view of every interval, or with
//! `--out` carried out as any other study, with a results directory.

use super::run_args::RunArgs;
use super::server_args::ServerArgs;
use crate::cli::{Exit, Problem, run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tare_drive::workload::LoadError;
use tare_engine::{Address, ConnectTarget, Engine, EngineError, target_of};
use tare_study::language::made::{KeyValue, MadeStudy};
use tare_study::language::parse::Overrides;
use tare_study::language::settings::{Sampling, Settings};

/// Where statements of the user's own stand.
#[derive(Debug, Default)]
pub struct Places {
    /// The file of statements that they are in; none: scripts, or a file that comes with the program.
    pub file: Option<PathBuf>,
    /// File and line of those of scripts, by the names that their metrics have.
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

pub struct LoadRequest<'a> {
    pub args: &'a RunArgs,
    /// The one that was named, or that of sysbench's driver.
    pub engine: &'static dyn Engine,
    pub target: ConnectTarget,
    pub settings: Settings,
    /// Its seed, above all; how long it takes, the options say.
    pub sampling: Sampling,
    pub places: Places,
    made: MadeStudy,
}

impl<'a> LoadRequest<'a> {
    pub fn new(server: &ServerArgs, args: &'a RunArgs, of_load: Vec<KeyValue>) -> Result<Self, Problem> {
        let engine = server.engine()?;
        let mut values = vec![("engine", "name", engine.name().into())];
        values.extend(server.keys.values().iter().cloned());
        values.extend(of_load);
        values.extend(args.keys.values().iter().filter(|(_, key, _)| !TIMES.contains(key)).cloned());
        let made = MadeStudy { name: "load", origin: "tare load", question: None, values, factors: Vec::new() };
        let (settings, sampling) = made.settings()?;
        let login = settings.engine.running.login(server.password()?);
        let target = target_of(login, engine).map_err(|e| match e {
            EngineError::NoAddress { .. } => e.into(),
            _ => Problem::new(Exit::Usage, e.to_string()),
        })?;
        Ok(Self { args, engine, target, settings, sampling, places: Places::default(), made })
    }

    /// What the load says of a failure, with the place of the statement where one is the reason.
    pub fn failed(&self, error: LoadError) -> Problem {
        let statement = error.refused_statement().map(str::to_owned);
        let problem = Problem::from(error);
        match statement {
            Some(name) => problem
                .at(self.places.of(&name))
                .advice("correct the statement, or make what it names: the server does not take it as it stands"),
            None => problem,
        }
    }

    pub fn threads(&self) -> usize {
        self.settings.workload.threads
    }

    /// Measures as often as asked for, and keeps everything in a new directory.
    pub fn keep(mut self, out: &Path, json: bool) -> Result<Exit, Problem> {
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
        // It was requested already, and children are told it in private.
        let password = (!self.target.password.is_empty()).then(|| self.target.password.to_string());
        run::carry_out(study, out, password, json)
    }

    /// Where the server was found and as whom, as far as that was not said: every trial goes there.
    fn place(&self) -> Vec<KeyValue> {
        let (running, target) = (&self.settings.engine.running, &self.target);
        let mut found: Vec<KeyValue> = vec![("engine", "user", target.user.as_str().into())];
        found.extend(target.database.as_deref().map(|database| ("engine", "database", database.into())));
        if !running.is_asked() {
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

/// Keys that may be more at a prompt than in a study.
const TIMES: [&str; 2] = ["warmup_s", "sample_s"];
