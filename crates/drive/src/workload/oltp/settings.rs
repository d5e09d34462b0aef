//! The workload and its tables, and the keys of a study for them.

use super::OltpError;
use crate::workload::keys;
use crate::workload::sessions::Pace;
use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};
use tare_load::Distribution;
use tare_text::{Key, Keyed, Keys, UnknownWord, key};

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
        use Workload::{
            BulkInsert, ReadOnly, ReadWrite, SelectRandomPoints, SelectRandomRanges, UpdateIndex, UpdateNonIndex,
            WriteOnly,
        };
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendMode {
    Prepared,
    /// Parsed every time, as with sysbench's `--db-ps-mode=disable`.
    Text,
}

/// Limit of statements of one kind per transaction.
const MOST: u64 = 1_000_000;

impl Keyed for OltpSettings {
    const KEYS: &'static [Key<Self>] = &[
        keys::tables(|s| Some(s.tables.tables as u64), |s, v| s.tables.tables = v as usize),
        keys::rows(|s| Some(s.tables.rows), |s, v| s.tables.rows = v),
        keys::distribution(|s| Some(s.distribution.to_string().into()), |s, v| v.parsed().map(|v| s.distribution = v)),
        keys::rate_of_pace(),
        keys::objective(),
        keys::preload(|s| Some(s.warm.preload), |s, on| s.warm.preload = on),
        Key::words(
            "warmup_workload",
            "a load that warms the server up before the warm-up of the measured load (sampling.warmup_s); none: no \
             such load",
            |s| Some(s.warm.workload.map_or("none".into(), |workload| workload.to_string().into())),
            |s, v| {
                s.warm.workload = if v.to_string() == "none" { None } else { Some(v.parsed()?) };
                Ok(())
            },
        ),
        key!(optional whole "warmup_threads" in warm.threads, (1, 65_536),
            "its client threads; absent: as in workload.threads"),
        key!(words "warmup_until" in warm.until,
            "when it ends: time (warmup_limit_s), pool (the server's pool grew by less than 0.1% of the data in 10 s) or \
             throughput (the last 10 s less than 2% above the 10 s before)"),
        Key::positive(
            "warmup_limit_s",
            "its longest duration in seconds; its duration if it ends by time",
            "seconds",
            |s| Some(s.warm.limit_s),
            |s, v| s.warm.limit_s = v,
        ),
        key!(whole "point_selects" in counts.point_selects, (0, MOST), "point selects per transaction"),
        key!(whole "simple_ranges" in counts.simple_ranges, (0, MOST), "simple ranges per transaction"),
        key!(whole "sum_ranges" in counts.sum_ranges, (0, MOST), "sum ranges per transaction"),
        key!(whole "order_ranges" in counts.order_ranges, (0, MOST), "order ranges per transaction"),
        key!(whole "distinct_ranges" in counts.distinct_ranges, (0, MOST), "distinct ranges per transaction"),
        key!(whole "index_updates" in counts.index_updates, (0, MOST), "index updates per transaction"),
        key!(whole "non_index_updates" in counts.non_index_updates, (0, MOST), "non-index updates per transaction"),
        key!(whole "delete_inserts" in counts.delete_inserts, (0, MOST), "delete and insert pairs per transaction"),
        key!(whole "range_size" in counts.range_size, (1, MOST), "ids per range query"),
        key!(whole "random_points" in counts.random_points, (1, 10_000),
            "keys per transaction of select_random_points"),
        key!(whole "number_of_ranges" in counts.number_of_ranges, (1, 1_000),
            "ranges per transaction of select_random_ranges"),
        key!(whole "delta" in counts.delta, (0, MOST), "distance of the end of such a range from its first key"),
        key!(switch "prepared" in prepared, "off: statements are sent as text, as with sysbench's \
            --db-ps-mode=disable"),
        key!(switch "skip_trx" in skip_transactions,
            "on: no BEGIN and COMMIT, so that every statement is its own transaction; an INSERT of a row that another \
             client has inserted meanwhile is run again"),
    ];
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
