//! Keys of a study for sysbench's workloads.

use super::OltpSettings;
use crate::workload::keys;
use tare_text::{Key, Keyed, key};

/// Limit of statements of one kind per transaction.
const MOST: u64 = 1_000_000;

/// A key for a field of [`super::QueryCounts`].
macro_rules! count {
    ($field:ident, $help:literal, $least:expr, $most:expr) => {
        Key::whole(
            stringify!($field),
            $help,
            ($least, $most),
            |s| Some(s.counts.$field.into()),
            |s, v| s.counts.$field = v as u32,
        )
    };
}

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
        count!(point_selects, "point selects per transaction", 0, MOST),
        count!(simple_ranges, "simple ranges per transaction", 0, MOST),
        count!(sum_ranges, "sum ranges per transaction", 0, MOST),
        count!(order_ranges, "order ranges per transaction", 0, MOST),
        count!(distinct_ranges, "distinct ranges per transaction", 0, MOST),
        count!(index_updates, "index updates per transaction", 0, MOST),
        count!(non_index_updates, "non-index updates per transaction", 0, MOST),
        count!(delete_inserts, "delete and insert pairs per transaction", 0, MOST),
        count!(range_size, "ids per range query", 1, MOST),
        count!(random_points, "keys per transaction of select_random_points", 1, 10_000),
        count!(number_of_ranges, "ranges per transaction of select_random_ranges", 1, 1_000),
        count!(delta, "distance of the end of such a range from its first key", 0, MOST),
        key!(switch "prepared" in prepared, "off: statements are sent as text, as with sysbench's \
            --db-ps-mode=disable"),
        key!(switch "skip_trx" in skip_transactions,
            "on: no BEGIN and COMMIT, so that every statement is its own transaction; an INSERT of a row that another \
             client has inserted meanwhile is run again"),
    ];
}
