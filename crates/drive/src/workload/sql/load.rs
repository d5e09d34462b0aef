//! A trial with the user's own statements.

use super::error::SqlLoadError;
use super::fill::fill;
use super::mix::Mix;
use super::sizes::Sizes;
use super::step::Step;
use super::tally::Tally;
use super::{SqlSettings, client, steps};
use crate::workload::oltp::{OltpSettings, Tables, Workload};
use crate::workload::sessions::{Pace, Paced, Ran, at_pace, expected_s};
use crate::workload::{Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, TrialSize, Warm};
use std::fmt::Write;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tare_engine::{Server, Session};
use tare_results::covariate::CLIENTS_TIMED;
use tare_results::metric;
use tare_results::steps::statement_errors;

const NO_FILE: &str = "the workload sql has no statements: set workload.file";

impl SqlSettings {
    fn known(&self) -> Result<&Arc<Mix>, LoadError> {
        self.mix().ok_or_else(|| LoadError::Generator(NO_FILE.to_owned()))
    }

    fn steps(&self) -> &[Step] {
        self.mix().map_or(&[], |mix| &mix.steps)
    }

    /// The sysbench tables that the file requests.
    fn sysbench(&self, mix: &Mix) -> OltpSettings {
        let Sizes { tables, rows } = mix.sizes;
        let tables = Tables { tables: tables as usize, rows };
        OltpSettings { tables, ..OltpSettings::new(Workload::PointSelect) }
    }
}

impl Paced for SqlSettings {
    fn pace_mut(&mut self) -> &mut Pace {
        &mut self.pace
    }
}

impl Load for SqlSettings {
    fn name(&self) -> &'static str {
        "sql"
    }

    fn check(&self, threads: usize) -> Result<(), String> {
        // The keys tables and rows are checked individually; their combination is checked against the file.
        let mix = self.text().map(|text| Mix::read(text, self.requested())).transpose()?;
        match mix.filter(|mix| !mix.steps.is_empty()) {
            Some(mix) => steps::check(&mix.steps, threads, self.pace),
            None => Ok(()),
        }
    }

    fn available(&self, _threads: usize) -> Result<(), String> {
        if self.mix().is_some() { Ok(()) } else { Err(NO_FILE.to_owned()) }
    }

    /// The text of the schema, and the path, size and modification time of each file.
    fn dataset(&self, seed: u64) -> String {
        let Some(mix) = self.mix() else { return String::new() };
        let data = &mix.data;
        let mut words = format!("sql, {:?}, {:?}", data.schema, data.after);
        if data.sysbench {
            let made = self.sysbench(mix).dataset(seed);
            // Without other data the tables are identical to those of the OLTP workloads, and shared with them.
            if data.schema.is_empty() && data.after.is_empty() && data.files.is_empty() && data.csv.is_empty() {
                return made;
            }
            words.push_str(&made);
        }
        for file in data.files.iter().chain(data.csv.values()) {
            let path = self.directory.join(file);
            let meta = std::fs::metadata(&path).ok();
            let made = meta.as_ref().and_then(|m| m.modified().ok()?.duration_since(UNIX_EPOCH).ok());
            let (size, made) = (meta.map_or(0, |m| m.len()), made.map_or(0, |time| time.as_nanos()));
            // Writing to a String does not fail.
            let _ = write!(words, ", {} {size} {made}", path.display());
        }
        words.push_str(&data.csv.keys().map(|table| format!(", {table}")).collect::<String>());
        words
    }

    fn is_to_be_resident(&self) -> bool {
        self.preload
    }

    fn data_bytes(&self) -> u64 {
        self.mix().filter(|mix| mix.data.sysbench).map_or(0, |mix| self.sysbench(mix).data_bytes())
    }

    fn rows(&self) -> Option<u64> {
        let mix = self.mix().filter(|mix| mix.data.sysbench && mix.data.csv.is_empty())?;
        self.sysbench(mix).rows()
    }

    fn check_data(&self, session: &mut dyn Session) -> Result<(), FillError> {
        match self.mix() {
            Some(mix) if mix.data.sysbench && !mix.writes() => self.sysbench(mix).check_data(session),
            _ => Ok(()),
        }
    }

    fn writes(&self) -> bool {
        self.mix().is_none_or(|mix| mix.writes())
    }

    fn pace(&self) -> Option<Pace> {
        Some(self.pace)
    }

    fn fill(&self, job: &FillJob<'_>, server: &dyn Server) -> Result<(), FillError> {
        let mix = self.known()?;
        if mix.data.sysbench {
            self.sysbench(mix).fill(job, server)?;
        }
        let mut session = server.connect()?;
        Ok(fill(&mix.data, &self.directory, session.as_mut(), server.dialect(), job.go_on)?)
    }

    fn drive(&self, stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        let mix = self.known()?;
        if !mix.steps.is_empty() {
            return steps::drive(mix, stage);
        }
        number_on(mix, &stage)?;
        let warm = Warm::up(self.preload, &stage)?;
        let at = |rate, stage: &mut LoadContext<'_>| {
            let events = stage.host.events();
            client::run(mix, &Arc::new(mix.counters()), (rate, events), stage, |_| None)
        };
        Ok(warm.around(at_pace(self.pace, stage, at, |ran| measured(mix, ran))?))
    }

    fn expected_s(&self, counts: &TrialSize) -> f64 {
        match self.steps() {
            [] => expected_s(self.pace, counts),
            steps => steps::expected_s(steps, counts),
        }
    }

    fn limit_s(&self, counts: &TrialSize) -> f64 {
        match self.steps() {
            [] => self.expected_s(counts),
            steps => steps::limit_s(steps, counts),
        }
    }

    fn no_captures(&self) -> Option<&'static str> {
        (!self.steps().is_empty())
            .then_some("each step starts from the data that the previous step left, so an additional one would differ")
    }

    fn take_warm(&mut self) -> bool {
        self.steps().is_empty() && !self.preload
    }
}

/// Sets the sequences, so that rows without an explicit id are numbered after the existing ones.
fn number_on(mix: &Mix, stage: &LoadContext<'_>) -> Result<(), LoadError> {
    if !mix.data.sysbench || !mix.writes() {
        return Ok(());
    }
    let mut session = (stage.connect)()?;
    for table in 1..=mix.sizes.tables {
        if let Some(sql) = stage.dialect.number_on(&format!("sbtest{table}"), "id") {
            session.run(&sql).map_err(|e| LoadError::own(SqlLoadError::statement("numbers of rows", &sql, e)))?;
        }
    }
    Ok(())
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
    covariates.insert(CLIENTS_TIMED.to_owned(), counted.clock.timed().as_secs_f64());
    covariates.extend(counted.errors.iter().map(|(class, count)| (statement_errors(class, None), *count as f64)));
    Ok(measured)
}
