//! The workload and its tables.

use super::OltpError;
use super::ready::SendMode;
use crate::workload::sessions::Pace;
use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};
use tare_load::Distribution;
use tare_text::{Keys, UnknownWord};

/// The workloads, named as sysbench's scripts without their `oltp_`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Workload {
    /// One SELECT by primary key, autocommit.
    PointSelect,
    /// BEGIN, 10 point selects, 4 range queries, COMMIT.
    ReadOnly,
    /// BEGIN, 10 point selects, 4 range queries, the four writes, COMMIT.
    ReadWrite,
    /// BEGIN, index update, non-index update, delete, insert, COMMIT.
    WriteOnly,
    UpdateIndex,
    /// One UPDATE of a column without index, autocommit.
    UpdateNonIndex,
    /// One INSERT of a row whose id the server assigns, autocommit.
    Insert,
    /// One DELETE by primary key, autocommit.
    Delete,
    /// Rows of two columns, each client into its own table, half a megabyte per INSERT. A row counts as a transaction.
    BulkInsert,
    /// One SELECT of rows with one of ten keys of the index, autocommit.
    SelectRandomPoints,
    /// One count of rows in ten ranges of the index, autocommit.
    SelectRandomRanges,
}

impl Workload {
    pub fn draws_ids(self) -> bool {
        self != Self::BulkInsert
    }

    /// Accepts the workload's own name and the name of sysbench's script.
    pub fn of_script(name: &str) -> Result<Self, UnknownWord> {
        // oltp_bulk_insert is accepted too, although sysbench has no script of that name.
        name.strip_prefix("oltp_").unwrap_or(name).parse()
    }

    /// Its name in studies and for `tare load`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tables {
    /// Number of tables; at least 1.
    pub tables: usize,
    /// Rows in each, with ids 1 to `rows`; 1 to 2,147,483,647 (ids are 32-bit).
    pub rows: u64,
}

impl Default for Tables {
    /// One table of 10,000 rows, as in sysbench.
    fn default() -> Self {
        Self { tables: 1, rows: 10_000 }
    }
}

impl Tables {
    pub(crate) fn check(&self) -> Result<(), OltpError> {
        let wrong = |name, expected, given: String| Err(OltpError::Setting { name, expected, given });
        if self.tables == 0 {
            return wrong("tables", "at least 1", "0".into());
        }
        if !(1..=i32::MAX as u64).contains(&self.rows) {
            return wrong("rows", "1 to 2147483647", self.rows.to_string());
        }
        Ok(())
    }

    pub fn all_rows(&self) -> u64 {
        (self.tables as u64).saturating_mul(self.rows)
    }
}

/// Number of each query per transaction, and length of a range. Names and defaults are sysbench's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryCounts {
    /// `SELECT c` by id; the workload point_select always sends one.
    pub point_selects: u32,
    /// `SELECT c` of a range.
    pub simple_ranges: u32,
    /// `SELECT SUM(k)` of a range.
    pub sum_ranges: u32,
    /// `SELECT c` of a range, sorted.
    pub order_ranges: u32,
    /// `SELECT DISTINCT c` of a range, sorted.
    pub distinct_ranges: u32,
    /// `UPDATE` statements that change the indexed column k.
    pub index_updates: u32,
    /// `UPDATE` statements that change the column c, which is in no index.
    pub non_index_updates: u32,
    pub delete_inserts: u32,
    pub range_size: u32,
    pub random_points: u32,
    pub number_of_ranges: u32,
    /// Distance from the first to the last key of a range.
    pub delta: u32,
}

impl Default for QueryCounts {
    fn default() -> Self {
        Self {
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            range_size: 100,
            random_points: 10,
            number_of_ranges: 10,
            delta: 5,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OltpSettings {
    pub workload: Workload,
    pub tables: Tables,
    /// Distribution of ids (and of k, if one is inserted).
    pub distribution: Distribution,
    pub counts: QueryCounts,
    pub pace: Pace,
    pub warm: Warm,
    /// Whether statements are prepared on the server; otherwise they are sent as text.
    pub prepared: bool,
    /// Whether BEGIN and COMMIT are left out, so that every statement is a transaction of its own.
    pub skip_transactions: bool,
}

/// How the server's memory is filled before the measured load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Warm {
    /// Whether every table and index is read from end to end first.
    pub preload: bool,
    /// A load that follows; None: the measured load follows at once.
    pub workload: Option<Workload>,
    /// Its client threads; None: as many as those of the measured load.
    pub threads: Option<usize>,
    pub until: Until,
    /// Its time limit, seconds; its duration, if it ends by time.
    pub limit_s: f64,
    /// Whether an earlier trial on the same server did all of it: then the result is only checked.
    pub already: bool,
}

impl Default for Warm {
    /// No warm-up. A phase for which only the workload is given runs for two minutes, as in the articles' `warmup.sh`.
    fn default() -> Self {
        Self { preload: false, workload: None, threads: None, until: Until::Time, limit_s: 120.0, already: false }
    }
}

/// Bytes per second that reading tables from end to end brings into a pool: from memory or a fast disk, and from a
/// slow disk.
const READ: f64 = 400e6;
const READ_SLOWLY: f64 = 30e6;
/// Seconds after which a load that ends by a rule has usually ended.
const RULED_S: f64 = 30.0;

impl Warm {
    pub(crate) fn expected_s(&self, data_bytes: u64) -> f64 {
        let phase = match (self.workload, self.until) {
            (None, _) => 0.0,
            (Some(_), Until::Time) => self.limit_s,
            (Some(_), _) => self.limit_s.min(RULED_S),
        };
        phase + if self.preload && !self.already { data_bytes as f64 / READ } else { 0.0 }
    }

    pub(crate) fn limit_s(&self, data_bytes: u64) -> f64 {
        let phase = if self.workload.is_some() { self.limit_s } else { 0.0 };
        phase + if self.preload && !self.already { data_bytes as f64 / READ_SLOWLY } else { 0.0 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase", parse_err_ty = UnknownWord, parse_err_fn = UnknownWord::of::<Self>)]
pub enum Until {
    Time,
    /// Until the server's buffer pool stops growing.
    Pool,
    Throughput,
}

impl OltpSettings {
    pub fn new(workload: Workload) -> Self {
        Self {
            workload,
            tables: Tables::default(),
            distribution: Distribution::default(),
            counts: QueryCounts::default(),
            pace: Pace::default(),
            warm: Warm::default(),
            prepared: true,
            skip_transactions: false,
        }
    }

    pub(super) fn send_mode(&self) -> SendMode {
        if self.prepared { SendMode::Prepared } else { SendMode::Text }
    }

    pub(super) fn check_together(&self) -> Result<(), String> {
        use Workload::{BulkInsert, SelectRandomPoints, SelectRandomRanges};
        let workload = self.workload;
        if matches!(workload, SelectRandomPoints | SelectRandomRanges) && self.tables.tables != 1 {
            return Err(format!("tables = 1: {workload} reads only sbtest1, as in sysbench"));
        }
        if workload == BulkInsert && (self.warm.preload || self.warm.workload.is_some()) {
            return Err("neither preload nor warmup_workload: the tables of bulk_insert are empty".into());
        }
        if workload != BulkInsert && self.warm.workload == Some(BulkInsert) {
            return Err("another warmup_workload: bulk_insert has tables of its own".into());
        }
        Ok(())
    }

    /// The first key that was changed although this workload has no such statement or table.
    pub(super) fn dead_key(&self) -> Option<&'static str> {
        use Workload::{BulkInsert, ReadOnly, ReadWrite, SelectRandomPoints, SelectRandomRanges};
        use Workload::{UpdateIndex, UpdateNonIndex, WriteOnly};
        let ranges = ["simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges", "range_size"];
        let used: [(&[Workload], &[&'static str]); 8] = [
            (&[ReadOnly, ReadWrite], &["point_selects"]),
            (&[ReadOnly, ReadWrite], &ranges),
            (&[ReadWrite, WriteOnly, UpdateIndex], &["index_updates"]),
            (&[ReadWrite, WriteOnly, UpdateNonIndex], &["non_index_updates"]),
            (&[ReadWrite, WriteOnly], &["delete_inserts"]),
            (&[SelectRandomPoints], &["random_points"]),
            (&[SelectRandomRanges], &["number_of_ranges", "delta"]),
            (&[ReadOnly, ReadWrite, WriteOnly], &["skip_trx"]),
        ];
        let of_tables: &[&'static str] = if self.workload == BulkInsert { &["tables", "rows"] } else { &[] };
        let without_use =
            used.into_iter().filter(|(used, _)| !used.contains(&self.workload)).flat_map(|(_, keys)| keys);
        let usual = Self::new(self.workload);
        without_use.chain(of_tables).copied().find(|key| self.get(key) != usual.get(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_and_print_back() {
        for workload in <Workload as VariantArray>::VARIANTS {
            assert_eq!(workload.to_string().parse(), Ok(*workload));
        }
        let message = "point_selects".parse::<Workload>().unwrap_err().to_string();
        assert_eq!(
            message,
            "expected one of point_select, read_only, read_write, write_only, update_index, update_non_index, insert, \
             delete, bulk_insert, select_random_points, select_random_ranges, found \"point_selects\"; did you mean \
             \"point_select\"?"
        );
    }

    #[test]
    fn a_statement_count_that_the_workload_never_uses_is_detected() {
        let dead = |workload, change: fn(&mut QueryCounts)| {
            let mut settings = OltpSettings::new(workload);
            change(&mut settings.counts);
            settings.dead_key()
        };
        assert_eq!(dead(Workload::PointSelect, |c| c.point_selects = 1), Some("point_selects"));
        assert_eq!(dead(Workload::ReadOnly, |c| c.point_selects = 1), None);
        assert_eq!(dead(Workload::WriteOnly, |c| c.range_size = 5), Some("range_size"));
        assert_eq!(dead(Workload::UpdateIndex, |c| c.index_updates = 2), None);
        assert_eq!(dead(Workload::UpdateIndex, |_| {}), None, "a default is accepted");
    }

    #[test]
    fn tables_out_of_range_are_refused_by_name() {
        let refused = |tables, rows| Tables { tables, rows }.check().unwrap_err().to_string();
        assert_eq!(refused(0, 1), "tables is 0: expected at least 1");
        assert_eq!(refused(1, 0), "rows is 0: expected 1 to 2147483647");
        assert_eq!(refused(1, 1 << 31), "rows is 2147483648: expected 1 to 2147483647");
        assert_eq!(Tables::default().check().ok(), Some(()));
    }
}
