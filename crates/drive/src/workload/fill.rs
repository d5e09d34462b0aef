//! What all fillings share: several sessions at the same time, each with a table of its own, and INSERTs of many rows.

use super::{LoadContext, LoadError};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;
use tare_engine::{Dialect, Interrupter, Session, SqlError};

/// Time between two looks whether the caller wants the work to end.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long a session may take to hear of it by itself before it is ended.
const GRACE: Duration = Duration::from_secs(2);

/// Sessions that fill the tables of a server on a machine with so many CPUs: a session waits for the disk for a part of
/// its time, and the more there are the less do more of them help.
pub fn sessions_on(cpus: usize) -> usize {
    cpus + cpus.min(8)
}

/// `(?, ?), (?, ?)` for two rows of width 2, in the words of the dialect.
pub fn rows_of_placeholders(dialect: &dyn Dialect, width: usize, rows: usize) -> String {
    let row = |row: usize| {
        let values: Vec<String> = (1..=width).map(|column| dialect.placeholder(row * width + column)).collect();
        format!("({})", values.join(", "))
    };
    (0..rows).map(row).collect::<Vec<_>>().join(", ")
}

/// What the sessions share: the tables that no one has taken yet, and whether one of them has failed.
pub struct Shared<'a, E> {
    next: AtomicUsize,
    tables: usize,
    stop: AtomicBool,
    progress: &'a (dyn Fn(u64) -> ControlFlow<()> + Sync),
    interrupted: fn() -> E,
    sessions: Mutex<Vec<Interrupter>>,
}

impl<E> Shared<'_, E> {
    /// The next table to fill, from 0; none when all are taken.
    pub fn take(&self) -> Option<usize> {
        Some(self.next.fetch_add(1, Ordering::AcqRel)).filter(|table| *table < self.tables)
    }

    /// A session that fills from now on: it may be silent for as long as building an index takes, and is ended when the
    /// caller wants the work to end.
    pub fn fills(&self, session: &mut dyn Session) -> Result<(), SqlError> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner).extend(session.interrupter());
        session.set_timeout(None)
    }

    /// Ends all sessions once the caller wants the work to end: one that waits for its server hears nothing else.
    fn watch(&self, done: &Receiver<()>) {
        while let Err(RecvTimeoutError::Timeout) = done.recv_timeout(LOOK_EVERY) {
            if (self.progress)(0).is_break() {
                // Sessions that can still hear of it leave in good order.
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

    pub fn added(&self, rows: u64) -> Result<(), E> {
        match (self.progress)(rows) {
            ControlFlow::Continue(()) if !self.stop.load(Ordering::Acquire) => Ok(()),
            _ => Err((self.interrupted)()),
        }
    }
}

/// Runs `work` in so many threads, this one among them, each until [`Shared::take`] has no more tables.
pub fn in_parallel<E: Send>(
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
            // Kept before the others are told to stop: that they were stopped is not the error to show.
            // A session that was ended by the watch knows no better than that it is lost.
            let error = if progress(0).is_break() { interrupted() } else { error };
            first_error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            shared.next.store(tables, Ordering::Release);
            shared.stop.store(true, Ordering::Release);
        }
    };
    std::thread::scope(|scope| {
        let (finished, done) = channel();
        let shared = &shared;
        // Threads that the system refuses are done without: sessions hear of an end between two statements too, and
        // this one fills every table that no other takes.
        let _ = Builder::new().spawn_scoped(scope, move || shared.watch(&done));
        let others: Vec<_> = (1..sessions).filter_map(|_| Builder::new().spawn_scoped(scope, one).ok()).collect();
        one();
        // A thread that panicked passes that on when the scope ends.
        others.into_iter().for_each(|other| drop(other.join()));
        drop(finished);
    });
    first_error.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}

/// Does `work` on the server in a session of its own, which ends with the caller's wish to go on; what is handed to
/// `work` asks for that.
///
/// # Errors
/// The server's refusal, that of `work`, or [`LoadError::Interrupted`].
pub fn in_one_session<T: Send>(
    stage: &LoadContext<'_>,
    work: impl Fn(&mut dyn Session, &dyn Fn() -> Result<(), LoadError>) -> Result<T, LoadError> + Sync,
) -> Result<T, LoadError> {
    let found = Mutex::new(None);
    let interrupted = || LoadError::Interrupted;
    in_parallel(1, 1, &|_| stage.host.go_on(), interrupted, |shared| {
        let mut session = (stage.connect)()?;
        shared.fills(session.as_mut()).map_err(LoadError::own)?;
        let done = work(session.as_mut(), &|| shared.added(0))?;
        *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
        Ok(())
    })?;
    found.into_inner().unwrap_or_else(PoisonError::into_inner).ok_or(LoadError::Interrupted)
}
