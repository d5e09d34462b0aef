//! Transactions that consist of groups of statements.

use super::settings::SendMode;
use super::statements::{C_GROUPS, Group, PAD_GROUPS, Statement, StatementTimes, Timed, groups, push_groups};
use super::work::{Ready, Work};
use super::{OltpError, OltpSettings, SessionError};
use crate::workload::sessions::Border;
use tare_engine::{Dialect, Param, Session};
use tare_load::{Distribution, Draw, Queries, Random};

/// Limit of consecutive reads that find nothing although the table has a row for each: sessions that remove rows put
/// them back.
const MOST_EMPTY: u32 = 100;

/// The statements of one connection, ready to be sent.
pub(super) struct Grouped {
    dialect: &'static dyn Dialect,
    /// BEGIN and COMMIT, for transactional workloads.
    border: Option<(Border, Border)>,
    groups: Vec<PreparedGroup>,
    table: Draw,
    id: Draw,
    range_size: i64,
    rows: i64,
    /// Whether sessions of this workload delete rows, temporarily or permanently.
    takes: bool,
    /// Consecutive reads that found nothing.
    empty: u32,
    values: Values,
    times: StatementTimes,
}

/// Buffers for texts of the current statement, kept so that no memory is allocated per transaction.
#[derive(Default)]
struct Values {
    c: String,
    pad: String,
    statement: String,
}

#[derive(Debug)]
struct PreparedGroup {
    group: Group,
    ready: Vec<Vec<Ready>>,
}

impl Grouped {
    /// Makes every statement of the workload ready for every table.
    pub(super) fn new(
        session: &mut dyn Session,
        settings: &OltpSettings,
        dialect: &'static dyn Dialect,
    ) -> Result<Self, OltpError> {
        let (workload, mode) = (settings.workload, settings.send_mode());
        let border = if workload.is_transactional() && !settings.skip_transactions {
            let begin = border(session, dialect.begin(workload.writes()), mode)?;
            Some((begin, border(session, "COMMIT", mode)?))
        } else {
            None
        };
        let groups = groups(workload, &settings.counts);
        let takes = groups.iter().any(|group| group.count > 0 && group.statements.contains(&Statement::Delete));
        let groups = groups
            .into_iter()
            .map(|group| prepare_group(session, group, settings.tables.tables, mode, dialect))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            dialect,
            border,
            groups,
            // Always uniform, whatever the distribution of ids.
            table: Distribution::Uniform.over(0, settings.tables.tables as u64 - 1),
            id: settings.distribution.over(1, settings.tables.rows),
            range_size: i64::from(settings.counts.range_size),
            rows: i64::try_from(settings.tables.rows).unwrap_or(i64::MAX),
            takes,
            empty: 0,
            values: Values::default(),
            times: StatementTimes::default(),
        })
    }

    fn send_group(
        &mut self,
        index: usize,
        session: &mut dyn Session,
        random: &mut Random,
        sent: &mut Queries,
    ) -> Result<(), OltpError> {
        let Self { groups, table, id, range_size, rows: held, takes, empty, values, dialect, times, .. } = self;
        let PreparedGroup { group, ready } = &groups[index];
        let table = table.draw(random) as usize;
        for _ in 0..group.count {
            let row = id.draw(random) as i64;
            for (&statement, ready) in group.statements.iter().zip(&ready[table]) {
                let sql = || statement.sql(table + 1, *dialect);
                let began = times.now();
                let result = values.send(statement, ready, session, random, (row, *range_size), id);
                times.note(Timed::Statement(statement), began);
                let rows = result.map_err(|source| SessionError::statement(&sql(), source))?;
                let expected = statement.answers(row, *range_size, *held, *takes);
                if !expected.contains(&rows) {
                    let (least, most) = expected.into_inner();
                    return Err(OltpError::Answer { sql: sql(), id: row, found: rows, least, most });
                }
                // A sum returns a row even if there is nothing to add up.
                if statement.reads() && statement != Statement::SumRange {
                    *empty = if rows > 0 { 0 } else { *empty + 1 };
                    if *empty > MOST_EMPTY {
                        return Err(OltpError::Empty { sql: sql(), reads: *empty });
                    }
                }
                if statement.reads() {
                    sent.read += 1;
                } else if rows > 0 {
                    sent.write += 1;
                } else {
                    // sysbench counts a change that found no row as "other".
                    sent.other += 1;
                }
            }
        }
        Ok(())
    }

    fn send_border(
        &mut self,
        which: Timed,
        border: Border,
        session: &mut dyn Session,
        sent: &mut Queries,
    ) -> Result<(), OltpError> {
        let began = self.times.now();
        let result = border.send(session);
        self.times.note(which, began);
        result.map_err(|source| SessionError::statement(border.sql, source))?;
        sent.other += 1;
        Ok(())
    }
}

impl Values {
    /// Draws the values of the statement besides its row id, and sends it.
    #[inline]
    fn send(
        &mut self,
        statement: Statement,
        ready: &Ready,
        session: &mut dyn Session,
        random: &mut Random,
        (row, range_size): (i64, i64),
        id: &Draw,
    ) -> Result<u64, tare_engine::SqlError> {
        let Self { c, pad, statement: text } = self;
        match statement {
            Statement::PointSelect | Statement::IndexUpdate | Statement::Delete => {
                ready.send(session, &[Param::Int(row)], text)
            }
            Statement::SimpleRange | Statement::SumRange | Statement::OrderRange | Statement::DistinctRange => {
                ready.send(session, &[Param::Int(row), Param::Int(row + range_size - 1)], text)
            }
            Statement::NonIndexUpdate => {
                draw_text(c, random, C_GROUPS);
                ready.send(session, &[Param::Text(c), Param::Int(row)], text)
            }
            Statement::Insert => {
                let k = id.draw(random) as i64;
                draw_text(c, random, C_GROUPS);
                draw_text(pad, random, PAD_GROUPS);
                ready.send(session, &[Param::Int(row), Param::Int(k), Param::Text(c), Param::Text(pad)], text)
            }
        }
    }
}

impl Work for Grouped {
    fn attempt(&mut self, session: &mut dyn Session, random: &mut Random, sent: &mut Queries) -> Result<(), OltpError> {
        if let Some((begin, _)) = self.border {
            self.send_border(Timed::Begin, begin, session, sent)?;
        }
        for index in 0..self.groups.len() {
            self.send_group(index, session, random, sent)?;
        }
        if let Some((_, commit)) = self.border {
            self.send_border(Timed::Commit, commit, session, sent)?;
        }
        Ok(())
    }

    fn leaves_open(&self) -> bool {
        self.border.is_some()
    }

    fn times(&mut self) -> Option<&mut StatementTimes> {
        Some(&mut self.times)
    }

    /// Another client may insert the deleted row first: without transactions, between a DELETE and its INSERT; in
    /// PostgreSQL also inside a transaction, where a DELETE that waited for another client's DELETE finds nothing.
    fn may_collide(&self) -> bool {
        self.groups.iter().any(|ready| ready.group.statements.contains(&Statement::Insert))
    }
}

pub(super) fn draw_text(text: &mut String, random: &mut Random, groups: usize) {
    text.clear();
    push_groups(text, random, groups);
}

fn border(session: &mut dyn Session, sql: &'static str, mode: SendMode) -> Result<Border, OltpError> {
    match mode {
        SendMode::Text => Ok(Border::of_text(sql)),
        SendMode::Prepared => Ok(Border::prepare(session, sql).map_err(|e| SessionError::statement(sql, e))?),
    }
}

fn prepare_group(
    session: &mut dyn Session,
    group: Group,
    tables: usize,
    mode: SendMode,
    dialect: &dyn Dialect,
) -> Result<PreparedGroup, OltpError> {
    let mut prepare = |statement: &Statement, table| {
        Ready::new(session, &statement.sql(table, dialect), statement.placeholders(), mode, dialect)
    };
    let ready = (1..=tables)
        .map(|table| group.statements.iter().map(|statement| prepare(statement, table)).collect())
        .collect::<Result<_, _>>()?;
    Ok(PreparedGroup { group, ready })
}
