//! Any program, as the client of a server or alone: its commands, the metrics read from their output, the keys of a
//! study for both, and a trial that prepares, runs and cleans up for each sample.

use super::program::{
    Begins, Client, CommandLine, Job, Parser, ProgramError, Ran, Report, ServerValues, Usage, Values,
};
use super::{
    Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, Progress, TrialSize, Warm, keys, program,
};
use std::ops::ControlFlow;
use std::path::PathBuf;
use tare_engine::Server;
use tare_results::metric::{self, Named};
use tare_text::{Key, Keyed, Value, key};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct CommandSettings {
    pub command: Option<CommandLine>,
    pub shell: bool,
    pub environment: Vec<(String, String)>,
    /// Working directory; None: the directory where tare was started.
    pub directory: Option<PathBuf>,
    /// Fills a fresh server once; the data are kept.
    pub fill: Option<CommandLine>,
    pub prepare: Option<CommandLine>,
    pub cleanup: Option<CommandLine>,
    /// Whether the program needs a server; None: if a command line mentions one.
    pub server: Option<bool>,
    /// Discarded runs before the first sample.
    pub warmup_runs: usize,
    pub timeout_s: Option<f64>,
    /// Metrics read from its output; if empty, the duration is the result.
    pub metrics: Vec<Parser>,
    pub discard: bool,
    /// Whether every table and every index is read before the first sample.
    pub preload: bool,
}

impl CommandSettings {
    pub(crate) fn lines(&self) -> impl Iterator<Item = &CommandLine> {
        [&self.command, &self.fill, &self.prepare, &self.cleanup].into_iter().flatten()
    }
}

/// A key for a command line. Its value is always text, even if it looks like a number.
macro_rules! command {
    ($name:literal in $field:ident, $help:literal) => {
        Key::words(
            $name,
            $help,
            |s| s.$field.as_ref().map(|line| Value::Text(line.text().to_owned())),
            |s, v| CommandLine::new(&v.to_string()).map(|line| s.$field = Some(line)),
        )
    };
}

impl Keyed for CommandSettings {
    const KEYS: &'static [Key<Self>] = &[
        command!("command" in command,
            "the program and its arguments, as a list or as words quoted for a shell (no shell is run); {socket}, \
             {socket_directory}, {host}, {port}, {user}, {database}, {password_file}, {engine}, {threads}, {warmup}, \
             {seconds}, {total}, {seed} and {sample} are filled in"),
        key!(switch "shell" in shell, "on: the command lines are run by sh -c"),
        Key::words(
            "environment",
            "variables for the program: NAME=VALUE words; placeholders are filled in",
            |s| (!s.environment.is_empty()).then(|| Value::Text(joined(&s.environment))),
            |s, v| variables(&v.to_string()).map(|variables| s.environment = variables),
        ),
        key!(path "directory" in directory, "working directory of the program; absent: that of tare"),
        command!("fill" in fill,
            "a command that fills a fresh server, run once: its data are kept and copied for every trial"),
        command!("prepare" in prepare, "a command that runs before every sample, unmeasured"),
        command!("cleanup" in cleanup, "a command that runs after every sample, unmeasured"),
        key!(optional switch "needs_server" in server,
            "on: a server is started for it; absent: on if a command line or variable has a placeholder of a server"),
        keys::warmup_runs(|s| Some(s.warmup_runs as u64), |s, v| s.warmup_runs = v as usize),
        Key::positive(
            "timeout_s",
            "seconds after which a run is killed and its trial fails; absent: an hour",
            "seconds",
            |s| s.timeout_s,
            |s, v| s.timeout_s = Some(v),
        ),
        Key::words(
            "metrics",
            "what its output contains: sysbench, pgbench, hammerdb, json POINTER as NAME, regex PATTERN as NAME (one \
             or a \
             list); absent: its time, CPU time, memory, faults and switches are the result",
            |s| {
                let words: Vec<String> = s.metrics.iter().map(ToString::to_string).collect();
                (!words.is_empty()).then(|| words.join(" ").into())
            },
            |s, v| Parser::list(&v.to_string()).map(|parsers| s.metrics = parsers),
        ),
        Key::words(
            "output",
            "log: kept in logs/ of the results, up to 64 MiB per run; discard: standard output is discarded",
            |s| Some(if s.discard { "discard" } else { "log" }.into()),
            |s, v| v.one_of(&["log", "discard"]).map(|word| s.discard = word == "discard"),
        ),
        keys::preload(|s| Some(s.preload), |s, on| s.preload = on),
    ];
}

fn variables(text: &str) -> Result<Vec<(String, String)>, String> {
    let expected = || "NAME=VALUE words, quoted as in a shell".to_owned();
    let words = shlex::split(text).ok_or_else(expected)?;
    let pair = |word: &String| {
        let (name, value) = word.split_once('=').filter(|(name, _)| !name.is_empty())?;
        Some((name.to_owned(), value.to_owned()))
    };
    words.iter().map(|word| pair(word).ok_or_else(expected)).collect()
}

fn joined(variables: &[(String, String)]) -> String {
    let words: Vec<String> = variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}

/// Default time limit of one run, seconds.
const TIMEOUT_S: f64 = 3600.0;

impl CommandSettings {
    fn timeout_s(&self) -> f64 {
        self.timeout_s.unwrap_or(TIMEOUT_S)
    }

    fn job(&self, line: &CommandLine, values: &Values) -> Result<Job, ProgramError> {
        let variables = self.environment.iter();
        Ok(Job {
            words: line.words(self.shell, values)?,
            environment: variables
                .map(|(name, value)| Ok((name.clone(), values.fill(value)?.into())))
                .collect::<Result<_, ProgramError>>()?,
            directory: self.directory.clone(),
            ..Job::default()
        })
    }

    fn aside(&self, line: &Option<CommandLine>, values: &Values, stage: &LoadContext<'_>) -> Result<(), LoadError> {
        let Some(line) = line else { return Ok(()) };
        let job = Job { discard: true, ..self.job(line, values).map_err(LoadError::own)? };
        match program::run_quietly(&job, self.timeout_s(), &|| !stage.host.interrupted()) {
            Err(ProgramError::Interrupted) => Err(LoadError::Interrupted),
            other => other.map_err(LoadError::own),
        }
    }

    /// Runs the program once and returns its figures; `name` is the name of its log.
    fn one(&self, name: &str, values: &Values, stage: &mut LoadContext<'_>) -> Result<Measured, LoadError> {
        self.aside(&self.prepare, values, stage)?;
        let Some(line) = &self.command else { return Err(LoadError::Generator(NO_COMMAND.to_owned())) };
        let mut job = self.job(line, values).map_err(LoadError::own)?;
        job.log = stage.host.log(name).map_err(LoadError::own)?;
        job.discard = self.discard;
        let program = job.program();
        let has_server = stage.server.is_some();
        let interval = |line: &str| self.metrics.iter().find_map(|parser| parser.interval(line));
        let client = Client {
            job,
            connections: has_server.then_some(stage.threads),
            begins: if has_server { Begins::After(stage.counts.warmup_s.min(1.0)) } else { Begins::AtOnce },
            measures_s: None,
            limit_s: self.timeout_s(),
            interval: &interval,
        };
        let ran = program::run(&client, stage)?;
        let measured = measured(self, program, ran)?;
        self.aside(&self.cleanup, values, stage)?;
        Ok(measured)
    }
}

const NO_COMMAND: &str = "the workload command has no command: set workload.command";

impl Load for CommandSettings {
    fn name(&self) -> &'static str {
        "command"
    }

    fn connects(&self) -> bool {
        false
    }

    fn check(&self, _threads: usize) -> Result<(), String> {
        if self.discard && !self.metrics.is_empty() {
            return Err("output = \"log\" where metrics are read from it".to_owned());
        }
        if self.preload && !self.needs_server() {
            return Err("preload = \"off\" where no server is started".to_owned());
        }
        Ok(())
    }

    fn available(&self, _threads: usize) -> Result<(), String> {
        let Some(line) = &self.command else { return Err(NO_COMMAND.to_owned()) };
        // The program cannot be checked now if a preparation may create it, if it may be in the working directory of
        // the run, or if its path contains a placeholder.
        let is_known = self.prepare.is_none() && self.directory.is_none() && !self.shell;
        match line.program().filter(|program| is_known && !program.contains('{')) {
            Some(program) if !program::is_there(&program) => Err(format!(
                "there is no program {program}: give its full path (in quotes if it has spaces), or install it"
            )),
            Some(program) if !program::may_run(&program) => {
                Err(format!("{program} is not executable: chmod +x {program}"))
            }
            _ => Ok(()),
        }
    }

    fn needs_server(&self) -> bool {
        let speaks = self.lines().any(CommandLine::needs_server);
        let variables = || self.environment.iter().filter_map(|(_, value)| CommandLine::new(value).ok());
        self.server.unwrap_or_else(|| speaks || variables().any(|value| value.needs_server()))
    }

    fn dataset(&self, seed: u64) -> String {
        match &self.fill {
            Some(fill) => format!("command {}, seed {seed}", fill.text()),
            None => "nothing".to_owned(),
        }
    }

    fn is_to_be_resident(&self) -> bool {
        self.preload
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        let Some(line) = &self.fill else { return Ok(()) };
        let mut values = ServerValues::of("", server.target())?;
        values.values.set("seed", job.seed);
        values.values.set("threads", job.parallel);
        let filling = Job { discard: true, ..self.job(line, &values.values)? };
        let go_on = || matches!((job.go_on)(0), ControlFlow::Continue(()));
        Ok(program::run_quietly(&filling, self.timeout_s().max(TIMEOUT_S), &go_on)?)
    }

    fn drive(&self, mut stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        let mut of = program::of_stage(&stage).map_err(LoadError::own)?;
        let warm = Warm::up(self.preload, &stage)?;
        let counts = stage.counts;
        of.values.set("seconds", counts.sample_s);
        of.values.set("warmup", counts.warmup_s);
        of.values.set("total", counts.warmup_s + counts.sample_s);
        for run in 0..self.warmup_runs {
            stage.host.progress(Progress::WarmUp { seconds: 0.0 });
            of.values.set("sample", run);
            self.one(&format!("client-warmup-{run}"), &of.values, &mut stage)?;
        }
        let mut driven = Driven::default();
        for sample in 0..counts.samples {
            stage.host.progress(Progress::Sample { sample, seconds: counts.sample_s });
            of.values.set("sample", sample);
            driven.samples.push(self.one(&format!("client-{sample}"), &of.values, &mut stage)?);
        }
        Ok(warm.around(driven))
    }

    /// The duration of a program is unknown: a guess until the first trials have been timed.
    fn expected_s(&self, counts: &TrialSize) -> f64 {
        (counts.samples + self.warmup_runs) as f64
    }

    fn limit_s(&self, counts: &TrialSize) -> f64 {
        let runs = (counts.samples + self.warmup_runs) as f64;
        runs * (self.timeout_s()
            * (1 + usize::from(self.prepare.is_some()) + usize::from(self.cleanup.is_some())) as f64)
    }

    fn no_captures(&self) -> Option<&'static str> {
        Some(program::NO_CAPTURES)
    }
}

fn measured(settings: &CommandSettings, program: String, mut ran: Ran) -> Result<Measured, LoadError> {
    let mut all = Report::default();
    for parser in &settings.metrics {
        let Some(found) = parser.read(&ran.ended.text) else {
            let expected = format!("{parser}: a number");
            return Err(LoadError::own(ProgramError::NoMetric { program, expected, tail: ran.ended.tail }));
        };
        all.metrics.extend(found.metrics);
        all.covariates.extend(found.covariates);
        all.transactions = all.transactions.or(found.transactions);
    }
    let usage = usage(&ran);
    if all.metrics.is_empty() {
        all.metrics = of_kernel(ran.ended.wall_s, &usage);
    } else {
        all.covariates.insert("client_cpu_s".to_owned(), usage.cpu_s());
        all.covariates.extend(usage.peak_memory_bytes.map(|bytes| ("client_memory_bytes".to_owned(), bytes)));
    }
    Ok(Measured {
        operations: None,
        elapsed_s: ran.ended.wall_s,
        metrics: all.metrics,
        tps_each_second: std::mem::take(&mut ran.tps_each_second),
        histograms: Default::default(),
        covariates: all.covariates,
        surroundings: ran.surroundings,
        programs: ran.programs,
    })
}

/// Resources that the program used: as reported when it ended, but at least what was observed of its threads, because
/// another process may have reaped some of its children.
fn usage(ran: &Ran) -> Usage {
    let mut usage = ran.ended.usage;
    let clients = ran.surroundings.threads.iter().filter(|t| t.class == tare_results::schema::ThreadClass::Client);
    let (user_s, system_s) = clients.fold((0.0, 0.0), |(user, system), t| (user + t.user_s, system + t.system_s));
    (usage.user_s, usage.system_s) = (usage.user_s.max(user_s), usage.system_s.max(system_s));
    usage
}

fn of_kernel(wall_s: f64, usage: &Usage) -> Vec<(Named, f64)> {
    let mut metrics = vec![
        (metric::WALL_S, wall_s),
        (metric::USER_S, usage.user_s),
        (metric::SYSTEM_S, usage.system_s),
        (metric::MINOR_FAULTS, usage.minor_faults),
        (metric::MAJOR_FAULTS, usage.major_faults),
        (metric::VOLUNTARY_SWITCHES, usage.voluntary_switches),
        (metric::INVOLUNTARY_SWITCHES, usage.involuntary_switches),
    ];
    metrics.extend(usage.peak_memory_bytes.map(|bytes| (metric::PEAK_MEMORY_BYTES, bytes)));
    metrics
}
