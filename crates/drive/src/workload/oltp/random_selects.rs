//! The workloads `select_random_points` and `select_random_ranges`: one SELECT over the index on k of the first table.
//! Every client draws from its own range of keys, so that no two clients read the same rows.

use super::ready::Ready;
use super::work::{ClientSlot, Work};
use super::{OltpError, OltpSettings, SessionError, Workload};
use tare_engine::{Dialect, Param, Session};
use tare_load::{Draw, Queries, Random};

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
