//! One connection that runs the transactions of a workload.

use super::statements::{Group, Statement, groups};
use super::{OltpError, OltpSettings};
use crate::workload::sessions::{Border, roll_back};
use tare_engine::{Dialect, Param, Session, SqlError, SqlErrorKind, StatementId, ThreadRef};
use tare_load::{Attempt, C_GROUPS, Client, Distribution, Draw, PAD_GROUPS, Queries, Random, push_groups};

/// One connection with its prepared statements.
pub struct OltpClient {
    session: Box<dyn Session>,
    dialect: &'static dyn Dialect,
    /// BEGIN and COMMIT, for workloads that have them.
    border: Option<(Border, Border)>,
    groups: Vec<PreparedGroup>,
    table: Draw,
    id: Draw,
    range_size: i64,
    /// Rows that each table holds.
    rows: i64,
    /// Whether sessions of this workload delete rows for a moment.
    takes: bool,
    /// Texts of the statement in hand; kept so that none is allocated a transaction.
    c: String,
    pad: String,
    sent: Queries,
}

#[derive(Debug)]
struct PreparedGroup {
    group: Group,
    /// By table, then by statement of the group.
    prepared: Vec<Vec<StatementId>>,
}

/// A failed statement; its text is made only when it has to be shown.
enum Failed {
    Border(&'static str, SqlError),
    Statement(Statement, usize, SqlError),
    /// Another number of rows than the tables have for it: statement, table, first id, rows.
    Answer(Statement, usize, i64, u64),
}

impl OltpClient {
    /// Prepares every statement of the workload for every table on the session: 5 * tables + 2 for read_only,
    /// 9 * tables + 2 for read_write.
    ///
    /// # Errors
    /// A setting out of range, or a statement that the server refuses to prepare.
    pub fn new(
        mut session: Box<dyn Session>,
        settings: &OltpSettings,
        dialect: &'static dyn Dialect,
    ) -> Result<Self, OltpError> {
        settings.tables.check()?;
        let workload = settings.workload;
        let border = if workload.is_transactional() {
            let mut border =
                |sql| Border::prepare(session.as_mut(), sql).map_err(|source| OltpError::statement(sql, source));
            Some((border(dialect.begin(workload.writes()))?, border("COMMIT")?))
        } else {
            None
        };
        let groups = groups(workload, &settings.counts)
            .into_iter()
            .map(|group| prepare_group(session.as_mut(), group, settings.tables.tables, dialect))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            session,
            dialect,
            border,
            groups,
            // Always uniform, whatever the distribution of ids.
            table: Distribution::Uniform.over(0, settings.tables.tables as u64 - 1),
            id: settings.distribution.over(1, settings.tables.rows),
            range_size: i64::from(settings.counts.range_size),
            rows: i64::try_from(settings.tables.rows).unwrap_or(i64::MAX),
            takes: workload.writes(),
            c: String::new(),
            pad: String::new(),
            sent: Queries::default(),
        })
    }

    /// The server thread that serves this connection, where the engine can say it.
    ///
    /// # Errors
    /// The server's refusal.
    pub fn server_thread(&mut self) -> Result<Option<ThreadRef>, SqlError> {
        self.session.server_thread()
    }

    fn attempt(&mut self, random: &mut Random) -> Result<(), Failed> {
        if let Some((begin, _)) = self.border {
            self.send_border(begin)?;
        }
        for index in 0..self.groups.len() {
            self.send_group(index, random)?;
        }
        if let Some((_, commit)) = self.border {
            self.send_border(commit)?;
        }
        Ok(())
    }

    fn send_border(&mut self, border: Border) -> Result<(), Failed> {
        border.send(self.session.as_mut()).map_err(|source| Failed::Border(border.sql, source))?;
        self.sent.other += 1;
        Ok(())
    }

    fn send_group(&mut self, index: usize, random: &mut Random) -> Result<(), Failed> {
        let Self { groups, session, table, id, range_size, rows: held, takes, c, pad, sent, .. } = self;
        let PreparedGroup { group, prepared } = &groups[index];
        let table = table.draw(random) as usize;
        for _ in 0..group.count {
            let row = id.draw(random) as i64;
            for (&statement, &prepared) in group.statements.iter().zip(&prepared[table]) {
                let result = match statement {
                    Statement::PointSelect | Statement::IndexUpdate | Statement::Delete => {
                        session.execute(prepared, &[Param::Int(row)])
                    }
                    Statement::SimpleRange | Statement::SumRange | Statement::OrderRange | Statement::DistinctRange => {
                        session.execute(prepared, &[Param::Int(row), Param::Int(row + *range_size - 1)])
                    }
                    Statement::NonIndexUpdate => {
                        draw_text(c, random, C_GROUPS);
                        session.execute(prepared, &[Param::Text(c), Param::Int(row)])
                    }
                    Statement::Insert => {
                        let k = id.draw(random) as i64;
                        draw_text(c, random, C_GROUPS);
                        draw_text(pad, random, PAD_GROUPS);
                        session.execute(prepared, &[Param::Int(row), Param::Int(k), Param::Text(c), Param::Text(pad)])
                    }
                };
                let rows = result.map_err(|source| Failed::Statement(statement, table + 1, source))?;
                if !statement.answers(row, *range_size, *held, *takes).contains(&rows) {
                    return Err(Failed::Answer(statement, table + 1, row, rows));
                }
                if statement.reads() {
                    sent.read += 1;
                } else if rows > 0 {
                    sent.write += 1;
                } else {
                    // sysbench books a change that met no row here.
                    sent.other += 1;
                }
            }
        }
        Ok(())
    }

    /// Leaves the failed transaction.
    fn roll_back(&mut self) -> Result<(), OltpError> {
        if self.border.is_none() {
            return Ok(());
        }
        roll_back(self.session.as_mut()).map_err(|source| OltpError::statement("ROLLBACK", source))
    }
}

impl Client for OltpClient {
    type Error = OltpError;

    fn transaction(&mut self, random: &mut Random) -> Result<Attempt, OltpError> {
        self.sent = Queries::default();
        match self.attempt(random) {
            Ok(()) => Ok(Attempt::Done(self.sent)),
            Err(Failed::Border(_, source) | Failed::Statement(_, _, source)) if source.kind == SqlErrorKind::Retry => {
                self.roll_back()?;
                Ok(Attempt::Restart(self.sent))
            }
            Err(Failed::Border(sql, source)) => Err(OltpError::statement(sql, source)),
            Err(Failed::Answer(statement, table, id, found)) => {
                let expected = statement.answers(id, self.range_size, self.rows, self.takes);
                let sql = statement.sql(table, self.dialect);
                Err(OltpError::Answer { sql, id, found, least: *expected.start(), most: *expected.end() })
            }
            Err(Failed::Statement(statement, table, source)) => {
                Err(OltpError::statement(&statement.sql(table, self.dialect), source))
            }
        }
    }
}

fn draw_text(text: &mut String, random: &mut Random, groups: usize) {
    text.clear();
    push_groups(text, random, groups);
}

fn prepare_group(
    session: &mut dyn Session,
    group: Group,
    tables: usize,
    dialect: &dyn Dialect,
) -> Result<PreparedGroup, OltpError> {
    let mut prepare = |statement: &Statement, table| {
        let sql = statement.sql(table, dialect);
        session.prepare(&sql).map_err(|source| OltpError::statement(&sql, source))
    };
    let prepared = (1..=tables)
        .map(|table| group.statements.iter().map(|statement| prepare(statement, table)).collect())
        .collect::<Result<_, _>>()?;
    Ok(PreparedGroup { group, prepared })
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
