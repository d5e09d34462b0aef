//! What dbt3 is asked to do.

use super::{Indexes, Order, QuerySet, Scale};

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
