//! Keys of sysbench's workloads.

use super::OltpSettings;
use crate::workload::sessions::{OBJECTIVE_HELP, Objective};
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
            name: "objective",
            help: OBJECTIVE_HELP,
            get: |s| s.objective.map(|objective| objective.to_string().into()),
            set: |s, v| Objective::of_words(&v.to_string()).map(|v| s.objective = v),
        },
        Key {
            name: "preload",
            help: "on: every table and every index is read from end to end before the first sample, and the trial fails \
                   where the server then holds less than 99% of them",
            get: |s| Some(s.warm.preload.into()),
            set: |s, v| v.switch().map(|on| s.warm.preload = on),
        },
        Key {
            name: "warmup_workload",
            help: "a load that warms the server up before the measured one begins its own warm-up (sampling.warmup_s); \
                   none: no such load",
            get: |s| Some(s.warm.workload.map_or("none".into(), |workload| workload.to_string().into())),
            set: |s, v| {
                s.warm.workload = if v.to_string() == "none" { None } else { Some(v.parsed()?) };
                Ok(())
            },
        },
        Key {
            name: "warmup_threads",
            help: "its client threads; absent: as many as workload.threads",
            get: |s| s.warm.threads.map(Into::into),
            set: |s, v| v.whole(1, 65_536).map(|v| s.warm.threads = Some(v)),
        },
        Key {
            name: "warmup_until",
            help: "when it ends: time (warmup_limit_s), pool (the server's pool grew by less than 0.1% of the data in \
                   10 s) or throughput (the last 10 s less than 2% above the 10 s before)",
            get: |s| Some(s.warm.until.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.warm.until = v),
        },
        Key {
            name: "warmup_limit_s",
            help: "seconds that it may take, and takes where it ends by time",
            get: |s| Some(s.warm.limit_s.into()),
            set: |s, v| v.positive("seconds").map(|v| s.warm.limit_s = v),
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
        Key {
            name: "random_points",
            help: "keys that a transaction of select_random_points asks for",
            get: |s| Some(s.counts.random_points.into()),
            set: |s, v| v.whole(1, 10_000).map(|v| s.counts.random_points = v),
        },
        Key {
            name: "number_of_ranges",
            help: "ranges that a transaction of select_random_ranges counts",
            get: |s| Some(s.counts.number_of_ranges.into()),
            set: |s, v| v.whole(1, 1_000).map(|v| s.counts.number_of_ranges = v),
        },
        Key {
            name: "delta",
            help: "how far such a range goes beyond its first key",
            get: |s| Some(s.counts.delta.into()),
            set: |s, v| v.whole(0, 1_000_000).map(|v| s.counts.delta = v),
        },
        Key {
            name: "prepared",
            help: "off: statements go as text, as with sysbench's --db-ps-mode=disable",
            get: |s| Some(s.prepared.into()),
            set: |s, v| v.switch().map(|on| s.prepared = on),
        },
        Key {
            name: "skip_trx",
            help: "on: no BEGIN and COMMIT, so that every statement is a transaction of its own; an INSERT of a row that \
                   another client has put there meanwhile is run again",
            get: |s| Some(s.skip_transactions.into()),
            set: |s, v| v.switch().map(|on| s.skip_transactions = on),
        },
    ];
}
