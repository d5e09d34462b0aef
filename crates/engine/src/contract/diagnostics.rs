//! What a running server reports about itself: lock waits, counters, the storage engine's report.

use crate::{EngineError, Session};
use std::collections::{BTreeMap, BTreeSet};
use tare_results::captures::WaitKind;
use tare_results::server::Setting;

/// Waits for one lock, or for one kind of lock, since the counters were last reset.
#[derive(Debug, Clone, PartialEq)]
pub struct LockWait {
    pub kind: WaitKind,
    /// The engine's own name for it, for example `wait/synch/mutex/innodb/buf_pool_mutex`.
    pub name: String,
    /// Number of acquisitions; for waits that are sampled many times per second, the number of sightings.
    pub count: u64,
    /// Time until it was acquired, summed over all threads, seconds.
    pub wait_s: f64,
}

/// Longest accepted name of a lock or a counter, bytes: the engines' names have fewer than a hundred.
pub(crate) const LONGEST_NAME: usize = 200;
/// Most locks of a server that are recorded separately: the engines have some hundreds.
pub(crate) const MOST_WAITS: usize = 1_000;
/// Upper bound on the total wait of all threads, seconds.
const LONGEST_WAIT_S: f64 = 1e12;

impl LockWait {
    /// A wait as the server reports it; none if the name or the time is implausible.
    pub(crate) fn reported(kind: WaitKind, name: &str, count: u64, wait_s: f64) -> Option<Self> {
        let is_one = name.len() <= LONGEST_NAME && (0.0..LONGEST_WAIT_S).contains(&wait_s);
        is_one.then(|| Self { kind, name: name.to_owned(), count, wait_s })
    }
}

/// A counter with its name; none if the name is too long or the value is no finite number.
pub(crate) fn counter(name: &str, value: &str) -> Option<(String, f64)> {
    let value = value.parse().ok().filter(|value: &f64| value.is_finite())?;
    (name.len() <= LONGEST_NAME).then(|| (name.to_owned(), value))
}

/// Why a server cannot report something: a reason for the record, never an error of the trial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// What a server reports about itself, over a connection that no client uses.
pub trait Diagnostics: Send {
    /// Whether [`Diagnostics::watch_locks`] changes a setting of the server.
    fn watching_sets(&self) -> bool {
        false
    }
    /// Starts timing lock waits, from zero. Returns a description of what was switched on.
    fn watch_locks(&mut self) -> Result<String, Unavailable>;
    /// The waits since [`Diagnostics::watch_locks`]; ends the watching.
    fn lock_waits(&mut self) -> Result<Vec<LockWait>, Unavailable>;
    /// All counters, which only grow, and the gauges reported with them.
    fn counters(&mut self) -> Result<BTreeMap<String, f64>, Unavailable>;
    /// The storage engine's own report, as text, and the name of the file for it.
    fn report(&mut self) -> Result<(&'static str, String), Unavailable>;
}

/// Diagnostics of a server whose settings must not be changed: what it reports without that.
pub(super) struct Unset(pub Box<dyn Diagnostics>);

impl Diagnostics for Unset {
    fn watch_locks(&mut self) -> Result<String, Unavailable> {
        match self.0.watching_sets() {
            true => Err(Unavailable(
                "lock instruments would have to be enabled, and tare changes no settings of a server that it did not \
                 start"
                    .to_owned(),
            )),
            false => self.0.watch_locks(),
        }
    }

    fn lock_waits(&mut self) -> Result<Vec<LockWait>, Unavailable> {
        self.0.lock_waits()
    }

    fn counters(&mut self) -> Result<BTreeMap<String, f64>, Unavailable> {
        self.0.counters()
    }

    fn report(&mut self) -> Result<(&'static str, String), Unavailable> {
        self.0.report()
    }
}

/// Diagnostics of a server that reports nothing about itself.
pub(crate) struct Silent(pub &'static str);

impl Diagnostics for Silent {
    fn watch_locks(&mut self) -> Result<String, Unavailable> {
        Err(Unavailable(format!("{} does not report its lock waits", self.0)))
    }

    fn lock_waits(&mut self) -> Result<Vec<LockWait>, Unavailable> {
        self.watch_locks().map(|_| Vec::new())
    }

    fn counters(&mut self) -> Result<BTreeMap<String, f64>, Unavailable> {
        Err(Unavailable(format!("{} has no counters of the whole server", self.0)))
    }

    fn report(&mut self) -> Result<(&'static str, String), Unavailable> {
        Err(Unavailable(format!("{} has no report of its storage engine", self.0)))
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelfReport {
    /// The product, for an engine that stands for several.
    pub product: Option<&'static str>,
    pub settings: BTreeMap<String, Setting>,
    pub build: BTreeMap<String, String>,
    pub option_files: Vec<String>,
    pub buffer_pool_bytes: Option<u64>,
    /// Whether a pool of threads serves the connections; none if it does not report that.
    pub thread_pool: Option<bool>,
}

impl SelfReport {
    /// Reads the answer to a statement: a row of name, value, default, source, unit and option file for each setting.
    pub(crate) fn read(session: &mut dyn Session, sql: &str) -> Result<Self, EngineError> {
        let rows = session.query(sql).map_err(|source| EngineError::Sql { statement: sql.to_owned(), source })?;
        let mut files = BTreeSet::new();
        let mut settings = BTreeMap::new();
        for row in rows {
            let [Some(name), Some(value), default, source, unit, file] = row.as_slice() else { continue };
            files.extend(file.clone().filter(|file| !file.is_empty()));
            let (default, source, unit) = (default.clone(), source.clone(), unit.clone());
            let setting = Setting { value: value.clone(), default, source, unit };
            settings.insert(name.to_lowercase(), setting);
        }
        Ok(Self { settings, option_files: files.into_iter().collect(), ..Self::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Sets(bool);

    impl Diagnostics for Sets {
        fn watching_sets(&self) -> bool {
            self.0
        }

        fn watch_locks(&mut self) -> Result<String, Unavailable> {
            Ok("watched".to_owned())
        }

        fn lock_waits(&mut self) -> Result<Vec<LockWait>, Unavailable> {
            Ok(Vec::new())
        }

        fn counters(&mut self) -> Result<BTreeMap<String, f64>, Unavailable> {
            Ok([("Questions".to_owned(), 1.0)].into())
        }

        fn report(&mut self) -> Result<(&'static str, String), Unavailable> {
            Ok(("report", String::new()))
        }
    }

    #[test]
    fn a_server_that_must_not_be_changed_reports_only_what_needs_no_setting() {
        let mut sets = Unset(Box::new(Sets(true)));
        assert!(sets.watch_locks().unwrap_err().0.contains("changes no settings"));
        assert_eq!(sets.counters().unwrap()["Questions"], 1.0);
        assert_eq!(Unset(Box::new(Sets(false))).watch_locks().unwrap(), "watched");
    }
}
