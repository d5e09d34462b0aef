//! The workloads whose transactions are one statement: `insert` and `bulk_insert`, whose statements are text, as in
//! sysbench; `select_random_points` and `select_random_ranges`, one SELECT over the index on k of the first table.
//! Every client of these draws from its own range of keys, so that no two clients read the same rows.

use super::grouped::draw_text;
use super::statements::{C_GROUPS, PAD_GROUPS};
use super::work::{ClientSlot, Ready, Work};
use super::{OltpError, OltpSettings, SessionError, Workload};
use std::fmt::Write;
use tare_engine::{Dialect, Param, Session};
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

/// The statement of one connection, and the source of its values.
pub(super) struct RandomSelect {
    sql: String,
    ready: Ready,
    key: Draw,
    /// Distance from the first to the last key of a range; None: single keys.
    delta: Option<i64>,
    /// Kept so that no memory is allocated per transaction.
    values: Vec<Param<'static>>,
    text: String,
}

impl RandomSelect {
    pub(super) fn new(
        session: &mut dyn Session,
        settings: &OltpSettings,
        dialect: &'static dyn Dialect,
        slot: ClientSlot,
    ) -> Result<Self, OltpError> {
        let counts = &settings.counts;
        let is_ranges = settings.workload == Workload::SelectRandomRanges;
        let sql = if is_ranges {
            let ranges = (0..counts.number_of_ranges as usize).map(|range| {
                let [first, last] = [1, 2].map(|end| dialect.placeholder(2 * range + end));
                format!("k BETWEEN {first} AND {last}")
            });
            format!("SELECT count(k) FROM sbtest1 WHERE {}", ranges.collect::<Vec<_>>().join(" OR "))
        } else {
            let points: Vec<String> = (1..=counts.random_points as usize).map(|n| dialect.placeholder(n)).collect();
            format!("SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({})", points.join(", "))
        };
        let values = if is_ranges { 2 * counts.number_of_ranges } else { counts.random_points } as usize;
        let part = settings.tables.rows as f64 / slot.clients as f64;
        let first = part * slot.index as f64;
        Ok(Self {
            ready: Ready::new(session, &sql, values, settings.send_mode(), dialect)?,
            sql,
            key: settings.distribution.over(first as u64, (first + part) as u64),
            delta: is_ranges.then_some(i64::from(counts.delta)),
            values: Vec::with_capacity(values),
            text: String::new(),
        })
    }

    fn draw(&mut self, random: &mut Random) {
        let values = self.values.capacity();
        self.values.clear();
        while self.values.len() < values {
            let key = self.key.draw(random) as i64;
            self.values.push(Param::Int(key));
            self.values.extend(self.delta.map(|delta| Param::Int(key + delta)));
        }
    }
}

impl Work for RandomSelect {
    fn attempt(&mut self, session: &mut dyn Session, random: &mut Random, sent: &mut Queries) -> Result<(), OltpError> {
        self.draw(random);
        let sent_now = self.ready.send(session, &self.values, &mut self.text);
        let found = sent_now.map_err(|source| SessionError::statement(&self.sql, source))?;
        // The number of rows with a key is random; a count returns one row.
        if self.delta.is_some() && found != 1 {
            return Err(OltpError::Count { sql: self.sql.clone(), found });
        }
        sent.read += 1;
        Ok(())
    }
}
