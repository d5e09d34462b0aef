//! One connection that runs the user's own transactions, its errors, and its counts: latency and rows by statement,
//! errors by class. Each client counts its own, and a sample adds them up.

use super::file::Errors;
use super::mix::{Among, Mix};
use super::parameter::{Counters, Drawn};
use super::statement::Statement;
use super::step::Part;
use crate::workload::error::shown;
use crate::workload::sessions::{Clock, Connections, Connector, Merge, Ran, Tallies, roll_back};
use crate::workload::{LoadContext, LoadError, sessions};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_engine::{Dialect, Param, Session, SqlError, SqlErrorKind, StatementId};
use tare_load::{Attempt, Client, Curve, Latencies, Queries, Random};
use tare_results::steps::RETRY;

struct SqlClient {
    session: Box<dyn Session>,
    dialect: &'static dyn Dialect,
    mix: Arc<Mix>,
    /// By transaction, by statement, and by the number in its text, counted from the first; None: it cannot be
    /// prepared here, and is sent as text.
    prepared: Vec<Vec<Vec<Option<StatementId>>>>,
    values: Vec<Vec<Drawn>>,
    counters: Arc<Counters>,
    tally: Tally,
    tallies: Arc<Tallies<Tally>>,
    sent: Queries,
    runs: Among,
    part: Option<Part>,
    /// The transaction that has to run again after an error of the server: with the same values, so that no value of a
    /// counter is skipped.
    again: Option<usize>,
}

impl SqlClient {
    fn new(
        mut session: Box<dyn Session>,
        dialect: &'static dyn Dialect,
        mix: Arc<Mix>,
        counters: Arc<Counters>,
        tallies: Arc<Tallies<Tally>>,
        part: Option<Part>,
    ) -> Result<Self, SqlLoadError> {
        let runs = mix.among(match &part {
            Some(part) => part.runs.clone(),
            None => (0..mix.transactions.len()).collect(),
        });
        let mut prepared = Vec::new();
        for (number, transaction) in mix.transactions.iter().enumerate() {
            let statements = if runs.numbers.contains(&number) { &transaction.statements[..] } else { &[] }.iter();
            prepared.push(statements.map(|one| prepare(session.as_mut(), dialect, one)).collect::<Result<_, _>>()?);
        }
        let values = vec![Vec::new(); mix.parameters.len()];
        let (tally, sent) = (tallies.empty(), Queries::default());
        Ok(Self { session, dialect, mix, prepared, values, counters, tally, tallies, sent, runs, part, again: None })
    }

    fn attempt(&mut self, number: usize, random: &mut Random) -> Result<(), (String, SqlError)> {
        let mix = Arc::clone(&self.mix);
        let transaction = &mix.transactions[number];
        if transaction.has_border() {
            self.border(self.dialect.begin(transaction.writes))?;
        }
        for (at, statement) in transaction.statements.iter().enumerate() {
            for _ in 0..statement.times {
                draw(&mix, &statement.draws, &mut self.values, &self.counters, random);
                self.send(number, at, statement, transaction.first_statement + at)?;
            }
        }
        if transaction.has_border() {
            self.border("COMMIT")?;
        }
        Ok(())
    }

    fn send(&mut self, of: usize, at: usize, statement: &Statement, place: usize) -> Result<(), (String, SqlError)> {
        let all = &self.values;
        let values = statement.values.iter().map(|(parameter, which)| match &all[*parameter][*which] {
            Drawn::Int(number) => Param::Int(*number),
            Drawn::Text(text) => Param::Text(text),
        });
        let values: Vec<Param<'_>> = values.collect();
        let (first, _) = statement.texts();
        let number = match statement.in_text.and_then(|(parameter, ..)| all[parameter].first()) {
            Some(Drawn::Int(number)) => *number,
            _ => first,
        };
        let began = Instant::now();
        let done = match self.prepared[of][at][number.abs_diff(first) as usize] {
            Some(id) => self.session.execute(id, &values),
            None => self.session.run(&statement.sql(self.dialect, number)),
        };
        let rows = done.map_err(|e| (statement.name.clone(), e))?;
        self.tally.statements[place].add(began.elapsed(), rows);
        match statement.reads {
            true => self.sent.read += 1,
            false if rows > 0 => self.sent.write += 1,
            false => self.sent.other += 1,
        }
        Ok(())
    }

    fn border(&mut self, sql: &str) -> Result<(), (String, SqlError)> {
        self.session.run(sql).map_err(|e| (sql.to_owned(), e))?;
        self.sent.other += 1;
        Ok(())
    }
}

/// Runs these clients once, each with the part of its number.
pub(super) fn run(
    mix: &Arc<Mix>,
    counters: &Arc<Counters>,
    (rate, events): (Option<Curve>, Option<u64>),
    stage: &mut LoadContext<'_>,
    part: impl Fn(usize) -> Option<Part> + Sync,
) -> Result<Vec<Ran<Tally>>, LoadError> {
    let tallies = Arc::new(Tallies::new(Tally::new(mix.statements().count())));
    let connections = Connections::new(stage.threads);
    let dialect = stage.dialect;
    let client = |session, index| {
        let (mix, counters, tallies) = (Arc::clone(mix), Arc::clone(counters), Arc::clone(&tallies));
        SqlClient::new(session, dialect, mix, counters, tallies, part(index)).map_err(LoadError::own)
    };
    let connector = Connector::new(stage, &connections, client);
    sessions::run(rate, events, stage, &connector, &connections, |samples| tallies.take(samples))
}

fn prepare(
    session: &mut dyn Session,
    dialect: &'static dyn Dialect,
    statement: &Statement,
) -> Result<Vec<Option<StatementId>>, SqlLoadError> {
    let (first, count) = statement.texts();
    let mut prepared = Vec::new();
    for number in 0..count {
        let sql = statement.sql(dialect, first.wrapping_add_unsigned(number));
        prepared.push(match session.prepare(&sql) {
            Ok(id) => Some(id),
            Err(e) if e.kind == SqlErrorKind::NotPreparable && statement.values.is_empty() => None,
            Err(source) => return Err(SqlLoadError::refused(&statement.name, &sql, source)),
        });
    }
    Ok(prepared)
}

fn draw(mix: &Mix, draws: &[(usize, usize)], values: &mut [Vec<Drawn>], counters: &Counters, random: &mut Random) {
    for (parameter, count) in draws {
        let mut into = std::mem::take(&mut values[*parameter]);
        mix.parameters[*parameter].draw(&mut into, *count, values, counters, random);
        values[*parameter] = into;
    }
}

impl Client for SqlClient {
    type Error = LoadError;

    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, LoadError> {
        self.sent = Queries::default();
        let number = match self.again.take() {
            Some(number) => number,
            None => {
                let number = self.mix.draw(&self.runs, random);
                draw(&self.mix, &self.mix.transactions[number].draws, &mut self.values, &self.counters, random);
                number
            }
        };
        let Err((what, error)) = self.attempt(number, random) else {
            self.part.iter().for_each(Part::done);
            return Ok(Attempt::Done(self.sent));
        };
        let goes_on = error.kind == SqlErrorKind::Retry
            || (self.mix.errors == Errors::Count && error.kind == SqlErrorKind::Other);
        if !goes_on {
            let transaction = &self.mix.transactions[number];
            let statement = transaction.statements.iter().find(|statement| statement.name == what);
            return Err(LoadError::own(match statement {
                Some(one) => SqlLoadError::refused(&one.name, &one.sql(self.dialect, one.texts().0), error),
                None => SqlLoadError::statement(format!("transaction {}", transaction.name), &what, error),
            }));
        }
        self.tally.error(&error);
        self.again = (error.kind == SqlErrorKind::Retry).then_some(number);
        if self.mix.transactions[number].has_border()
            && let Err(source) = roll_back(self.session.as_mut())
        {
            return Err(LoadError::own(SqlLoadError::statement("after an error", "ROLLBACK", source)));
        }
        Ok(Attempt::Restart(self.sent))
    }

    fn idle(&mut self) -> Option<Duration> {
        self.part.as_mut()?.idle()
    }

    fn sample_begins(&mut self) {
        self.part.iter_mut().for_each(Part::sample_begins);
        self.tally.clear();
        self.tally.clock.start();
    }

    fn sample_ended(&mut self, sample: usize) {
        self.tally.clock.stop();
        self.tallies.hand_over(sample, &mut self.tally);
    }
}

/// The class of an error without a code of the engine.
const NO_CODE: &str = "no_code";
/// Limit of error classes counted separately: a server may return a new code with every answer.
const MOST_CLASSES: usize = 1_000;
/// The class of all others.
const FURTHER: &str = "further";

#[derive(Debug, Clone, Default)]
pub(super) struct StatementTally {
    pub took: Latencies,
    pub rows: u64,
}

impl StatementTally {
    pub(crate) fn add(&mut self, took: Duration, rows: u64) {
        self.took.record(took.as_nanos() as u64);
        self.rows += rows;
    }
}

/// The counts of one client, or of all clients, in a sample.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    pub statements: Vec<StatementTally>,
    pub errors: BTreeMap<String, u64>,
    pub clock: Clock,
}

impl Tally {
    pub(crate) fn new(statements: usize) -> Self {
        Self { statements: vec![StatementTally::default(); statements], ..Self::default() }
    }

    pub(crate) fn error(&mut self, error: &SqlError) {
        let class = match error.kind {
            SqlErrorKind::Retry => RETRY.to_owned(),
            _ => error.code.map_or_else(|| NO_CODE.to_owned(), |code| code.to_string()),
        };
        self.add_errors(&class, 1);
    }

    fn add_errors(&mut self, class: &str, count: u64) {
        let is_apart = self.errors.contains_key(class) || self.errors.len() < MOST_CLASSES;
        *self.errors.entry(if is_apart { class } else { FURTHER }.to_owned()).or_default() += count;
    }
}

impl Merge for Tally {
    fn merge(&mut self, other: &Self) {
        for (sum, other) in self.statements.iter_mut().zip(&other.statements) {
            sum.took.merge(&other.took);
            sum.rows += other.rows;
        }
        for (class, count) in &other.errors {
            self.add_errors(class, *count);
        }
        self.clock.merge(&other.clock);
    }

    fn clear(&mut self) {
        for statement in &mut self.statements {
            statement.took.clear();
            statement.rows = 0;
        }
        self.errors.clear();
        self.clock.clear();
    }
}

/// Errors of a file of statements, its data or its transactions.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SqlLoadError {
    #[error("{what}: {sql}: {source}")]
    Statement { what: String, sql: String, source: SqlError },
    /// A statement of the file, by the name of its metrics.
    #[error("{name}: {sql}: {source}")]
    Refused { name: String, sql: String, source: SqlError },
    #[error("cannot read {}: {source}; paths are relative to the file of statements", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {reason}", path.display())]
    Rows { path: PathBuf, reason: String },
    #[error("interrupted while filling tables")]
    Interrupted,
    #[error(
        "no transaction was finished in {elapsed_s:.1} s of a sample{}: make samples longer (sampling.sample_s; on the \
         command line --time), or correct the statements",
        errors.as_ref().map(|e| format!(" (errors: {e})")).unwrap_or_default()
    )]
    Nothing { elapsed_s: f64, errors: Option<String> },
}

impl SqlLoadError {
    pub(super) fn statement(what: impl Into<String>, sql: &str, source: SqlError) -> Self {
        Self::Statement { what: what.into(), sql: shown(sql), source }
    }

    pub(super) fn refused(name: &str, sql: &str, source: SqlError) -> Self {
        Self::Refused { name: name.to_owned(), sql: shown(sql), source }
    }
}

impl LoadError {
    /// The name (as in its metrics) of the user's statement that the server refused.
    pub fn refused_statement(&self) -> Option<&str> {
        let Self::Own(error) = self else { return None };
        match error.downcast_ref()? {
            SqlLoadError::Refused { name, .. } => Some(name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_engine::{Code, SqlState};

    #[test]
    fn errors_beyond_a_thousand_classes_are_counted_together() {
        let mut all = Tally::new(0);
        for part in 0..3 {
            let mut one = Tally::new(0);
            (0..600).for_each(|code| one.add_errors(&format!("{part}{code:03}"), 1));
            all.merge(&one);
        }
        assert_eq!((all.errors.len(), all.errors[FURTHER]), (MOST_CLASSES + 1, 800));
        assert_eq!(all.errors.values().sum::<u64>(), 1800);
    }

    #[test]
    fn a_sample_has_the_percentiles_of_all_clients_within_a_thousandth() {
        let tallies = Tallies::new(Tally::new(1));
        let mut clients = [tallies.empty(), tallies.empty()];
        for sample in 0..2_u64 {
            for us in 1..=1000_u64 {
                let took = Duration::from_micros(us << sample);
                clients[us as usize % 2].statements[0].add(took, 1);
            }
            clients.iter_mut().for_each(|client| tallies.hand_over(sample as usize, client));
        }
        let samples = tallies.take(2);
        for (sample, counted) in samples.iter().enumerate() {
            let StatementTally { took, rows } = &counted.statements[0];
            assert_eq!((took.count(), *rows), (1000, 1000), "sample {sample}");
            for percentile in [50.0, 95.0, 99.0] {
                let expected = percentile / 100.0 * f64::from(1_u32 << sample);
                let found = took.percentile_ms(percentile).unwrap();
                assert!((found / expected - 1.0).abs() < 1e-3, "p{percentile}: {found} of {expected}");
            }
        }
    }

    #[test]
    fn errors_are_counted_by_the_engines_own_code_and_what_is_run_again_together() {
        let mut tally = Tally::new(0);
        let state = |text: &[u8]| SqlState::new(text).map(Code::State);
        for (kind, code) in [
            (SqlErrorKind::Other, state(b"23505")),
            (SqlErrorKind::Other, state(b"22012")),
            (SqlErrorKind::Other, state(b"22012")),
            (SqlErrorKind::Other, Some(Code::Number(1062))),
            (SqlErrorKind::Other, None),
            (SqlErrorKind::Retry, state(b"40001")),
            (SqlErrorKind::Retry, Some(Code::Number(1213))),
        ] {
            tally.error(&SqlError { kind, code, message: "woe".to_owned() });
        }
        let counted: Vec<_> = tally.errors.iter().map(|(class, count)| (class.as_str(), *count)).collect();
        assert_eq!(counted, [("1062", 1), ("22012", 2), ("23505", 1), ("no_code", 1), ("retry", 2)]);
    }

    #[test]
    fn a_statement_in_which_the_connection_was_lost_is_not_wrong_itself() {
        let failed = |kind| LoadError::own(SqlLoadError::refused("q", "SELECT 1", SqlError::own(kind, "why")));
        assert!(failed(SqlErrorKind::Lost).is_connection_lost());
        assert!(!failed(SqlErrorKind::Other).is_connection_lost());
    }
}
