//! Code shared by all loads that fill tables: several concurrent sessions, one table each, and INSERTs of many rows.

use super::{LoadContext, LoadError, SessionError};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;
use tare_engine::{Dialect, Interrupter, SILENCE, Session};

/// Interval between checks whether the caller requests a stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Time for a session to notice the stop by itself before it is interrupted.
const GRACE: Duration = Duration::from_secs(2);

/// Limit of a statement on tables of unknown size: a run allows as long for the preparation of all data.
pub(crate) const LONGEST_STATEMENT: Duration = Duration::from_secs(24 * 3600);

/// Limit of each statement on tables that have this many rows together: as for any other answer, and a millisecond for
/// each row, hundreds of times what a disk takes for it.
fn longest_statement(rows: Option<u64>) -> Duration {
    rows.map_or(LONGEST_STATEMENT, |rows| SILENCE.saturating_add(Duration::from_millis(rows)))
}

/// Number of filling sessions for a server on a machine with this many CPUs. A session waits for the disk for a part
/// of its time; additional sessions help less the more there are.
pub fn sessions_on(cpus: usize) -> usize {
    cpus + cpus.min(8)
}

/// `(?, ?), (?, ?)` for two rows of width 2, with the placeholders of the dialect.
pub(crate) fn rows_of_placeholders(dialect: &dyn Dialect, width: usize, rows: usize) -> String {
    let row = |row: usize| {
        let values: Vec<String> = (1..=width).map(|column| dialect.placeholder(row * width + column)).collect();
        format!("({})", values.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// State shared by the sessions: the tables not taken yet, and whether a session has failed.
pub struct Shared<'a, E> {
    next: AtomicUsize,
    tables: usize,
    stop: AtomicBool,
    progress: &'a (dyn Fn(u64) -> ControlFlow<()> + Sync),
    interrupted: fn() -> E,
    sessions: Mutex<Vec<Interrupter>>,
}

impl<E> Shared<'_, E> {
    /// The next table to fill, from 0; None when all are taken.
    pub(crate) fn take(&self) -> Option<usize> {
        Some(self.next.fetch_add(1, Ordering::AcqRel)).filter(|table| *table < self.tables)
    }

    /// Registers a filling session: each of its statements may take as long as one on all `rows` of the tables, if
    /// their number is known, and it is interrupted when the caller requests a stop.
    pub(crate) fn fills(&self, session: &mut dyn Session, rows: Option<u64>) -> Result<(), SessionError> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).extend(session.interrupter());
        let limit = Some(longest_statement(rows));
        session.set_timeout(limit).map_err(|source| SessionError::statement("time-out", source))
    }

    /// Interrupts all sessions on a requested stop: a session that waits for its server notices nothing else.
    fn watch(&self, done: &Receiver<()>) {
        while let Err(RecvTimeoutError::Timeout) = done.recv_timeout(LOOK_EVERY) {
            if (self.progress)(0).is_break() {
                // Sessions that notice the stop by themselves end normally.
                if done.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
                    self.sessions
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .iter()
                        .for_each(Interrupter::interrupt);
                }
                return;
            }
        }
    }

    pub(crate) fn added(&self, rows: u64) -> Result<(), E> {
        match (self.progress)(rows) {
            ControlFlow::Continue(()) if !self.stop.load(Ordering::Acquire) => Ok(()),
            _ => Err((self.interrupted)()),
        }
    }
}

/// Runs `work` in `sessions` threads, including this one, each until [`Shared::take`] has no more tables.
pub(crate) fn in_parallel<E: Send>(
    sessions: usize,
    tables: usize,
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
    interrupted: fn() -> E,
    work: impl Fn(&Shared<'_, E>) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let shared = Shared { next, tables, stop, progress, interrupted, sessions: Mutex::default() };
    let first_error = Mutex::new(None);
    let one = || {
        if let Err(error) = work(&shared) {
            // Stored before the other threads stop: their errors follow from the stop. A session that the watch
            // interrupted only knows that its connection is lost.
            let error = if progress(0).is_break() { interrupted() } else { error };
            first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            shared.next.store(tables, Ordering::Release);
            shared.stop.store(true, Ordering::Release);
        }
    };
    std::thread::scope(|scope| {
        let (finished, done) = channel();
        let shared = &shared;
        // If the system refuses threads, the work continues without them: sessions also check for a stop between
        // statements, and this thread fills every table that no other takes.
        let _ = Builder::new().spawn_scoped(scope, move || shared.watch(&done));
        let others: Vec<_> = (1..sessions).filter_map(|_| Builder::new().spawn_scoped(scope, one).ok()).collect();
        one();
        // The scope propagates the panic of a thread.
        others.into_iter().for_each(|other| drop(other.join()));
        drop(finished);
    });
    first_error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Runs `work` on the server in a session of its own, which is interrupted when the caller requests a stop; `work`
/// checks for a stop with the function that it receives.
pub(crate) fn in_one_session<T: Send>(
    stage: &LoadContext<'_>,
    work: impl Fn(&mut dyn Session, &dyn Fn() -> Result<(), LoadError>) -> Result<T, LoadError> + Sync,
) -> Result<T, LoadError> {
    let found = Mutex::new(None);
    let interrupted = || LoadError::Interrupted;
    in_parallel(1, 1, &|_| stage.host.go_on(), interrupted, |shared| {
        let mut session = (stage.connect)()?;
        shared.fills(session.as_mut(), None)?;
        let done = work(session.as_mut(), &|| shared.added(0))?;
        *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        Ok(())
    })?;
    found.into_inner().unwrap_or_else(PoisonError::into_inner).ok_or(LoadError::Interrupted)
}
