//! Keys of the workload `dbt3`.

use super::Dbt3Settings;
use crate::workload::keys;
use tare_text::{Key, Keyed};

impl Keyed for Dbt3Settings {
    const KEYS: &'static [Key<Self>] = &[
        Key::words(
            "scale",
            "scale factor of the tables: 1 is about a gigabyte of text, six million rows of lineitem",
            |s| Some(s.scale.to_string().into()),
            |s, v| v.parsed().map(|v| s.scale = v),
        ),
        Key::words(
            "queries",
            "which of the 22 queries, for example 1-6,14; all",
            |s| Some(s.queries.to_string().into()),
            |s, v| v.parsed().map(|v| s.queries = v),
        ),
        Key::words(
            "order",
            "in which order a trial runs the queries: numeric, random (drawn anew in every trial), or alone (each on a \
             fresh server of its own)",
            |s| Some(s.order.to_string().into()),
            |s, v| v.parsed().map(|v| s.order = v),
        ),
        Key::words(
            "indexes",
            "which indexes the tables have besides their primary keys: keys (those of foreign keys) or dbt3 (these and \
             those of DBT-3's kit: dates of lineitem and orders, l_orderkey with l_quantity)",
            |s| Some(s.indexes.to_string().into()),
            |s, v| v.parsed().map(|v| s.indexes = v),
        ),
        keys::warmup_runs(|s| Some(s.warmup_runs as u64), |s, v| s.warmup_runs = v as usize),
        Key::seconds_above_0(
            "query_timeout_s",
            "seconds one execution of a query may take; one that takes longer fails its trial",
            |s| Some(s.query_timeout_s),
            |s, v| s.query_timeout_s = v,
        ),
        keys::preload(|s| s.preload, |s, on| s.preload = on),
    ];
}
