//! Keys of sysbench's workloads.

use super::super::field::Field;
use super::super::settings::Kind;
use super::super::value::{parsed, positive, whole};

/// The keys of the OLTP workloads.
pub const FIELDS: &[Field] = &[
    Field {
        section: "workload",
        key: "tables",
        only: Some(Kind::Oltp),
        help: "number of tables sbtest1, sbtest2 ...",
        get: |s| Some(s.workload.oltp.tables.tables.to_string()),
        set: |s, v| whole(v, 1, 10_000).map(|v| s.workload.oltp.tables.tables = v),
    },
    Field {
        section: "workload",
        key: "rows",
        only: Some(Kind::Oltp),
        help: "rows a table",
        get: |s| Some(s.workload.oltp.tables.rows.to_string()),
        set: |s, v| whole(v, 1, i32::MAX as u64).map(|v| s.workload.oltp.tables.rows = v),
    },
    Field {
        section: "workload",
        key: "distribution",
        only: Some(Kind::Oltp),
        help: "how ids are drawn: uniform, zipfian, special, pareto or gaussian",
        get: |s| Some(s.workload.oltp.distribution.to_string()),
        set: |s, v| parsed(v).map(|v| s.workload.oltp.distribution = v),
    },
    Field {
        section: "workload",
        key: "rate",
        only: Some(Kind::Oltp),
        help: "transactions a second over all threads (open loop); absent: as fast as they go (closed loop)",
        get: |s| s.workload.rate.map(|r| r.to_string()),
        set: |s, v| positive(v, "transactions a second").map(|v| s.workload.rate = Some(v)),
    },
    Field {
        section: "workload",
        key: "point_selects",
        only: Some(Kind::Oltp),
        help: "point selects in a transaction",
        get: |s| Some(s.workload.oltp.counts.point_selects.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.point_selects = v),
    },
    Field {
        section: "workload",
        key: "simple_ranges",
        only: Some(Kind::Oltp),
        help: "simple ranges in a transaction",
        get: |s| Some(s.workload.oltp.counts.simple_ranges.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.simple_ranges = v),
    },
    Field {
        section: "workload",
        key: "sum_ranges",
        only: Some(Kind::Oltp),
        help: "sum ranges in a transaction",
        get: |s| Some(s.workload.oltp.counts.sum_ranges.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.sum_ranges = v),
    },
    Field {
        section: "workload",
        key: "order_ranges",
        only: Some(Kind::Oltp),
        help: "order ranges in a transaction",
        get: |s| Some(s.workload.oltp.counts.order_ranges.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.order_ranges = v),
    },
    Field {
        section: "workload",
        key: "distinct_ranges",
        only: Some(Kind::Oltp),
        help: "distinct ranges in a transaction",
        get: |s| Some(s.workload.oltp.counts.distinct_ranges.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.distinct_ranges = v),
    },
    Field {
        section: "workload",
        key: "index_updates",
        only: Some(Kind::Oltp),
        help: "index updates in a transaction",
        get: |s| Some(s.workload.oltp.counts.index_updates.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.index_updates = v),
    },
    Field {
        section: "workload",
        key: "non_index_updates",
        only: Some(Kind::Oltp),
        help: "non index updates in a transaction",
        get: |s| Some(s.workload.oltp.counts.non_index_updates.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.non_index_updates = v),
    },
    Field {
        section: "workload",
        key: "delete_inserts",
        only: Some(Kind::Oltp),
        help: "delete inserts in a transaction",
        get: |s| Some(s.workload.oltp.counts.delete_inserts.to_string()),
        set: |s, v| whole(v, 0, 1_000_000).map(|v| s.workload.oltp.counts.delete_inserts = v),
    },
    Field {
        section: "workload",
        key: "range_size",
        only: Some(Kind::Oltp),
        help: "ids in a range query",
        get: |s| Some(s.workload.oltp.counts.range_size.to_string()),
        set: |s, v| whole(v, 1, 1_000_000).map(|v| s.workload.oltp.counts.range_size = v),
    },
];
