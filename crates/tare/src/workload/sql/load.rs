//! What a trial does with statements of one's own.

use super::SqlSettings;
use super::error::SqlLoadError;
use super::fill::fill;
use super::mix::Mix;
use super::run::{Ran, run};
use crate::workload::{Counts, Driven, FillError, FillJob, Load, LoadError, Measured, Stage};
use std::fmt::Write;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tare_engine::Server;
use tare_results::metric;
use tare_results::server_cost::Operation;

/// What a study without statements is told.
const NO_FILE: &str = "the workload sql has no statements: set workload.file";

impl SqlSettings {
    /// What `workload.name` says in a study.
    pub const NAMES: &'static [&'static str] = &["sql"];

    /// The load of this name, as a study finds it when it says nothing else.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.contains(&name).then(Self::default)
    }

    fn known(&self) -> Result<&Arc<Mix>, LoadError> {
        self.mix().ok_or_else(|| LoadError::Generator(NO_FILE.to_owned()))
    }
}

impl Load for SqlSettings {
    fn name(&self) -> &'static str {
        "sql"
    }

    fn available(&self, _threads: usize) -> Result<(), String> {
        if self.mix().is_some() { Ok(()) } else { Err(NO_FILE.to_owned()) }
    }

    /// The words of the schema, and of each file where it is, how large and from when.
    fn dataset(&self, _seed: u64) -> String {
        let Some(mix) = self.mix() else { return String::new() };
        let data = &mix.data;
        let mut words = format!("sql, {:?}, {:?}", data.schema, data.after);
        for file in data.files.iter().chain(data.csv.values()) {
            let path = self.directory.join(file);
            let meta = std::fs::metadata(&path).ok();
            let made = meta.as_ref().and_then(|m| m.modified().ok()?.duration_since(UNIX_EPOCH).ok());
            let (size, made) = (meta.map_or(0, |m| m.len()), made.map_or(0, |time| time.as_nanos()));
            // Writing to a text does not fail.
            let _ = write!(words, ", {} {size} {made}", path.display());
        }
        words.push_str(&data.csv.keys().map(|table| format!(", {table}")).collect::<String>());
        words
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        let mix = self.known()?;
        let mut session = server.connect()?;
        Ok(fill(&mix.data, &self.directory, session.as_mut(), server.dialect(), job.go_on)?)
    }

    fn drive(&self, stage: Stage<'_>) -> Result<Driven, LoadError> {
        let mix = self.known()?;
        let samples = run(mix, self.rate, stage)?;
        let samples = samples.into_iter().map(|ran| measured(mix, ran)).collect::<Result<_, _>>()?;
        Ok(Driven { samples, ..Driven::default() })
    }

    fn expected_s(&self, counts: &Counts) -> f64 {
        counts.warmup_s + counts.samples as f64 * counts.sample_s
    }

    fn no_captures(&self) -> Option<&'static str> {
        Some("statements of one's own have no further sample for captures")
    }
}

fn measured(mix: &Mix, ran: Ran) -> Result<Measured, LoadError> {
    let Ran { sample, around, tally } = ran;
    if sample.transactions == 0 {
        let words: Vec<String> = tally.errors.iter().map(|(class, count)| format!("{class} {count} times")).collect();
        let errors = (!words.is_empty()).then(|| words.join(", "));
        return Err(LoadError::own(SqlLoadError::Nothing { elapsed_s: sample.elapsed_s, errors }));
    }
    let mut metrics = vec![(metric::TPS, sample.tps()), (metric::QPS, sample.qps())];
    if let Some(l) = sample.latency_ms {
        metrics.extend([
            (metric::LATENCY_MS_MEAN, l.mean),
            (metric::LATENCY_MS_P50, l.p50),
            (metric::LATENCY_MS_P90, l.p90),
            (metric::LATENCY_MS_P95, l.p95),
            (metric::LATENCY_MS_P99, l.p99),
            (metric::LATENCY_MS_P99_9, l.p99_9),
            (metric::LATENCY_MS_MAX, l.max),
        ]);
    }
    if let Some(cpu) = sample.client_cpu_us_per_transaction {
        metrics.push((metric::CLIENT_CPU_US_PER_TRANSACTION, cpu.user + cpu.system));
    }
    let mut covariates = std::collections::BTreeMap::from([("restarts".to_owned(), sample.restarts as f64)]);
    for (statement, of) in mix.statements().zip(&tally.statements).filter(|(_, of)| of.executions > 0) {
        let name = &statement.name;
        metrics.push((metric::of_name(&format!("latency_ms_mean_of_{name}")), of.mean_ms()));
        metrics.push((metric::of_name(&format!("latency_ms_p99_of_{name}")), of.p99_ms()));
        covariates.insert(format!("statement_executions_{name}"), of.executions as f64);
        covariates.insert(format!("statement_rows_{name}"), of.rows as f64);
    }
    covariates.extend(tally.errors.iter().map(|(class, count)| (format!("statement_errors_{class}"), *count as f64)));
    Ok(Measured {
        elapsed_s: sample.elapsed_s,
        operations: Some((Operation::Transaction, sample.transactions as f64)),
        metrics,
        tps_each_second: sample.tps_each_second,
        covariates,
        surroundings: around,
    })
}
