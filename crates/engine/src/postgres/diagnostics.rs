//! What a cluster reports about itself: its statistics views, and the wait events of its connections. These are sampled
//! many times per second: PostgreSQL does not measure the duration of waits, and only reports what each process waits
//! for now.

use super::binary::NAME;
use crate::Session;
use crate::contract::diagnostics::{self, Diagnostics, LONGEST_NAME, LockWait, MOST_WAITS, Silent, Unavailable};
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tare_results::captures::WaitKind;

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

/// Waits for the client are no waits of the server, and 'Activity' is for background processes.
const LOOK: &str = "SELECT wait_event_type, wait_event, count(*) FROM pg_stat_activity \
                    WHERE state = 'active' AND pid <> pg_backend_pid() AND backend_type = 'client backend' \
                    AND wait_event_type NOT IN ('Client', 'Activity') GROUP BY 1, 2";
/// Pauses between two samples, milliseconds: of different lengths, so that no periodic event is always or never seen.
const PAUSES_MS: [u64; 7] = [7, 12, 5, 10, 14, 8, 11];

/// Waits by type and name, and how often each was seen.
#[derive(Default)]
struct EventCounts(BTreeMap<(String, String), u64>);

impl EventCounts {
    /// A server may report new names in every sample: beyond the limits they are ignored.
    fn add(&mut self, event: (String, String), count: u64) {
        let (class, name) = &event;
        if class.len().max(name.len()) > LONGEST_NAME || (self.0.len() >= MOST_WAITS && !self.0.contains_key(&event)) {
            return;
        }
        let seen = self.0.entry(event).or_default();
        *seen = seen.saturating_add(count);
    }
}

/// A thread that samples until it is stopped.
struct WaitEvents {
    stop: Sender<()>,
    looking: JoinHandle<Result<Looked, Unavailable>>,
}

struct Looked {
    seen: EventCounts,
    looks: u64,
    elapsed: Duration,
}

impl WaitEvents {
    /// Starts sampling, over a session that nothing else uses.
    pub(super) fn begin(mut session: Box<dyn Session>) -> Result<Self, Unavailable> {
        let (stop, stopped) = channel();
        let look = move || {
            let began = Instant::now();
            let (mut seen, mut looks) = (EventCounts::default(), 0);
            for pause in PAUSES_MS.into_iter().cycle() {
                let rows = session.query(LOOK).map_err(|e| Unavailable(format!("{LOOK}: {e}")))?;
                looks += 1;
                for (event, count) in rows.iter().filter_map(|row| event(row)) {
                    seen.add(event, count);
                }
                match stopped.recv_timeout(Duration::from_millis(pause)) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            Ok(Looked { seen, looks, elapsed: began.elapsed() })
        };
        let looking = thread::Builder::new().name("tare-waits".to_owned()).spawn(look);
        let looking = looking.map_err(|e| Unavailable(format!("cannot start the thread that samples waits: {e}")))?;
        Ok(Self { stop, looking })
    }

    /// Stops sampling. Returns the waits since the start.
    pub(super) fn end(self) -> Result<Vec<LockWait>, Unavailable> {
        let _ = self.stop.send(());
        let looked =
            self.looking.join().map_err(|_| Unavailable("the thread that samples waits ended".to_owned()))??;
        let each_s = looked.elapsed.as_secs_f64() / looked.looks.max(1) as f64;
        let wait = |((class, name), count): ((String, String), u64)| {
            LockWait::reported(kind(&class, &name), &format!("{class}/{name}"), count, count as f64 * each_s)
        };
        // An empty result is valid too: this entry with count 0 represents it.
        let mut seen = looked.seen.0;
        seen.entry(("Lock".to_owned(), "transactionid".to_owned())).or_default();
        Ok(seen.into_iter().filter_map(wait).collect())
    }
}

fn event(row: &[Option<String>]) -> Option<((String, String), u64)> {
    let [Some(class), Some(name), Some(count)] = row else { return None };
    Some(((class.clone(), name.clone()), count.parse().ok()?))
}

/// Classified by the tables of wait events in PostgreSQL's documentation, "The Cumulative Statistics System".
fn kind(class: &str, name: &str) -> WaitKind {
    match (class, name) {
        // A process that waits for another transaction waits for a row that it changed.
        ("Lock", "transactionid" | "tuple") => WaitKind::Row,
        // The second is the name in versions before 13.
        ("LWLock", "BufferContent" | "buffer_content") => WaitKind::Page,
        // One process writes the log for all waiting ones; waiting for a standby's answer is part of a commit too.
        ("LWLock", "WALWrite") | ("IPC", "SyncRep") => WaitKind::Log,
        ("IO", name) if name.to_ascii_lowercase().starts_with("wal") => WaitKind::Log,
        // What work_mem does not suffice for.
        ("IO", "BufFileRead" | "BufFileWrite" | "BufFileTruncate") => WaitKind::TemporaryFile,
        ("IO", _) => WaitKind::File,
        ("Timeout", "PgSleep") => WaitKind::Sleep,
        ("Timeout", _) => WaitKind::Pause,
        // One process ends the transactions of all that wait for the lock of the process array, or of their state.
        ("IPC", "ProcArrayGroupUpdate" | "XactGroupUpdate" | "ClogGroupUpdate") => WaitKind::Lock,
        ("Lock" | "LWLock" | "LWLockNamed" | "LWLockTranche" | "BufferPin" | "Buffer", _) => WaitKind::Lock,
        _ => WaitKind::Process,
    }
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

    #[test]
    fn each_event_belongs_to_what_it_delays() {
        let expected = [
            ("Lock", "transactionid", WaitKind::Row),
            ("Lock", "relation", WaitKind::Lock),
            ("IO", "WALSync", WaitKind::Log),
            ("IO", "WalSync", WaitKind::Log),
            ("LWLock", "WALWrite", WaitKind::Log),
            ("LWLock", "WALInsert", WaitKind::Lock),
            ("LWLock", "BufferContent", WaitKind::Page),
            ("LWLock", "BufferMapping", WaitKind::Lock),
            ("IO", "DataFileRead", WaitKind::File),
            ("IO", "BufFileWrite", WaitKind::TemporaryFile),
            ("Timeout", "PgSleep", WaitKind::Sleep),
            ("Timeout", "SpinDelay", WaitKind::Pause),
            ("BufferPin", "BufferPin", WaitKind::Lock),
            ("IPC", "SyncRep", WaitKind::Log),
            ("IPC", "ProcArrayGroupUpdate", WaitKind::Lock),
            ("IPC", "ExecuteGather", WaitKind::Process),
            ("Extension", "Extension", WaitKind::Process),
        ];
        for (class, name, is) in expected {
            assert_eq!(kind(class, name), is, "{class}/{name}");
        }
        assert_eq!(event(&[None, Some("x".into()), Some("1".into())]), None);
    }

    #[test]
    fn wait_events_beyond_the_limit_are_dropped_and_counts_saturate() {
        let mut seen = EventCounts::default();
        for number in 0..2 * MOST_WAITS {
            seen.add(("Lock".to_owned(), number.to_string()), u64::MAX);
        }
        seen.add(("Lock".to_owned(), "0".to_owned()), 1);
        seen.add(("x".repeat(LONGEST_NAME + 1), String::new()), 1);
        assert_eq!(seen.0.len(), MOST_WAITS);
        assert_eq!(seen.0[&("Lock".to_owned(), "0".to_owned())], u64::MAX);
    }
}
