//! Lock waits from performance_schema, global status, and InnoDB's monitor.

use crate::Session;
use crate::contract::diagnostics::{self, Diagnostics, LockWait, Unavailable};
use std::collections::BTreeMap;
use tare_results::captures::WaitKind;

/// Instruments of locks. Conditions (`wait/synch/cond/%`) are left out: idle threads wait on those.
const LOCKS: [&str; 4] = ["wait/synch/mutex/%", "wait/synch/rwlock/%", "wait/synch/sxlock/%", "wait/synch/prlock/%"];
/// By account: background threads have none, and threads that have ended are included.
const WAITS: &str = "performance_schema.events_waits_summary_by_account_by_event_name";
/// performance_schema counts time in picoseconds.
const PICOSECONDS: f64 = 1e12;

pub(super) struct MariadbDiagnostics {
    pub session: Box<dyn Session>,
    pub variables: &'static str,
}

impl MariadbDiagnostics {
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Unavailable> {
        self.session.query(sql).map_err(|e| Unavailable(format!("{sql}: {e}")))
    }

    fn run(&mut self, sql: &str) -> Result<u64, Unavailable> {
        self.session.run(sql).map_err(|e| Unavailable(format!("{sql}: {e}")))
    }

    fn switch(&mut self, to: &str) -> Result<(), Unavailable> {
        self.run(&format!(
            "UPDATE performance_schema.setup_instruments SET ENABLED = '{to}', TIMED = '{to}' WHERE {}",
            like("NAME")
        ))
        .map(drop)
    }
}

fn like(column: &str) -> String {
    LOCKS.map(|pattern| format!("{column} LIKE '{pattern}'")).join(" OR ")
}

impl Diagnostics for MariadbDiagnostics {
    fn watching_sets(&self) -> bool {
        true
    }

    /// The instruments of locks are off when a server starts. Switching them on later also covers existing locks
    /// (checked on 10.11, including InnoDB's), so measured samples run without them.
    fn watch_locks(&mut self) -> Result<String, Unavailable> {
        let variables = self.variables;
        let rows =
            self.rows(&format!("SELECT VARIABLE_VALUE FROM {variables} WHERE VARIABLE_NAME = 'performance_schema'"))?;
        match rows.first().and_then(|row| row.first()?.as_deref()) {
            Some("ON") => {}
            Some(_) => {
                return Err(Unavailable(
                    "performance_schema is OFF in this server, and only a restart with performance_schema=ON can change \
                     that: leave it out of [engine.options]"
                        .to_owned(),
                ));
            }
            None => {
                return Err(Unavailable(
                    "performance_schema is compiled out of this server: use a build with it (cmake without \
                     -DPLUGIN_PERFSCHEMA=NO)"
                        .to_owned(),
                ));
            }
        }
        self.switch("YES")?;
        let on = self.rows(&format!(
            "SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE ENABLED = 'YES' AND TIMED = 'YES' AND ({})",
            like("NAME")
        ))?;
        let on = on.first().and_then(|row| row.first()?.clone()).unwrap_or_default();
        if on == "0" {
            return Err(Unavailable("this server's performance_schema has no lock instruments".to_owned()));
        }
        self.run(&format!("TRUNCATE TABLE {WAITS}"))?;
        Ok(format!("{on} lock instruments enabled and timed, for this sample only"))
    }

    fn lock_waits(&mut self) -> Result<Vec<LockWait>, Unavailable> {
        let sql = format!(
            "SELECT EVENT_NAME, SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) FROM {WAITS} \
             WHERE USER IS NOT NULL AND COUNT_STAR > 0 AND ({}) GROUP BY EVENT_NAME",
            like("EVENT_NAME")
        );
        let rows = self.rows(&sql)?;
        self.switch("NO")?;
        Ok(rows.iter().filter_map(|row| lock_wait(row)).collect())
    }

    fn counters(&mut self) -> Result<BTreeMap<String, f64>, Unavailable> {
        let rows = self.rows("SHOW GLOBAL STATUS")?;
        Ok(rows.iter().filter_map(|row| counter(row)).collect())
    }

    fn report(&mut self) -> Result<(&'static str, String), Unavailable> {
        let rows = self.rows("SHOW ENGINE INNODB STATUS")?;
        match rows.into_iter().next().and_then(|row| row.into_iter().nth(2).flatten()) {
            Some(text) => Ok(("innodb-status.txt", text)),
            None => Err(Unavailable("this server runs without InnoDB".to_owned())),
        }
    }
}

fn lock_wait(row: &[Option<String>]) -> Option<LockWait> {
    let [Some(name), Some(count), Some(picoseconds)] = row else { return None };
    LockWait::reported(kind(name), name, count.parse().ok()?, picoseconds.parse::<f64>().ok()? / PICOSECONDS)
}

fn counter(row: &[Option<String>]) -> Option<(String, f64)> {
    let [Some(name), Some(value)] = row else { return None };
    diagnostics::counter(name, value)
}

/// Classifies a lock by InnoDB's name for it, the last word of the instrument's name.
fn kind(instrument: &str) -> WaitKind {
    match instrument.rsplit('/').next() {
        Some("index_tree_rw_lock") => WaitKind::Index,
        // Only in builds with this instrument.
        Some("buf_block_lock") => WaitKind::Page,
        _ => WaitKind::Lock,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSession;

    fn row(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    }

    #[test]
    fn picoseconds_become_seconds_and_words_are_no_counters() {
        let wait = lock_wait(&row(&["wait/synch/mutex/innodb/dict_sys_mutex", "101897091", "37122423276600000000"]));
        assert!((wait.unwrap().wait_s - 37_122_423.276_6).abs() < 1e-3);
        for wait in [["x", "many", "1"], ["x", "1", "inf"], ["x", "1", "nan"], ["x", "1", "-1"], ["x", "1", "1e300"]] {
            assert_eq!(lock_wait(&row(&wait)), None, "{wait:?}");
        }
        assert_eq!(lock_wait(&row(&[&"x".repeat(1000), "1", "1"])), None);
        assert_eq!(counter(&row(&["Com_select", "17"])), Some(("Com_select".to_owned(), 17.0)));
        assert_eq!(counter(&row(&["Innodb_buffer_pool_load_status", "done"])), None);
        assert_eq!(counter(&row(&["x", "inf"])), None);
        assert_eq!(counter(&row(&[&"x".repeat(1000), "1"])), None);
    }

    #[test]
    fn locks_of_pages_and_indexes_are_no_locks_of_the_whole_server() {
        for (name, is) in [
            ("wait/synch/rwlock/innodb/index_tree_rw_lock", WaitKind::Index),
            ("wait/synch/sxlock/innodb/index_tree_rw_lock", WaitKind::Index),
            ("wait/synch/sxlock/innodb/buf_block_lock", WaitKind::Page),
            ("wait/synch/mutex/innodb/buf_pool_mutex", WaitKind::Lock),
        ] {
            assert_eq!(kind(name), is, "{name}");
        }
    }

    #[test]
    fn a_server_that_cannot_report_its_waits_gives_the_reason() {
        let of = |script| {
            MariadbDiagnostics { session: Box::new(FakeSession(script)), variables: "GLOBAL_VARIABLES" }.watch_locks()
        };
        let reason = |result: Result<String, Unavailable>| result.unwrap_err().to_string();
        assert!(reason(of(&[])).contains("compiled out"));
        assert!(reason(of(&[("GLOBAL_VARIABLES", &[&["OFF"]])])).contains("OFF in this server"));
        let none = reason(of(&[("GLOBAL_VARIABLES", &[&["ON"]]), ("COUNT(*)", &[&["0"]])]));
        assert!(none.contains("no lock instruments"), "{none}");
        let on = of(&[("GLOBAL_VARIABLES", &[&["ON"]]), ("COUNT(*)", &[&["241"]])]).unwrap();
        assert!(on.starts_with("241 lock instruments"), "{on}");
        let report = MariadbDiagnostics { session: Box::new(FakeSession(&[])), variables: "GLOBAL_VARIABLES" }
            .report()
            .unwrap_err()
            .to_string();
        assert!(report.contains("without InnoDB"), "{report}");
    }
}
