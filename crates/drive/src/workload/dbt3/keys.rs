//! Keys of the workload `dbt3`.

use super::Dbt3Settings;
use crate::workload::{Key, Keyed};

impl Keyed for Dbt3Settings {
    const KEYS: &'static [Key<Self>] = &[
        Key {
            name: "scale",
            help: "scale factor of the tables: 1 is about a gigabyte of text, six million rows of lineitem",
            get: |s| Some(s.scale.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.scale = v),
        },
        Key {
            name: "queries",
            help: "which of the 22 queries, for example 1-6,14; all",
            get: |s| Some(s.queries.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.queries = v),
        },
        Key {
            name: "order",
            help: "in which order a trial runs the queries: numeric, random (drawn anew in every trial), or alone (each \
                   on a fresh server of its own)",
            get: |s| Some(s.order.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.order = v),
        },
        Key {
            name: "indexes",
            help: "which indexes the tables have besides their primary keys: keys (those of foreign keys) or dbt3 (these \
                   and those of DBT-3's kit: dates of lineitem and orders, l_orderkey with l_quantity)",
            get: |s| Some(s.indexes.to_string().into()),
            set: |s, v| v.parsed().map(|v| s.indexes = v),
        },
        Key {
            name: "warmup_runs",
            help: "executions of each query before its measured ones (sampling.samples), left out of all figures",
            get: |s| Some(s.warmup_runs.into()),
            set: |s, v| v.whole(0, 100_000).map(|v| s.warmup_runs = v),
        },
        Key {
            name: "query_timeout_s",
            help: "seconds one execution of a query may take; one that takes longer fails its trial",
            get: |s| Some(s.query_timeout_s.into()),
            set: |s, v| match v.seconds()? {
                0.0 => Err("a number of seconds above 0".into()),
                v => {
                    s.query_timeout_s = v;
                    Ok(())
                }
            },
        },
        Key {
            name: "preload",
            help: "on: every table and every index is read from end to end before the first query",
            get: |s| Some(s.preload.into()),
            set: |s, v| v.switch().map(|on| s.preload = on),
        },
    ];
}
