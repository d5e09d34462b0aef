//! Keys of sysbench's workloads.

use super::OltpSettings;
use crate::workload::{Key, Keyed};

impl Keyed for OltpSettings {
    const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "tables",
            help: "number of tables sbtest1, sbtest2 ...",
            get: |s| Some(s.tables.tables.into()),
            set: |s, v| v.whole(1, 10_000).map(|v| s.tables.tables = v),
        },
        Key {
            name: "rows",
            help: "rows a table",
            get: |s| Some(s.tables.rows.into()),
            set: |s, v| v.whole(1, i32::MAX as u64).map(|v| s.tables.rows = v),
        },
        Key {
            name: "distribution",
            help: "how ids are drawn: uniform, zipfian, special, pareto or gaussian",
            get: |s| Some(s.distribution.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.distribution = v),
        },
        Key {
            name: "rate",
            help: "transactions a second over all threads (open loop); absent: as fast as they go (closed loop)",
            get: |s| s.rate.map(Into::into),
            set: |s, v| v.positive("transactions a second").map(|v| s.rate = Some(v)),
        },
        Key {
            name: "point_selects",
            help: "point selects in a transaction",
            get: |s| Some(s.counts.point_selects.into()),
            set: |s, v| v.whole(0, 1_000_000).map(|v| s.counts.point_selects = v),
        },
        Key {
            name: "simple_ranges",
            help: "simple ranges in a transaction",
            get: |s| Some(s.counts.simple_ranges.into()),
            set: |s, v| v.whole(0, 1_000_000).map(|v| s.counts.simple_ranges = v),
        },
        Key {
            name: "sum_ranges",
            help: "sum ranges in a transaction",
            get: |s| Some(s.counts.sum_ranges.into()),
            set: |s, v| v.whole(0, 1_000_000).map(|v| s.counts.sum_ranges = v),
        },
        Key {
            name: "order_ranges",
            help: "order ranges in a transaction",
            get: |s| Some(s.counts.order_ranges.into()),
            set: |s, v| v.whole(0, 1_000_000).map(|v| s.counts.order_ranges = v),
        },
        Key {
            name: "distinct_ranges",
            help: "distinct ranges in a transaction",
            get: |s| Some(s.counts.distinct_ranges.into()),
            set: |s, v| v.whole(0, 1_000_000).map(|v| s.counts.distinct_ranges = v),
        },
        Key {
            name: "index_updates",
            help: "index updates in a transaction",
            get: |s| Some(s.counts.index_updates.into()),
            set: |s, v| v.whole(0, 1_000_000).map(|v| s.counts.index_updates = v),
        },
        Key {
            name: "non_index_updates",
            help: "non index updates in a transaction",
            get: |s| Some(s.counts.non_index_updates.into()),
            set: |s, v| v.whole(0, 1_000_000).map(|v| s.counts.non_index_updates = v),
        },
        Key {
            name: "delete_inserts",
            help: "delete inserts in a transaction",
            get: |s| Some(s.counts.delete_inserts.into()),
            set: |s, v| v.whole(0, 1_000_000).map(|v| s.counts.delete_inserts = v),
        },
        Key {
            name: "range_size",
            help: "ids in a range query",
            get: |s| Some(s.counts.range_size.into()),
            set: |s, v| v.whole(1, 1_000_000).map(|v| s.counts.range_size = v),
        },
    ];
}
