//! What dbt3 is asked to do, and the keys that say it.

use super::{Indexes, Order, QuerySet, Scale};
use crate::workload::keys;
use tare_text::{Key, Keyed, key};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dbt3Settings {
    pub scale: Scale,
    /// Which of the 22 queries are measured.
    pub queries: QuerySet,
    pub order: Order,
    /// Executions of each query before its measured ones.
    pub warmup_runs: usize,
    pub query_timeout_s: f64,
    pub indexes: Indexes,
    /// Whether every table and every index is read before the first query.
    pub preload: bool,
}

impl Default for Dbt3Settings {
    /// Article B's: scale 1, all queries, ten executions before those that count.
    fn default() -> Self {
        Self {
            scale: Scale::default(),
            queries: QuerySet::default(),
            order: Order::default(),
            warmup_runs: 10,
            query_timeout_s: 600.0,
            indexes: Indexes::default(),
            preload: false,
        }
    }
}

impl Keyed for Dbt3Settings {
    const KEYS: &'static [Key<Self>] = &[
        key!(words "scale" in scale,
            "scale factor of the tables: 1 is about a gigabyte of text, six million rows of lineitem"),
        key!(words "queries" in queries, "which of the 22 queries, for example 1-6,14; all"),
        key!(words "order" in order,
            "in which order a trial runs the queries: numeric, random (drawn anew in every trial), or alone (each on a \
             fresh server of its own)"),
        key!(words "indexes" in indexes,
            "which indexes the tables have besides their primary keys: keys (those of foreign keys) or dbt3 (these and \
             those of DBT-3's kit: dates of lineitem and orders, l_orderkey with l_quantity)"),
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
