//! The statements, and the transactions that consist of them.

use super::settings::{QueryCounts, Workload};
use strum::VariantNames;
use tare_engine::Dialect;

#[derive(Debug, Clone, Copy, PartialEq, Eq, VariantNames)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Statement {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    Insert,
}

impl Statement {
    /// Its text for table number `table`, from 1.
    pub(super) fn sql(self, table: usize, dialect: &dyn Dialect) -> String {
        let [a, b, c, d] = [1, 2, 3, 4].map(|number| dialect.placeholder(number));
        match self {
            Self::PointSelect => format!("SELECT c FROM sbtest{table} WHERE id={a}"),
            Self::SimpleRange => format!("SELECT c FROM sbtest{table} WHERE id BETWEEN {a} AND {b}"),
            Self::SumRange => format!("SELECT SUM(k) FROM sbtest{table} WHERE id BETWEEN {a} AND {b}"),
            Self::OrderRange => format!("SELECT c FROM sbtest{table} WHERE id BETWEEN {a} AND {b} ORDER BY c"),
            Self::DistinctRange => {
                format!("SELECT DISTINCT c FROM sbtest{table} WHERE id BETWEEN {a} AND {b} ORDER BY c")
            }
            Self::IndexUpdate => format!("UPDATE sbtest{table} SET k=k+1 WHERE id={a}"),
            Self::NonIndexUpdate => format!("UPDATE sbtest{table} SET c={a} WHERE id={b}"),
            Self::Delete => format!("DELETE FROM sbtest{table} WHERE id={a}"),
            Self::Insert => format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES ({a}, {b}, {c}, {d})"),
        }
    }

    pub(super) fn placeholders(self) -> usize {
        match self {
            Self::PointSelect | Self::IndexUpdate | Self::Delete => 1,
            Self::SimpleRange | Self::SumRange | Self::OrderRange | Self::DistinctRange | Self::NonIndexUpdate => 2,
            Self::Insert => 4,
        }
    }

    pub(super) fn reads(self) -> bool {
        match self {
            Self::PointSelect | Self::SimpleRange | Self::SumRange | Self::OrderRange | Self::DistinctRange => true,
            Self::IndexUpdate | Self::NonIndexUpdate | Self::Delete | Self::Insert => false,
        }
    }
}

impl Statement {
    /// Valid numbers of rows in an answer, on tables of `rows` rows, when ranges have `range` ids from `id` on. If
    /// other sessions of the workload remove rows, an update or a delete may find no row, and a read fewer.
    pub(super) fn answers(self, id: i64, range: i64, rows: i64, taken: bool) -> std::ops::RangeInclusive<u64> {
        let in_range = (rows - id + 1).clamp(0, range).unsigned_abs();
        let (least, most) = match self {
            Self::PointSelect | Self::IndexUpdate | Self::NonIndexUpdate | Self::Delete => (1, 1),
            Self::SumRange | Self::Insert => return 1..=1,
            Self::SimpleRange | Self::OrderRange => (in_range, in_range),
            Self::DistinctRange => (in_range.min(1), in_range),
        };
        if taken { 0..=most } else { least..=most }
    }
}

/// Statements that are repeated `count` times on one drawn table; each repetition draws one id for all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) statements: &'static [Statement],
    pub(super) count: u32,
}

/// The statements of a transaction between BEGIN and COMMIT, in order; empty for workloads without groups.
pub(super) fn groups(workload: Workload, counts: &QueryCounts) -> Vec<Group> {
    use Statement::{Delete, DistinctRange, IndexUpdate, Insert, NonIndexUpdate, OrderRange, PointSelect};
    use Statement::{SimpleRange, SumRange};
    let group = |statements, count| Group { statements, count };
    let reads = [
        group(&[PointSelect], counts.point_selects),
        group(&[SimpleRange], counts.simple_ranges),
        group(&[SumRange], counts.sum_ranges),
        group(&[OrderRange], counts.order_ranges),
        group(&[DistinctRange], counts.distinct_ranges),
    ];
    let writes = [
        group(&[IndexUpdate], counts.index_updates),
        group(&[NonIndexUpdate], counts.non_index_updates),
        group(&[Delete, Insert], counts.delete_inserts),
    ];
    match workload {
        Workload::PointSelect => vec![group(&[PointSelect], 1)],
        Workload::ReadOnly => reads.to_vec(),
        Workload::ReadWrite => [reads.as_slice(), &writes].concat(),
        Workload::WriteOnly => writes.to_vec(),
        Workload::UpdateIndex => vec![group(&[IndexUpdate], counts.index_updates)],
        Workload::UpdateNonIndex => vec![group(&[NonIndexUpdate], counts.non_index_updates)],
        Workload::Delete => vec![group(&[Delete], 1)],
        Workload::Insert | Workload::BulkInsert | Workload::SelectRandomPoints | Workload::SelectRandomRanges => {
            Vec::new()
        }
    }
}

impl Workload {
    pub(super) fn is_transactional(self) -> bool {
        match self {
            Self::ReadOnly | Self::ReadWrite | Self::WriteOnly => true,
            Self::PointSelect | Self::UpdateIndex | Self::UpdateNonIndex | Self::Delete | Self::Insert => false,
            Self::BulkInsert | Self::SelectRandomPoints | Self::SelectRandomRanges => false,
        }
    }

    pub(crate) fn writes(self) -> bool {
        match self {
            Self::PointSelect | Self::ReadOnly | Self::SelectRandomPoints | Self::SelectRandomRanges => false,
            Self::ReadWrite | Self::WriteOnly | Self::UpdateIndex | Self::UpdateNonIndex => true,
            Self::Insert | Self::Delete | Self::BulkInsert => true,
        }
    }
}
