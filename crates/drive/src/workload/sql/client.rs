//! One connection that runs the user's own transactions.

use super::error::SqlLoadError;
use super::file::Errors;
use super::mix::{Among, Mix};
use super::parameter::{Counters, Drawn};
use super::statement::Statement;
use super::step::Part;
use super::tally::Tally;
use crate::workload::sessions::{self, Connections, Connector, Merge, Ran, Tallies, roll_back};
use crate::workload::{LoadContext, LoadError};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tare_engine::{Dialect, Param, Session, SqlError, SqlErrorKind, StatementId};
use tare_load::{Attempt, Client, Curve, Queries, Random};

pub(super) struct SqlClient {
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
