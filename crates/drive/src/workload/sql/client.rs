//! One connection that runs transactions of one's own.

use super::error::SqlLoadError;
use super::file::Errors;
use super::mix::{Drawn, Mix};
use super::tally::Tally;
use crate::workload::LoadError;
use crate::workload::sessions::{Merge, Tallies, roll_back};
use std::sync::Arc;
use std::time::Instant;
use tare_engine::{Dialect, Param, Session, SqlError, SqlErrorKind, StatementId};
use tare_load::{Attempt, Client, Queries, Random};

/// A connection with everything prepared.
pub(super) struct SqlClient {
    session: Box<dyn Session>,
    dialect: &'static dyn Dialect,
    mix: Arc<Mix>,
    /// By transaction, then by statement; none: it cannot be prepared here, and is sent as text.
    prepared: Vec<Vec<Option<StatementId>>>,
    /// The present value of each parameter.
    values: Vec<Drawn>,
    tally: Tally,
    tallies: Arc<Tallies<Tally>>,
    sent: Queries,
}

impl SqlClient {
    pub fn new(
        mut session: Box<dyn Session>,
        dialect: &'static dyn Dialect,
        mix: Arc<Mix>,
        tallies: Arc<Tallies<Tally>>,
    ) -> Result<Self, SqlLoadError> {
        let mut prepared = Vec::new();
        for transaction in &mix.transactions {
            let mut of_one = Vec::new();
            for statement in &transaction.statements {
                let sql = statement.sql(dialect);
                of_one.push(match session.prepare(&sql) {
                    Ok(id) => Some(id),
                    Err(e) if e.kind == SqlErrorKind::NotPreparable && statement.parameters.is_empty() => None,
                    Err(source) => return Err(SqlLoadError::statement(&statement.name, &sql, source)),
                });
            }
            prepared.push(of_one);
        }
        let values = vec![Drawn::Int(0); mix.parameters.len()];
        Ok(Self { session, dialect, mix, prepared, values, tally: tallies.empty(), tallies, sent: Queries::default() })
    }

    fn attempt(&mut self, number: usize) -> Result<(), (String, SqlError)> {
        let mix = Arc::clone(&self.mix);
        let transaction = &mix.transactions[number];
        if transaction.has_border() {
            self.border(self.dialect.begin(transaction.writes))?;
        }
        for (at, statement) in transaction.statements.iter().enumerate() {
            let values = statement.parameters.iter().map(|parameter| match &self.values[*parameter] {
                Drawn::Int(number) => Param::Int(*number),
                Drawn::Text(text) => Param::Text(text),
            });
            let values: Vec<Param<'_>> = values.collect();
            let began = Instant::now();
            let done = match self.prepared[number][at] {
                Some(id) => self.session.execute(id, &values),
                None => self.session.run(&statement.sql(self.dialect)),
            };
            let rows = done.map_err(|e| (statement.name.clone(), e))?;
            let took = began.elapsed();
            self.tally.statements[transaction.first_statement + at].add(took, rows);
            match statement.reads {
                true => self.sent.read += 1,
                false if rows > 0 => self.sent.write += 1,
                false => self.sent.other += 1,
            }
        }
        if transaction.has_border() {
            self.border("COMMIT")?;
        }
        Ok(())
    }

    fn border(&mut self, sql: &str) -> Result<(), (String, SqlError)> {
        self.session.run(sql).map_err(|e| (sql.to_owned(), e))?;
        self.sent.other += 1;
        Ok(())
    }
}

impl Client for SqlClient {
    type Error = LoadError;

    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, LoadError> {
        self.sent = Queries::default();
        let number = self.mix.draw(random);
        for parameter in &self.mix.transactions[number].draws {
            self.values[*parameter] = self.mix.parameters[*parameter].1.draw(random);
        }
        let Err((what, error)) = self.attempt(number) else { return Ok(Attempt::Done(self.sent)) };
        let goes_on = error.kind == SqlErrorKind::Retry
            || (self.mix.errors == Errors::Count && error.kind == SqlErrorKind::Other);
        if !goes_on {
            let name = &self.mix.transactions[number].name;
            return Err(LoadError::own(SqlLoadError::statement(format!("transaction {name}"), &what, error)));
        }
        self.tally.error(&error);
        if self.mix.transactions[number].has_border()
            && let Err(source) = roll_back(self.session.as_mut())
        {
            return Err(LoadError::own(SqlLoadError::statement("after an error", "ROLLBACK", source)));
        }
        Ok(Attempt::Restart(self.sent))
    }

    fn sample_begins(&mut self) {
        self.tally.clear();
    }

    fn sample_ended(&mut self, sample: usize) {
        self.tallies.hand_over(sample, &mut self.tally);
    }
}
