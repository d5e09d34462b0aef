//! A trial with a program: prepare, run and clean up for each sample.

use super::CommandSettings;
use crate::workload::program::{
    self, Begins, Client, CommandLine, Job, ProgramError, Ran, Report, ServerValues, Usage, Values,
};
use crate::workload::{Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, Progress, TrialSize, Warm};
use std::ops::ControlFlow;
use tare_engine::Server;
use tare_results::metric::{self, Named};

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
