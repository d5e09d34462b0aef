//! What a cluster reports about itself: its statistics views, and the wait events of its connections.

use super::binary::NAME;
use super::wait_events::WaitEvents;
use crate::Session;
use crate::contract::diagnostics::{self, Diagnostics, LockWait, Silent, Unavailable};
use std::collections::BTreeMap;

/// Views of one row each, in which every number is a counter or a gauge.
const VIEWS: [(&str, &str); 4] = [
    ("database", "SELECT * FROM pg_stat_database WHERE datname = current_database()"),
    ("bgwriter", "SELECT * FROM pg_stat_bgwriter"),
    ("wal", "SELECT * FROM pg_stat_wal"),
    // Counts the flushes of the log from 18 on, where pg_stat_wal no longer does.
    ("io", "SELECT sum(fsyncs) AS wal_fsyncs FROM pg_stat_io WHERE object = 'wal'"),
];

/// Uses sessions of its own: one for queries, one for the thread that samples wait events.
pub(super) struct PostgresDiagnostics {
    session: Box<dyn Session>,
    looks: Option<Box<dyn Session>>,
    waits: Option<WaitEvents>,
}

impl PostgresDiagnostics {
    pub(super) fn new(session: Box<dyn Session>, looks: Box<dyn Session>) -> Self {
        Self { session, looks: Some(looks), waits: None }
    }
}

impl Diagnostics for PostgresDiagnostics {
    fn watch_locks(&mut self) -> Result<String, Unavailable> {
        match self.looks.take() {
            Some(session) => {
                self.waits = Some(WaitEvents::begin(session)?);
                Ok("wait_event of pg_stat_activity, sampled about 100 times per second; times are estimates".to_owned())
            }
            None => Silent(NAME).watch_locks(),
        }
    }

    fn lock_waits(&mut self) -> Result<Vec<LockWait>, Unavailable> {
        self.waits.take().map_or_else(|| Silent(NAME).lock_waits(), WaitEvents::end)
    }

    fn counters(&mut self) -> Result<BTreeMap<String, f64>, Unavailable> {
        let mut all = BTreeMap::new();
        for (view, sql) in VIEWS {
            // A name and a value per row, whatever columns this version has; pg_stat_wal exists from 14 on, pg_stat_io
            // from 16 on.
            let sql = format!("SELECT key, value FROM ({sql}) AS v, json_each_text(row_to_json(v))");
            let Ok(rows) = self.session.query(&sql) else { continue };
            all.extend(rows.iter().filter_map(|row| counter(view, row)));
        }
        match all.is_empty() {
            true => Err(Unavailable("this cluster has no statistics views".to_owned())),
            false => Ok(all),
        }
    }

    fn report(&mut self) -> Result<(&'static str, String), Unavailable> {
        Silent(NAME).report()
    }
}

fn counter(view: &str, row: &[Option<String>]) -> Option<(String, f64)> {
    let [Some(name), Some(value)] = row else { return None };
    // Identifiers, not counters.
    if name.ends_with("id") {
        return None;
    }
    diagnostics::counter(&format!("{view}.{name}"), value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_counters_but_those_that_name_something() {
        let row = |name: &str, value: &str| counter("database", &[Some(name.to_owned()), Some(value.to_owned())]);
        assert_eq!(row("xact_commit", "17"), Some(("database.xact_commit".to_owned(), 17.0)));
        assert_eq!(row("datid", "5"), None);
        assert_eq!(row("stats_reset", "2026-01-01T00:00:00"), None);
    }
}
