//! Keys of the workload `dbt3`.

use super::super::field::Field;
use super::super::settings::Kind;
use super::super::value::{one_of, parsed, seconds, whole};

/// The keys of the workload `dbt3`.
pub const FIELDS: &[Field] = &[
    Field {
        section: "workload",
        key: "scale",
        only: Some(Kind::Dbt3),
        help: "scale factor of the tables: 1 is about a gigabyte of text, six million rows of lineitem",
        get: |s| Some(s.workload.dbt3.scale.to_string()),
        set: |s, v| parsed(v).map(|v| s.workload.dbt3.scale = v),
    },
    Field {
        section: "workload",
        key: "queries",
        only: Some(Kind::Dbt3),
        help: "which of the 22 queries, for example 1-6,14; all",
        get: |s| Some(s.workload.dbt3.queries.to_string()),
        set: |s, v| parsed(v).map(|v| s.workload.dbt3.queries = v),
    },
    Field {
        section: "workload",
        key: "warmup_runs",
        only: Some(Kind::Dbt3),
        help: "executions of each query before its measured ones (sampling.samples), left out of all figures",
        get: |s| Some(s.workload.dbt3.warmup_runs.to_string()),
        set: |s, v| whole(v, 0, 100_000).map(|v| s.workload.dbt3.warmup_runs = v),
    },
    Field {
        section: "workload",
        key: "query_timeout_s",
        only: Some(Kind::Dbt3),
        help: "seconds one execution of a query may take; one that takes longer fails its trial",
        get: |s| Some(s.workload.dbt3.query_timeout_s.to_string()),
        set: |s, v| match seconds(v)? {
            0.0 => Err("a number of seconds above 0".into()),
            v => {
                s.workload.dbt3.query_timeout_s = v;
                Ok(())
            }
        },
    },
    Field {
        section: "workload",
        key: "preload",
        only: Some(Kind::Dbt3),
        help: "on: every table and every index is read from end to end before the first query",
        get: |s| Some(if s.workload.dbt3.preload { "on" } else { "off" }.into()),
        set: |s, v| one_of(v, &["on", "off"]).map(|v| s.workload.dbt3.preload = v == "on"),
    },
];
