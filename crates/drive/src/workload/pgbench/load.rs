//! A trial with pgbench: initialized once, then run once per sample; its transaction log serves to cut off the
//! warm-up.

use super::{PgbenchSettings, arguments};
use crate::workload::program::timed::{TimedClient, TimedRun};
use crate::workload::program::{self, Begins, Interval, Job, ProgramError, Ran, Report, ServerValues, parse};
use crate::workload::{LoadContext, LoadError};
use std::fs::File;
use std::io::{BufRead, BufReader};
use tare_engine::{ConnectTarget, Server};
use tare_results::metric;

impl TimedClient for PgbenchSettings {
    const NAME: &'static str = "pgbench";
    const PACKAGE: &'static str = "postgresql-contrib";
    const REPORTS: &'static str = "transactions in pgbench's log";

    fn program(&self) -> String {
        self.program.clone().unwrap_or_else(arguments::usual_program)
    }

    fn preloads(&self) -> bool {
        self.preload
    }

    fn drives(&self, engine: &str) -> Result<(), String> {
        match engine {
            "postgresql" => Ok(()),
            other => Err(format!("pgbench supports only postgresql, and the engine is {other}")),
        }
    }

    fn dataset(&self, _seed: u64) -> String {
        format!("pgbench itself, scale {}", self.scale)
    }

    fn filling(&self, server: &dyn Server, _parallel: usize, of: &ServerValues) -> Result<Job, ProgramError> {
        job(self.prepare(server.target()), server.target(), of)
    }

    fn job(&self, run: TimedRun, of: &ServerValues, stage: &LoadContext<'_>) -> Result<Job, LoadError> {
        let target = stage.server()?.target();
        let seed = stage.seed.wrapping_add(run.sample as u64);
        let logs = of.folder().map_err(LoadError::own)?.join(prefix(run));
        let words = self.run(target, stage.threads, seed, run.total_s(), &logs);
        job(words, target, of).map_err(LoadError::own)
    }

    fn begins(&self, run: TimedRun) -> Begins<'static> {
        Begins::After(run.warmup_s as f64)
    }

    fn interval(line: &str) -> Option<Interval> {
        parse::pgbench::interval(line)
    }

    fn report(&self, run: TimedRun, ran: &Ran, of: &ServerValues) -> Option<Report> {
        let prefix = prefix(run);
        let measured_s = run.measured_s as f64;
        let mut logged = parse::pgbench::Logged::default();
        let logs = std::fs::read_dir(of.folder().ok()?).into_iter().flatten().flatten().map(|entry| entry.path());
        for log in logs.filter(|path| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(&prefix))) {
            let lines = File::open(&log).map(BufReader::new).into_iter().flat_map(BufRead::lines);
            lines.map_while(Result::ok).for_each(|line| logged.line(&line));
            // The log grows with the length of the run.
            let _ = std::fs::remove_file(&log);
        }
        let mut report = logged.report(measured_s)?;
        if self.log_fraction < 1.0 {
            // If only a sample of the transactions is logged, the log yields only latencies.
            let readings = &ran.tps_each_second;
            let tps = readings.iter().sum::<f64>() / readings.len().max(1) as f64;
            report.metrics.retain(|(named, _)| *named != metric::TPS);
            report.metrics.insert(0, (metric::TPS, tps));
            report.transactions = Some(tps * measured_s);
        }
        let whole = parse::pgbench::report(&ran.ended.text)?;
        // Failed transactions are counted over the whole run.
        report.covariates.extend(whole.covariates);
        Some(report)
    }
}

fn prefix(run: TimedRun) -> String {
    format!("pgbench_log-{}", run.sample)
}

/// Passes a password in a file that only this user can read, and the encryption settings of the target.
fn job(words: Vec<String>, target: &ConnectTarget, of: &ServerValues) -> Result<Job, ProgramError> {
    let mut environment = arguments::encryption(target);
    if let Some(line) = arguments::password_line(target) {
        environment.push(("PGPASSFILE".to_owned(), of.secret("pgpass", &line)?.into()));
    }
    Ok(Job { words, environment, without: program::OF_SESSIONS, ..Job::default() })
}
