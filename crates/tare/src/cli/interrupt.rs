//! Ctrl-C, SIGTERM and SIGHUP as flags that loops look at: the first asks to end in good order, the second at once.

use super::{Exit, Problem};
use crate::run::Stop;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread::Builder;
use std::time::Duration;

static ASKED: AtomicBool = AtomicBool::new(false);
static AT_ONCE: AtomicBool = AtomicBool::new(false);
static LISTENER: OnceLock<()> = OnceLock::new();

/// A write beyond the limit of this process's files (`ulimit -f`) is an error like that of a full disk, and no signal
/// that ends the process with its settings not put back. Programs that it starts have the signal as ever.
pub fn outlive_file_limit() {
    // What cannot be handled ends the process, as it would have.
    let _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Both flags; the handlers are installed by the first call. Whatever they say, everything is put back.
pub fn stop() -> Result<Stop<'static>, Problem> {
    if LISTENER.get().is_none() {
        let failed = |e: io::Error| Problem::new(Exit::Machine, format!("cannot handle signals: {e}"));
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
        let listen = move || {
            for _ in signals.forever() {
                if ASKED.swap(true, Ordering::Relaxed) {
                    AT_ONCE.store(true, Ordering::Relaxed);
                }
            }
        };
        Builder::new().name("signals".into()).spawn(listen).map_err(failed)?;
        let _ = LISTENER.set(());
        // Servers are ended, and waiting for them and for what they are asked ends, with the first signal.
        tare_engine::interrupted_by(&ASKED);
        // Without a place for the list nothing that needs one is started.
        let _ = crate::state::directory().map(|state| tare_engine::list_questions_in(&state));
    }
    Ok(Stop { asked: &ASKED, at_once: &AT_ONCE })
}

/// What `wait` waits for without looking at the flags, as for a line from the user; else `Interrupted`. It goes on
/// then, in a thread that ends with this process.
pub fn awaited<T: Send + 'static>(wait: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    let (send, receive) = channel();
    // No one listens after a signal.
    Builder::new().name("awaited".into()).spawn(move || drop(send.send(wait())))?;
    loop {
        match receive.recv_timeout(Duration::from_millis(100)) {
            Ok(answer) => return answer,
            Err(RecvTimeoutError::Timeout) if !tare_engine::interrupted() => {}
            Err(_) => return Err(io::ErrorKind::Interrupted.into()),
        }
    }
}

/// What a program says that may take any time; it ends with this one.
pub fn output(mut command: Command) -> io::Result<Output> {
    tare_engine::dies_with_parent(&mut command);
    awaited(move || command.output())
}

/// What a signal left unfinished.
pub fn problem(while_doing: &str) -> Problem {
    Problem::new(Exit::Interrupted, format!("interrupted while {while_doing}"))
}

pub fn flag() -> Result<&'static AtomicBool, Problem> {
    stop().map(|stop| stop.asked)
}
