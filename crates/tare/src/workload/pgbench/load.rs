//! What a trial does with pgbench: prepare once, then a run a sample, its warm-up left out by its log of transactions.

use super::PgbenchSettings;
use crate::workload::program::{self, Begins, Client, Job, ProgramError, Ran, Report, ServerValues};
use crate::workload::program::{client_sample, parse};
use crate::workload::{Counts, Driven, FillError, FillJob, Load, LoadError, Measured, Progress, Stage};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::Path;
use tare_engine::{ConnectTarget, Server};
use tare_results::metric;

/// Seconds in which processes are found and bound, where a study asks for no warm-up.
const LEAST_WARMUP_S: u64 = 2;
/// Seconds beyond its time after which a run is given up.
const PATIENCE_S: f64 = 60.0;
/// Seconds that filling may take.
const FILL_S: f64 = 24.0 * 3600.0;
/// Beginning of the names of its logs.
const LOG: &str = "pgbench_log";

impl PgbenchSettings {
    /// What `workload.name` says in a study.
    pub const NAMES: &'static [&'static str] = &["pgbench"];

    /// The load of this name, as a study finds it when it says nothing else.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.contains(&name).then(Self::default)
    }

    fn sample(&self, sample: usize, of: &ServerValues, stage: &mut Stage<'_>) -> Result<Measured, LoadError> {
        let target = stage.server()?.target().clone();
        let warmup_s = if sample == 0 { stage.counts.warmup_s.ceil() as u64 } else { 0 }.max(LEAST_WARMUP_S);
        let measures_s = stage.counts.sample_s.ceil().max(1.0);
        let total_s = warmup_s + measures_s as u64;
        let seed = stage.seed.wrapping_add(sample as u64);
        let prefix = format!("{LOG}-{sample}");
        let words = self.run(&target, stage.threads, seed, total_s, &of.folder().join(&prefix));
        let job = Job { log: stage.host.log(&format!("client-{sample}")), ..job(words, &target) };
        let program = job.program();
        let client = Client {
            job,
            connections: Some(stage.threads),
            begins: Begins::After(warmup_s as f64),
            measures_s: Some(measures_s),
            limit_s: total_s as f64 + PATIENCE_S,
            interval: &parse::pgbench::interval,
        };
        stage.host.progress(Progress::Sample { sample, seconds: measures_s });
        let ran = program::run(&client, stage)?;
        match self.report(&ran, of.folder(), &prefix, measures_s) {
            Some(report) => Ok(client_sample(report, ran, measures_s)),
            None => {
                let expected = "transactions in pgbench's log".to_owned();
                Err(LoadError::own(ProgramError::NoMetric { program, expected, tail: ran.ended.tail }))
            }
        }
    }

    fn report(&self, ran: &Ran, folder: &Path, prefix: &str, measures_s: f64) -> Option<Report> {
        let mut logged = parse::pgbench::Logged::default();
        let logs = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        for log in logs.filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix))) {
            let lines = File::open(&log).map(BufReader::new).into_iter().flat_map(BufRead::lines);
            lines.map_while(Result::ok).for_each(|line| logged.line(&line));
            // As large as the run was long.
            let _ = std::fs::remove_file(&log);
        }
        let mut report = logged.report(measures_s)?;
        if self.log_fraction < 1.0 {
            // Of a sample of all transactions, only latencies are known.
            let readings = &ran.tps_each_second;
            let tps = readings.iter().sum::<f64>() / readings.len().max(1) as f64;
            report.metrics.retain(|(named, _)| *named != metric::TPS);
            report.metrics.insert(0, (metric::TPS, tps));
            report.transactions = Some(tps * measures_s);
        }
        let whole = parse::pgbench::report(&ran.ended.text)?;
        // Failed ones are counted over the whole run.
        report.covariates.extend(whole.covariates);
        Some(report)
    }
}

fn job(words: Vec<String>, target: &ConnectTarget) -> Job {
    let secret = (!target.password.is_empty()).then(|| ("PGPASSWORD".to_owned(), target.password.clone().into()));
    Job { words, environment: secret.into_iter().collect(), ..Job::default() }
}

impl Load for PgbenchSettings {
    fn name(&self) -> &'static str {
        "pgbench"
    }

    fn available(&self, _threads: usize) -> Result<(), String> {
        program::installed(&self.program(), "postgresql-contrib")
    }

    fn drives(&self, engine: &str) -> Result<(), String> {
        match engine {
            "postgresql" => Ok(()),
            other => Err(format!("pgbench drives postgresql alone, and the engine is {other}")),
        }
    }

    fn dataset(&self, _seed: u64) -> String {
        format!("pgbench itself, scale {}", self.scale)
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        let filling = self::job(self.prepare(server.target()), server.target());
        let go_on = || matches!((job.go_on)(0), ControlFlow::Continue(()));
        Ok(program::run_quietly(&filling, FILL_S, &go_on)?)
    }

    fn drive(&self, mut stage: Stage<'_>) -> Result<Driven, LoadError> {
        let of = program::of_stage(&stage).map_err(LoadError::own)?;
        stage.host.progress(Progress::WarmUp { seconds: stage.counts.warmup_s });
        let samples =
            (0..stage.counts.samples).map(|sample| self.sample(sample, &of, &mut stage)).collect::<Result<_, _>>()?;
        Ok(Driven { samples, ..Driven::default() })
    }

    fn expected_s(&self, counts: &Counts) -> f64 {
        let warmups_s = counts.warmup_s.max(2.0) + 2.0 * counts.samples.saturating_sub(1) as f64;
        warmups_s + counts.samples as f64 * (counts.sample_s.ceil() + 0.5)
    }

    fn no_captures(&self) -> Option<&'static str> {
        Some("a program of somebody else's has no further sample for captures")
    }
}
