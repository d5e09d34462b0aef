//! The workloads `insert` and `bulk_insert`, whose statements are text, as in sysbench.

use super::grouped::draw_text;
use super::text::{C_GROUPS, PAD_GROUPS};
use super::work::{ClientSlot, Work};
use super::{OltpError, OltpSettings, SessionError};
use std::fmt::Write;
use tare_engine::{Dialect, Session};
use tare_load::{Distribution, Draw, Queries, Random};

/// Inserts one row into an OLTP table; the server assigns its id.
pub(super) struct Insert {
    table: Draw,
    k: Draw,
    /// Expression for the id; None if the column is left out.
    id: Option<&'static str>,
    c: String,
    pad: String,
    sql: String,
    /// Ids come from a sequence, which ignores ids that rows were inserted with explicitly.
    has_sequence: bool,
}

impl Insert {
    pub(super) fn new(settings: &OltpSettings, dialect: &dyn Dialect) -> Self {
        Self {
            table: Distribution::Uniform.over(1, settings.tables.tables as u64),
            k: settings.distribution.over(1, settings.tables.rows),
            id: dialect.next_number(),
            c: String::new(),
            pad: String::new(),
            sql: String::new(),
            has_sequence: dialect.number_on("sbtest1", "id").is_some(),
        }
    }
}

impl Work for Insert {
    fn attempt(&mut self, session: &mut dyn Session, random: &mut Random, sent: &mut Queries) -> Result<(), OltpError> {
        let (table, k) = (self.table.draw(random), self.k.draw(random));
        draw_text(&mut self.c, random, C_GROUPS);
        draw_text(&mut self.pad, random, PAD_GROUPS);
        let Self { id, c, pad, sql, .. } = self;
        sql.clear();
        // Writing to a String does not fail.
        let _ = match id {
            Some(id) => write!(sql, "INSERT INTO sbtest{table} (id, k, c, pad) VALUES ({id}, {k}, '{c}', '{pad}')"),
            None => write!(sql, "INSERT INTO sbtest{table} (k, c, pad) VALUES ({k}, '{c}', '{pad}')"),
        };
        let found = session.run(sql).map_err(|source| SessionError::statement(sql, source))?;
        if found != 1 {
            return Err(OltpError::Count { sql: std::mem::take(sql), found });
        }
        sent.write += 1;
        Ok(())
    }

    /// A sequence that is behind returns an id that exists already; each attempt advances it by one.
    fn may_collide(&self) -> bool {
        self.has_sequence
    }
}

/// Bytes per INSERT, including its terminator: sysbench's `BULK_PACKET_SIZE`.
const BULK_BYTES: usize = 512 << 10;

/// One row per event, buffered until an INSERT is full; every client has a table of its own.
pub(super) struct Bulk {
    table: usize,
    next: i64,
    /// Rows in the buffered INSERT.
    rows: u64,
    /// Bytes before the first row.
    begin: usize,
    sql: String,
    row: String,
}

impl Bulk {
    /// Continues after the last row of the client's table.
    pub(super) fn new(session: &mut dyn Session, slot: ClientSlot) -> Result<Self, OltpError> {
        let table = slot.index + 1;
        let last = format!("SELECT MAX(id) FROM sbtest{table}");
        let found = session.query(&last).map_err(|source| OltpError::BulkTable { table, source })?;
        let last = found.first().and_then(|row| row.first()?.as_deref()?.parse::<i64>().ok()).unwrap_or(0);
        let begin = format!("INSERT INTO sbtest{table} VALUES");
        let mut sql = String::with_capacity(BULK_BYTES);
        sql.push_str(&begin);
        Ok(Self { table, next: last + 1, rows: 0, begin: begin.len(), sql, row: String::new() })
    }

    fn send(&mut self, session: &mut dyn Session, sent: &mut Queries) -> Result<(), OltpError> {
        let found = session.run(&self.sql).map_err(|source| SessionError::statement(&self.sql, source))?;
        let expected = std::mem::take(&mut self.rows);
        if found != expected {
            return Err(OltpError::Loaded { table: self.table, expected, found });
        }
        self.sql.truncate(self.begin);
        sent.write += 1;
        Ok(())
    }
}

impl Work for Bulk {
    fn attempt(
        &mut self,
        session: &mut dyn Session,
        _random: &mut Random,
        sent: &mut Queries,
    ) -> Result<(), OltpError> {
        self.row.clear();
        // Writing to a String does not fail.
        let _ = write!(self.row, "({0},{0})", self.next);
        let is_first = self.sql.len() == self.begin;
        // Two more bytes: the comma before every row except the first, and the terminator of the text.
        if !is_first && self.sql.len() + self.row.len() + 2 > BULK_BYTES {
            self.send(session, sent)?;
        }
        if self.sql.len() > self.begin {
            self.sql.push(',');
        }
        self.sql.push_str(&self.row);
        self.rows += 1;
        self.next += 1;
        Ok(())
    }

    fn finish(&mut self, session: &mut dyn Session) {
        if self.sql.len() > self.begin {
            // The run is over, and its figures are complete.
            let _ = self.send(session, &mut Queries::default());
        }
    }
}
