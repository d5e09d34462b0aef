//! What a trial does with statements of one's own.

use super::SqlSettings;
use super::client::SqlClient;
use super::error::SqlLoadError;
use super::fill::fill;
use super::mix::Mix;
use super::tally::Tally;
use crate::workload::sessions::{self, Connections, Connector, Pace, Paced, Ran, Tallies, at_pace, expected_s};
use crate::workload::{Counts, Driven, FillError, FillJob, Load, LoadError, Measured, NamedLoad, Stage, Warm};
use std::fmt::Write;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tare_engine::Server;
use tare_results::metric;

/// What a study without statements is told.
const NO_FILE: &str = "the workload sql has no statements: set workload.file";

impl SqlSettings {
    fn known(&self) -> Result<&Arc<Mix>, LoadError> {
        self.mix().ok_or_else(|| LoadError::Generator(NO_FILE.to_owned()))
    }
}

impl NamedLoad for SqlSettings {
    const NAMES: &'static [&'static str] = &["sql"];
}

impl Paced for SqlSettings {
    fn pace(&self) -> Pace {
        self.pace
    }

    fn pace_mut(&mut self) -> &mut Pace {
        &mut self.pace
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

    fn is_to_be_resident(&self) -> bool {
        self.preload
    }

    fn clients_elsewhere(&self) -> Result<(), String> {
        self.pace.may_be_elsewhere()
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        let mix = self.known()?;
        let mut session = server.connect()?;
        Ok(fill(&mix.data, &self.directory, session.as_mut(), server.dialect(), job.go_on)?)
    }

    fn drive(&self, stage: Stage<'_>) -> Result<Driven, LoadError> {
        let mix = self.known()?;
        let warm = Warm::up(self.preload, &stage)?;
        let at = |rate, stage: &mut Stage<'_>| run(mix, rate, stage);
        Ok(warm.around(at_pace(self.pace, stage, at, |ran| measured(mix, ran))?))
    }

    fn expected_s(&self, counts: &Counts) -> f64 {
        expected_s(self.pace, counts)
    }
}

fn run(mix: &Arc<Mix>, rate: Option<f64>, stage: &mut Stage<'_>) -> Result<Vec<Ran<Tally>>, LoadError> {
    let tallies = Arc::new(Tallies::new(Tally::new(mix.statements().count())));
    let connections = Connections::new(stage.threads);
    let dialect = stage.dialect;
    let client =
        |session, _| SqlClient::new(session, dialect, Arc::clone(mix), Arc::clone(&tallies)).map_err(LoadError::own);
    let connector = Connector::new(stage, &connections, client);
    sessions::run(rate, stage, &connector, &connections, |samples| tallies.take(samples))
}

fn measured(mix: &Mix, ran: Ran<Tally>) -> Result<Measured, LoadError> {
    let Ran { sample, around, counted } = ran;
    if sample.transactions == 0 {
        let words: Vec<String> = counted.errors.iter().map(|(class, count)| format!("{class} {count} times")).collect();
        let errors = (!words.is_empty()).then(|| words.join(", "));
        return Err(LoadError::own(SqlLoadError::Nothing { elapsed_s: sample.elapsed_s, errors }));
    }
    let mut measured = Measured::of_sample(&sample, around);
    let Measured { metrics, covariates, histograms, .. } = &mut measured;
    for (statement, of) in mix.statements().zip(&counted.statements) {
        let name = &statement.name;
        let (Some(mean), Some(p99)) = (of.took.mean_ms(), of.took.percentile_ms(99.0)) else { continue };
        metrics.push((metric::of_name(&format!("latency_ms_mean_of_{name}")), mean));
        metrics.push((metric::of_name(&format!("latency_ms_p99_of_{name}")), p99));
        histograms.insert(format!("latency_ms_of_{name}"), of.took.encode());
        covariates.insert(format!("statement_executions_{name}"), of.took.count() as f64);
        covariates.insert(format!("statement_rows_{name}"), of.rows as f64);
    }
    covariates.extend(counted.errors.iter().map(|(class, count)| (format!("statement_errors_{class}"), *count as f64)));
    Ok(measured)
}
