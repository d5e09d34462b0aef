//! The user's own schema and rows, from SQL and CSV files.

use super::error::SqlLoadError;
use super::file::Data;
use super::pgbench::statements;
use super::settings::read_statements;
use crate::workload::fill::LONGEST_STATEMENT;
use std::ops::ControlFlow;
use std::path::Path;
use tare_engine::{Dialect, Param, Session, StatementId};

const ROWS_AT_ONCE: usize = 1000;

/// Receives the number of added rows, and returns whether to continue.
type GoOn<'a> = dyn Fn(u64) -> ControlFlow<()> + Sync + 'a;

/// Runs the schema, the files, the rows and the final statements, in this order.
pub(super) fn fill(
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
