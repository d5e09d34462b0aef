//! All statements on one session, and parsing of their answers.

use super::{Kind, Statement};
use crate::workload::sessions::{Border, roll_back};
use std::ops::RangeInclusive;
use strum::VariantArray;
use tare_engine::{Dialect, Param, Session, SqlError, SqlErrorKind, StatementId};
use tare_load::Queries;

#[derive(Debug)]
pub(super) enum Failed {
    Border(&'static str, SqlError),
    Statement(Statement, SqlError),
    /// An answer that the tables cannot give: the expected and the received one.
    Answer(Statement, &'static str, String),
}

impl Failed {
    /// Whether the database asks to run the transaction again.
    pub(crate) fn can_be_retried(&self) -> bool {
        match self {
            Self::Border(_, source) | Self::Statement(_, source) => source.kind == SqlErrorKind::Retry,
            Self::Answer(..) => false,
        }
    }
}

pub(super) struct Prepared {
    session: Box<dyn Session>,
    statements: Vec<StatementId>,
    stock: Vec<StatementId>,
    begin_reading: Border,
    begin_writing: Border,
    commit: Border,
    /// Statements sent since the last [`Prepared::begin`].
    pub sent: Queries,
}

pub(super) struct StoredRow {
    of: Statement,
    values: Vec<Option<String>>,
}

impl StoredRow {
    /// A value that is a whole number, as all keys are.
    pub(crate) fn int(&self, column: usize) -> Result<i64, Failed> {
        let text = self.text(column)?;
        text.parse().map_err(|_| Failed::Answer(self.of, "a whole number", text.to_owned()))
    }

    /// An amount of money in hundredths; databases without decimals return it as the nearest binary fraction.
    pub(crate) fn cents(&self, column: usize) -> Result<i64, Failed> {
        let text = self.text(column)?;
        let number: f64 = text.parse().map_err(|_| Failed::Answer(self.of, "an amount", text.to_owned()))?;
        Ok((number * 100.0).round() as i64)
    }

    /// A text; NULL is an error.
    pub(crate) fn text(&self, column: usize) -> Result<&str, Failed> {
        let value = self.values.get(column).and_then(Option::as_deref);
        value.ok_or_else(|| Failed::Answer(self.of, "a value", "none".to_owned()))
    }
}

impl Prepared {
    pub(crate) fn new(mut session: Box<dyn Session>, dialect: &dyn Dialect) -> Result<Self, (String, SqlError)> {
        let mut prepare = |statement: Statement, district| {
            let sql = statement.sql(dialect, district);
            session.prepare(&sql).map_err(|source| (sql, source))
        };
        let statements =
            Statement::VARIANTS.iter().map(|statement| prepare(*statement, 1)).collect::<Result<_, _>>()?;
        let stock = (1..=10).map(|district| prepare(Statement::Stock, district)).collect::<Result<_, _>>()?;
        let mut border = |sql| Border::prepare(session.as_mut(), sql).map_err(|source| (String::from(sql), source));
        let [begin_reading, begin_writing] = [border(dialect.begin(false))?, border(dialect.begin(true))?];
        let commit = border("COMMIT")?;
        let sent = Queries::default();
        Ok(Self { session, statements, stock, begin_reading, begin_writing, commit, sent })
    }

    /// Begins a transaction, with the engine's BEGIN for writing if its kind writes.
    pub(crate) fn begin(&mut self, kind: Kind) -> Result<(), Failed> {
        self.sent = Queries::default();
        self.border(if kind.writes() { self.begin_writing } else { self.begin_reading })
    }

    pub(crate) fn commit(&mut self) -> Result<(), Failed> {
        self.border(self.commit)
    }

    fn border(&mut self, border: Border) -> Result<(), Failed> {
        border.send(self.session.as_mut()).map_err(|source| Failed::Border(border.sql, source))?;
        self.sent.other += 1;
        Ok(())
    }

    /// Rolls the transaction back, if it is still open.
    pub(crate) fn roll_back(&mut self) -> Result<(), Failed> {
        self.sent.other += 1;
        roll_back(self.session.as_mut()).map_err(|source| Failed::Border("ROLLBACK", source))
    }

    fn id(&self, statement: Statement) -> StatementId {
        self.statements[statement as usize]
    }

    /// All returned rows, of any number.
    pub(crate) fn rows(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<Vec<StoredRow>, Failed> {
        self.rows_of(self.id(statement), statement, params)
    }

    /// The stock of an item, for a district from 1 to 10.
    pub(crate) fn stock(&mut self, district: i64, params: &[Param<'_>]) -> Result<StoredRow, Failed> {
        let id = self.stock[(district - 1) as usize];
        only(Statement::Stock, self.rows_of(id, Statement::Stock, params)?)
    }

    fn rows_of(&mut self, id: StatementId, of: Statement, params: &[Param<'_>]) -> Result<Vec<StoredRow>, Failed> {
        let rows = self.session.fetch(id, params).map_err(|source| Failed::Statement(of, source))?;
        self.sent.read += 1;
        Ok(rows.into_iter().map(|values| StoredRow { of, values }).collect())
    }

    pub(crate) fn one(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<StoredRow, Failed> {
        only(statement, self.rows(statement, params)?)
    }

    /// Reads rows for a terminal's display and discards them, or changes rows; their number must be in `expected`.
    pub(crate) fn run(
        &mut self,
        statement: Statement,
        params: &[Param<'_>],
        expected: RangeInclusive<u64>,
    ) -> Result<(), Failed> {
        let id = self.id(statement);
        let rows = self.session.execute(id, params).map_err(|source| Failed::Statement(statement, source))?;
        *(if statement.reads() { &mut self.sent.read } else { &mut self.sent.write }) += 1;
        if expected.contains(&rows) {
            return Ok(());
        }
        let words = if *expected.end() == 1 { "one row" } else { "5 to 15 rows" };
        Err(Failed::Answer(statement, words, format!("{rows} rows")))
    }

    /// Runs a statement that must change exactly one row.
    pub(crate) fn run_one(&mut self, statement: Statement, params: &[Param<'_>]) -> Result<(), Failed> {
        self.run(statement, params, 1..=1)
    }
}

fn only(statement: Statement, mut rows: Vec<StoredRow>) -> Result<StoredRow, Failed> {
    match rows.pop() {
        Some(row) if rows.is_empty() => Ok(row),
        last => {
            let count = rows.len() + usize::from(last.is_some());
            Err(Failed::Answer(statement, "one row", format!("{count} rows")))
        }
    }
}
