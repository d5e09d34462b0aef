//! Keys of a study for sysbench's workloads.

use super::OltpSettings;
use crate::workload::keys;
use tare_text::{Key, Keyed, key};

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
