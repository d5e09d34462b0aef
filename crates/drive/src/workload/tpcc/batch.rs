//! Sends rows to a table: INSERTs of many rows, some thousand rows per transaction.

use super::tables::{TABLES, Table};
use super::{SessionError, TpccError};
use crate::workload::error::run;
use crate::workload::fill::rows_of_placeholders;
use std::collections::HashMap;
use tare_engine::{Dialect, Param, Session, StatementId};

/// Rows per INSERT: chosen by the measurement in `oltp/fill.rs`.
const ROWS_PER_INSERT: usize = 100;
/// INSERTs per transaction: about a megabyte.
const INSERTS_PER_TRANSACTION: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cell {
    Int(i64),
    Text(String),
}

impl Cell {
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Rows of one table that have not been sent yet.
pub(super) struct Batch {
    table: &'static str,
    columns: String,
    width: usize,
    cells: Vec<Cell>,
}

impl Batch {
    pub(crate) fn whole(table: &'static str) -> Self {
        Self::without(table, "")
    }

    /// Rows in which one column is NULL and left out.
    pub(crate) fn without(table: &'static str, null: &str) -> Self {
        let of = TABLES.iter().find(|known| known.name == table);
        let columns: Vec<&str> = of.into_iter().flat_map(Table::columns).filter(|column| *column != null).collect();
        Self { table, width: columns.len(), columns: columns.join(", "), cells: Vec::new() }
    }

    /// Adds a row, and sends the collected rows if they fill an INSERT.
    pub(crate) fn add(&mut self, row: impl IntoIterator<Item = Cell>, out: &mut Out<'_>) -> Result<(), TpccError> {
        self.cells.extend(row);
        if self.cells.len() < ROWS_PER_INSERT * self.width { Ok(()) } else { self.end(out) }
    }

    pub(crate) fn end(&mut self, out: &mut Out<'_>) -> Result<(), TpccError> {
        if self.cells.is_empty() {
            return Ok(());
        }
        out.insert(self)?;
        self.cells.clear();
        Ok(())
    }
}

/// The session to which rows are sent.
pub(super) struct Out<'a> {
    session: &'a mut dyn Session,
    dialect: &'a dyn Dialect,
    /// Receives the number of added rows, and returns an error to stop.
    added: &'a dyn Fn(u64) -> Result<(), TpccError>,
    prepared: HashMap<String, StatementId>,
    inserts: usize,
}

impl<'a> Out<'a> {
    pub(crate) fn new(
        session: &'a mut dyn Session,
        dialect: &'a dyn Dialect,
        added: &'a dyn Fn(u64) -> Result<(), TpccError>,
    ) -> Self {
        Self { session, dialect, added, prepared: HashMap::new(), inserts: 0 }
    }

    fn insert(&mut self, batch: &Batch) -> Result<(), TpccError> {
        let rows = batch.cells.len() / batch.width;
        let values = rows_of_placeholders(self.dialect, batch.width, rows);
        let sql = format!("INSERT INTO {} ({}) VALUES {values}", batch.table, batch.columns);
        if self.inserts == 0 {
            run(self.session, self.dialect.begin(true))?;
        }
        let failed = |sql: &str, source| SessionError::statement(sql, source);
        let statement = match self.prepared.get(&sql) {
            Some(statement) => *statement,
            None => {
                let statement = self.session.prepare(&sql).map_err(|e| failed(&sql, e))?;
                self.prepared.insert(sql.clone(), statement);
                statement
            }
        };
        let cells = batch.cells.iter().map(|cell| match cell {
            Cell::Int(number) => Param::Int(*number),
            Cell::Text(text) => Param::Text(text),
        });
        let cells: Vec<Param<'_>> = cells.collect();
        self.session.execute(statement, &cells).map_err(|e| failed(&sql, e))?;
        self.inserts += 1;
        if self.inserts == INSERTS_PER_TRANSACTION {
            self.commit()?;
        }
        (self.added)(rows as u64)
    }

    /// Commits the transaction, if one is open.
    pub(crate) fn commit(&mut self) -> Result<(), TpccError> {
        if std::mem::take(&mut self.inserts) > 0 {
            run(self.session, "COMMIT")?;
        }
        Ok(())
    }
}
