//! A trial with the user's own statements; before it, the user's own schema and rows, from SQL and CSV files.

use super::client::{SqlLoadError, StatementTally, Tally};
use super::file::{Data, Sizes};
use super::mix::Mix;
use super::pgbench::statements;
use super::settings::read_statements;
use super::step::Step;
use super::{SqlSettings, client, steps};
use crate::workload::fill::LONGEST_STATEMENT;
use crate::workload::oltp::{OltpSettings, Tables, Workload, number_on};
use crate::workload::sessions::{Pace, Paced, Ran, at_pace, expected_s};
use crate::workload::{Driven, FillError, FillJob, Load, LoadContext, LoadError, Measured, TrialSize, Warm};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use tare_engine::{Dialect, Param, Server, Session, StatementId};
use tare_results::covariate::CLIENTS_TIMED;
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
        let Sizes { tables, rows, .. } = mix.sizes;
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

    /// Only the tables of sysbench grow with these keys.
    fn sizes(&self) -> Vec<(&'static str, u64)> {
        let Some(mix) = self.mix().filter(|mix| mix.data.sysbench) else { return Vec::new() };
        let Sizes { tables, rows, .. } = mix.sizes;
        let touched = mix.touches_more();
        [(touched.tables, ("tables", tables)), (touched.rows, ("rows", rows))]
            .into_iter()
            .filter_map(|(more, size)| more.then_some(size))
            .collect()
    }

    fn check(&self, threads: usize) -> Result<(), String> {
        // The keys tables and rows are checked individually; their combination is checked against the file.
        let mix = self.text().map(|text| Mix::read(text, self.requested())).transpose()?;
        match mix.filter(|mix| !mix.steps.is_empty()) {
            Some(mix) => steps::check(&mix.steps, threads, self.pace),
            None => Ok(()),
        }
    }

    fn one_sample(&self) -> Option<&'static str> {
        let why = "because the steps of the file run once, without a pause, and change the tables";
        (!self.steps().is_empty()).then_some(why)
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
        Ok(fill_tables(&mix.data, &self.directory, session.as_mut(), server.dialect(), job.go_on)?)
    }

    fn drive(&self, stage: LoadContext<'_>) -> Result<Driven, LoadError> {
        let mix = self.known()?;
        if !mix.steps.is_empty() {
            return steps::drive(mix, stage);
        }
        if mix.data.sysbench && mix.writes() {
            number_on(&stage, mix.sizes.tables as usize)?;
        }
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

fn measured(mix: &Mix, ran: Ran<Tally>) -> Result<Measured, LoadError> {
    let Ran { sample, around, counted } = ran;
    if sample.transactions == 0 {
        let words: Vec<String> = counted.errors.iter().map(|(class, count)| format!("{class} {count} times")).collect();
        let errors = (!words.is_empty()).then(|| words.join(", "));
        return Err(LoadError::own(SqlLoadError::Nothing { elapsed_s: sample.elapsed_s, errors }));
    }
    let mut measured = Measured::of_sample(&sample, around);
    let executed = mix.statements().zip(&counted.statements).filter(|(_, of)| of.took.count() > 0);
    for (statement, StatementTally { took, rows }) in executed {
        let name = &statement.name;
        measured.add_latencies(name, took, [("mean", took.mean_ms()), ("p99", took.percentile_ms(99.0))]);
        measured.covariates.insert(format!("statement_executions_{name}"), took.count() as f64);
        measured.covariates.insert(format!("statement_rows_{name}"), *rows as f64);
    }
    let covariates = &mut measured.covariates;
    covariates.insert(CLIENTS_TIMED.to_owned(), counted.clock.timed().as_secs_f64());
    covariates.extend(counted.errors.iter().map(|(class, count)| (statement_errors(class, None), *count as f64)));
    Ok(measured)
}

const ROWS_AT_ONCE: usize = 1000;

/// Receives the number of added rows, and returns whether to continue.
type GoOn<'a> = dyn Fn(u64) -> ControlFlow<()> + Sync + 'a;

/// Runs the schema, the files, the rows and the final statements, in this order.
fn fill_tables(
    data: &Data,
    directory: &Path,
    session: &mut dyn Session,
    dialect: &dyn Dialect,
    go_on: &GoOn<'_>,
) -> Result<(), SqlLoadError> {
    session.set_timeout(Some(LONGEST_STATEMENT)).map_err(|e| SqlLoadError::statement("time-out", "", e))?;
    run_text("data.schema", &data.schema, session, go_on)?;
    for file in &data.files {
        let path = directory.join(file);
        let text =
            read_statements(&path, u64::MAX).map_err(|source| SqlLoadError::File { path: path.clone(), source })?;
        run_text(&path.display().to_string(), &text, session, go_on)?;
    }
    for (table, file) in &data.csv {
        rows(table, &directory.join(file), session, dialect, go_on)?;
    }
    run_text("data.after", &data.after, session, go_on)
}

fn run_text(what: &str, text: &str, session: &mut dyn Session, go_on: &GoOn<'_>) -> Result<(), SqlLoadError> {
    for (number, sql) in statements(text).into_iter().enumerate() {
        if go_on(0).is_break() {
            return Err(SqlLoadError::Interrupted);
        }
        let place = || format!("{what}, statement {}", number + 1);
        session.run(&sql).map_err(|source| SqlLoadError::statement(place(), &sql, source))?;
    }
    Ok(())
}

/// Inserts the rows of a file with a line of column names; an empty field is NULL.
fn rows(
    table: &str,
    path: &Path,
    session: &mut dyn Session,
    dialect: &dyn Dialect,
    go_on: &GoOn<'_>,
) -> Result<(), SqlLoadError> {
    let wrong = |reason: String| SqlLoadError::Rows { path: path.to_owned(), reason };
    let file = tare_files::open_named(path).map_err(|e| wrong(e.to_string()))?;
    let mut reader = csv::Reader::from_reader(file.ok_or_else(|| wrong("there is no such file".to_owned()))?);
    let columns: Vec<String> =
        reader.headers().map_err(|e| wrong(e.to_string()))?.iter().map(str::trim).map(str::to_owned).collect();
    let mut inserts = Inserts { table, columns: &columns, dialect, known: Vec::new() };
    let run = |session: &mut dyn Session, sql: &str| {
        session.run(sql).map(drop).map_err(|e| SqlLoadError::statement(format!("rows of {table}"), sql, e))
    };
    let mut record = csv::StringRecord::new();
    let mut added = 0_usize;
    while reader.read_record(&mut record).map_err(|e| wrong(e.to_string()))? {
        if added.is_multiple_of(ROWS_AT_ONCE) {
            if added > 0 {
                run(session, "COMMIT")?;
            }
            if go_on(ROWS_AT_ONCE as u64).is_break() {
                return Err(SqlLoadError::Interrupted);
            }
            run(session, dialect.begin(true))?;
        }
        let set: Vec<bool> = record.iter().map(|field| !field.is_empty()).collect();
        let values: Vec<Param<'_>> = record.iter().filter(|field| !field.is_empty()).map(Param::Text).collect();
        let line = record.position().map_or(0, csv::Position::line);
        let insert = inserts.of(&set, session)?;
        session
            .execute(insert, &values)
            .map_err(|e| wrong(format!("line {line}: {e}; columns {}", columns.join(", "))))?;
        added += 1;
    }
    if added > 0 { run(session, "COMMIT") } else { Ok(()) }
}

/// One INSERT for each set of fields that are not NULL, prepared on first use.
struct Inserts<'a> {
    table: &'a str,
    columns: &'a [String],
    dialect: &'a dyn Dialect,
    known: Vec<(Vec<bool>, StatementId)>,
}

impl Inserts<'_> {
    fn of(&mut self, set: &[bool], session: &mut dyn Session) -> Result<StatementId, SqlLoadError> {
        if let Some((_, id)) = self.known.iter().find(|(known, _)| known == set) {
            return Ok(*id);
        }
        let mut number = 0;
        let value = |is_set: &bool| match is_set {
            true => {
                number += 1;
                self.dialect.placeholder(number)
            }
            false => "NULL".to_owned(),
        };
        let values: Vec<String> = set.iter().map(value).collect();
        let sql = format!("INSERT INTO {} ({}) VALUES ({})", self.table, self.columns.join(", "), values.join(", "));
        let id =
            session.prepare(&sql).map_err(|e| SqlLoadError::statement(format!("rows of {}", self.table), &sql, e))?;
        self.known.push((set.to_vec(), id));
        Ok(id)
    }
}
